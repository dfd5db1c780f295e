//! Looks at a pipeline as it is configured now, checked like a new one, and opens its sink.

use std::sync::Arc;

use vitrina_shared::{
    domain::PipelineId,
    store::{installation, pipelines},
    validation,
};

use crate::{
    environment::Environment,
    error::BatchError,
    sink::{Opening, Sink, Subject, postgres},
};

/// Looks at the pipeline, its source and its target as they are now.
pub async fn look(env: &Environment, id: PipelineId) -> Result<(Subject, Arc<dyn Sink>), BatchError> {
    let pipeline = pipelines::find(&mut *env.reports.acquire().await?, &id.into()).await?;
    let pipeline = pipeline.ok_or_else(|| BatchError::RunEnded("the pipeline is gone".to_owned()))?;
    let inputs = &pipeline.draft;
    let review = validation::review(&env.reports, &env.describing, inputs, &env.schemas).await?;
    let Some(reader) = review.reader.filter(|_| review.problems.is_empty()) else {
        let list: Vec<_> = review.problems.iter().map(|p| format!("{}: {}", p.field, p.message)).collect();
        return Err(BatchError::fatal(list.join("; ")));
    };
    let Some(mut target) = review.target else {
        let (name, _) = inputs.final_target();
        return Err(BatchError::fatal(format!("target `{name}` is not in the whitelist")));
    };
    let mut connection = env.reports.acquire().await?;
    postgres::qualify(&mut connection, &mut target).await?;
    let installation = installation::id(&mut connection).await?;
    let opening = Opening { target: &target, reader: &reader, inputs, installation, mode: inputs.mode, run: None };
    let sink = env.sinks.open(&opening)?;
    Ok((Subject { key: target.entry.key, form: sink.row_form(), pipeline, reader }, sink))
}
