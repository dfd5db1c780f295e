//! Looks at a pipeline as it is configured now, checked like a new one, and opens its sink.

use std::sync::Arc;

use vitrina_shared::{
    domain::Report,
    reports::HeldReport,
    store::{installation, pipelines},
    validation,
};

use crate::{
    environment::Environment,
    error::BatchError,
    sink::{Opening, Sink, Subject, postgres},
};

/// Looks at the pipeline, its source and its target as they are now.
pub async fn look(
    env: &Environment,
    job: &HeldReport,
    report: &Report,
) -> Result<(Subject, Arc<dyn Sink>), BatchError> {
    let id = report.pipeline_id;
    let pipeline = pipelines::find(&mut *env.reports.acquire().await?, &id.into()).await?;
    let pipeline = pipeline.ok_or_else(|| BatchError::RunEnded("the pipeline is gone".to_owned()))?;
    let inputs = &pipeline.draft;
    let source = env.sources.of(inputs);
    if !source.is_home() {
        let (name, kind) = (&inputs.name, source.kind());
        return Err(BatchError::fatal(format!(
            "pipeline `{name}` reads from `{kind}`: reports read the home database"
        )));
    }
    // The description may take seconds: meanwhile others need the connection.
    let described = source.describe(inputs).await?;
    let mut connection = env.reports.acquire().await?;
    let review = validation::judge(&mut connection, inputs, described, env.steps.transforms()).await?;
    let Some(reader) = review.reader.filter(|_| review.problems.is_empty()) else {
        let list: Vec<_> = review.problems.iter().map(|p| format!("{}: {}", p.field, p.message)).collect();
        return Err(BatchError::fatal(list.join("; ")));
    };
    let Some(mut target) = review.target else {
        let (name, _) = inputs.final_target();
        return Err(BatchError::fatal(format!("target `{name}` is not in the whitelist")));
    };
    postgres::qualify(&mut connection, &mut target).await?;
    let installation = installation::id(&mut connection).await?;
    let opening = Opening { target: &target, reader: &reader, inputs, installation, mode: inputs.mode, run: None };
    let sink = env.sinks.open(&opening)?;
    let steps = env.steps.sequence(&inputs.tasks, &target.entry.key)?;
    let context = env.step_context(id, report.id.0, &job.correlation_id);
    let (key, form) = (target.entry.key, sink.row_form());
    Ok((Subject { pipeline, reader, key, form, steps, context }, sink))
}
