//! Finds a pipeline as it is configured now, checks it like a new one, and opens its source and its sink.

use std::sync::Arc;

use vitrina_shared::{
    domain::Report,
    reports::HeldReport,
    store::{installation, pipelines},
};

use crate::{
    environment::Environment,
    error::BatchError,
    plan,
    sink::{Opening, Sink, Subject},
    source::{RowForm, Walk},
    step::Arriving,
};

/// Finds the pipeline, its source and its target as they are now. `adapt` changes how its rows are read.
pub async fn open(
    env: &Environment,
    job: &HeldReport,
    report: &Report,
    adapt: impl FnOnce(Walk) -> Walk,
) -> Result<(Subject, Arc<dyn Sink>), BatchError> {
    let id = report.pipeline_id;
    let pipeline = pipelines::find(&mut *env.reports.acquire().await?, &id.into()).await?;
    let pipeline = pipeline.ok_or_else(|| BatchError::RunEnded("the pipeline is gone".to_owned()))?;
    let inputs = &pipeline.draft;
    let own = env.steps.current();
    env.lacking.refuse(&own, &mut *env.reports.acquire().await?, (&inputs.tasks, None)).await?;
    let source = env.sources.of(inputs).clone();
    // The description may take seconds: meanwhile others need the connection.
    let described = source.describe(inputs).await?;
    let mut connection = env.reports.acquire().await?;
    let (reader, mut target) = plan::check(&mut connection, inputs, described, own.transforms()).await?;
    env.sinks.complete_target(&mut connection, &mut target).await?;
    let installation = installation::id(&mut connection).await?;
    let opening = Opening { target: &target, reader: &reader, inputs, installation, mode: inputs.mode, run: None };
    let sink = env.sinks.open(&opening)?;
    let context = env.step_context((id, &inputs.name), report.id.0, &job.correlation_id);
    let walk = adapt(plan::walk(inputs.mode, inputs, (&reader, &target.entry.key), &*sink, env.max_row_bytes));
    let arriving = Arriving { stages: &reader.stages, arrays_as_text: walk.form == RowForm::ReadBack };
    let steps = own.sequence(&inputs.tasks, &target.entry.key, arriving)?;
    let reading = source.open(walk);
    Ok((Subject { pipeline, source, reading, steps, context }, sink))
}
