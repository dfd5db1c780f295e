//! `vitrina state`.

use vitrina_shared::process::Failure;

use super::one_pipeline::OnePipeline;
use crate::{
    client::State,
    output::{DIM, paint, printable, time},
};

pub(crate) async fn run(options: OnePipeline) -> Result<(), Failure> {
    let found = options.client()?.state(&options.name).await?;
    options.format.show(found, |state: State| text(&state))
}

fn text(state: &State) -> String {
    let Some(checkpoint) = &state.checkpoint else {
        return "no checkpoint: its next run begins at the beginning".to_owned();
    };
    let field = |name: &str, value: String| format!("{} {value}", paint(DIM, format!("{name:<8}")));
    let mut lines = vec![
        field("key", printable(&checkpoint.key)),
        field("id", checkpoint.id.as_deref().map(printable).unwrap_or_default()),
        field("run", state.run_id.clone().unwrap_or_default()),
    ];
    lines.extend(state.batch.map(|batch| field("batch", batch.to_string())));
    lines.extend(state.updated_at.map(|at| field("written", format!("{} UTC", time(at)))));
    lines.join("\n")
}
