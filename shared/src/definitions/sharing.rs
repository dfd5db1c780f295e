//! Several pipelines on one target.
//!
//! Two incremental pipelines may fill different rows of one mart. A full one removes every row that its own query does not
//! return, also those of the other pipeline, which has read them and would not write them again.

use sqlx::PgConnection;

use crate::{
    domain::{Mode, PipelineDraft, PipelineId, Problem},
    store::pipelines,
};

/// The conflict of a draft with a stored pipeline. `itself` is the pipeline that the draft changes, or else the one with its name.
pub async fn sharing_problem(
    connection: &mut PgConnection,
    draft: &PipelineDraft,
    itself: Option<PipelineId>,
) -> sqlx::Result<Option<Problem>> {
    let others = pipelines::sharing(connection, draft.final_target().0).await?;
    let mut others = others.iter().filter(|other| itself.map_or(other.draft.name != draft.name, |id| other.id != id));
    Ok(others.find_map(|other| conflict(draft, &other.draft)))
}

/// What is wrong with a draft because another pipeline, which writes its target too, removes its rows or has its own removed.
pub fn conflict(draft: &PipelineDraft, other: &PipelineDraft) -> Option<Problem> {
    let (target, field) = draft.final_target();
    let full = draft.mode == Mode::Full || other.mode == Mode::Full;
    if !draft.enabled || !other.enabled || !full || other.reads_alike(draft) {
        return None;
    }
    let name = &other.name;
    let (full, loser) = match draft.mode {
        Mode::Full => ("this pipeline", format!("`{name}`")),
        Mode::Incremental => ("it", "this pipeline".to_owned()),
    };
    let message = format!(
        "pipeline `{name}` writes `{target}` too, by another query, and {full} is full: its runs would remove the \
         rows of {loser}. Use a target of its own, disable one of them, or, to remove what is gone from an \
         incremental pipeline's source, run that with `--full`"
    );
    Some(Problem::new(field, message))
}
