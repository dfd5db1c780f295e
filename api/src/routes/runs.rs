//! Runs: request, pause, cancel, reset, repeat, list and show.

use chrono::DateTime;
use salvo::{Depot, Request, oapi::endpoint, writing::Json};
use uuid::Uuid;
use vitrina_shared::{
    domain::{Run, RunId, Trigger},
    lifecycle::{self, WantedRun},
    metrics::CANCELLED_STATEMENTS,
    store::{
        backends::Reason,
        runs::{self, RunPosition},
    },
};

use super::pipelines;
use crate::{
    app::App,
    input::{self, Query},
    middleware::Actor,
    problem::{ApiError, ApiResult},
    views::{Accepted, CommandView, Page, RequestedRunView, RunView},
};

/// Request a run: starts a new one, resumes the paused one, or finds the active one. Repeating it changes nothing.
#[endpoint(
    operation_id = "runPipeline",
    tags("runs"),
    parameters(
        ("p" = String, Path, description = "Id or name of a pipeline"),
        ("full" = Option<bool>, Query, description = "`true` reads everything and removes what is gone, in mode incremental too"),
        ("allow_removal" = Option<bool>, Query, description = "`true` lets this run remove more rows than `max_removed` allows"),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with this key finds the same run"),
    ),
    status_codes(202, 400, 401, 403, 404, 409, 422, 429, 503)
)]
pub async fn request(req: &mut Request, depot: &mut Depot) -> ApiResult<Accepted<RequestedRunView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let key = input::idempotency_key(req)?;
    let mut query = Query::of(req);
    let (full, allow_removal) = (query.take_bool("full"), query.take_bool("allow_removal"));
    query.finish()?;
    let requested = app.command(input::pipeline(req), |db, pipeline| async move {
        let wanted = WantedRun {
            idempotency_key: key.as_deref(),
            full: full.unwrap_or(false),
            allow_removal: allow_removal.unwrap_or(false),
            ..WantedRun::by(Trigger::Api)
        };
        Ok(lifecycle::request_run(&db, &pipeline, wanted, actor.cause()).await?)
    });
    Ok(Accepted(requested.await?.into()))
}

/// Pause after the current batch.
#[endpoint(
    operation_id = "pausePipeline",
    tags("runs"),
    parameters(("p" = String, Path, description = "Id or name of a pipeline")),
    status_codes(202, 401, 403, 404, 409, 429, 503)
)]
pub async fn pause(req: &mut Request, depot: &mut Depot) -> ApiResult<Accepted<CommandView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let status = app.command(input::pipeline(req), |db, pipeline| async move {
        Ok(lifecycle::request_pause(&db, &pipeline, actor.cause()).await?)
    });
    Ok(Accepted(CommandView { status: status.await?.into() }))
}

/// End the unfinished run. A batch that is being written does not commit.
#[endpoint(
    operation_id = "cancelPipeline",
    tags("runs"),
    parameters(("p" = String, Path, description = "Id or name of a pipeline")),
    status_codes(202, 401, 403, 404, 409, 429, 503)
)]
pub async fn cancel(req: &mut Request, depot: &mut Depot) -> ApiResult<Accepted<CommandView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let cancelled = app.command(input::pipeline(req), |db, pipeline| async move {
        Ok(lifecycle::cancel(&db, &pipeline, actor.cause()).await?)
    });
    let cancelled = cancelled.await?;
    metrics::counter!(CANCELLED_STATEMENTS, "reason" => Reason::Cancel.as_str()).increment(cancelled.statements);
    Ok(Accepted(CommandView { status: cancelled.status.into() }))
}

/// Forget the checkpoint: the next run begins at the first row.
#[endpoint(
    operation_id = "resetPipeline",
    tags("runs"),
    parameters(("p" = String, Path, description = "Id or name of a pipeline")),
    status_codes(202, 401, 403, 404, 409, 429, 503)
)]
pub async fn reset(req: &mut Request, depot: &mut Depot) -> ApiResult<Accepted<CommandView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let status = app.command(input::pipeline(req), |db, pipeline| async move {
        Ok(lifecycle::reset(&db, &pipeline, actor.cause()).await?)
    });
    Ok(Accepted(CommandView { status: status.await?.into() }))
}

/// Repeat an earlier run with its inputs: its configuration and where it began.
#[endpoint(
    operation_id = "repeatRun",
    tags("runs"),
    parameters(("id" = String, Path, description = "Id of a run")),
    status_codes(202, 401, 403, 404, 409, 429, 503)
)]
pub async fn again(req: &mut Request, depot: &mut Depot) -> ApiResult<Accepted<RequestedRunView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let run = find(&app, input::run(req)?).await?;
    let requested = app.command(run.pipeline_id.into(), move |db, _| async move {
        Ok(lifecycle::run_again(&db, run.id, actor.cause()).await?)
    });
    Ok(Accepted(requested.await?.into()))
}

/// List a pipeline's runs, newest first.
#[endpoint(
    operation_id = "listPipelineRuns",
    tags("runs"),
    parameters(
        ("p" = String, Path, description = "Id or name of a pipeline"),
        ("limit" = Option<i64>, Query, description = "Items on a page, 1 to 200, 50 by default"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    status_codes(200, 400, 401, 403, 404, 422, 429, 503)
)]
pub async fn list(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<Page<RunView>>> {
    let (app, values) = (App::of(depot)?, Actor::of(depot)?.values());
    let mut query = Query::of(req);
    let before = query.take_cursor(position);
    let limit = query.take_limit();
    query.finish()?;
    let pipeline = pipelines::find(&app, &input::pipeline(req)).await?;
    let mut connection = app.db().acquire().await?;
    let rows = runs::list(&mut connection, pipeline.id, before, limit + 1).await?;
    Ok(Json(Page::cut(rows, limit, cursor, |run| RunView::new(run, values))))
}

/// Show a run.
#[endpoint(
    operation_id = "getRun",
    tags("runs"),
    parameters(("id" = String, Path, description = "Id of a run")),
    status_codes(200, 401, 403, 404, 429, 503)
)]
pub async fn show(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<RunView>> {
    let (app, values) = (App::of(depot)?, Actor::of(depot)?.values());
    Ok(Json(RunView::new(find(&app, input::run(req)?).await?, values)))
}

async fn find(app: &App, id: RunId) -> ApiResult<Run> {
    runs::find(&mut *app.db().acquire().await?, id).await?.ok_or_else(|| ApiError::no_run(id))
}

/// The end of a page of runs, as text: microseconds and the run's id.
fn cursor(run: &Run) -> String {
    format!("{}.{}", run.requested_at.timestamp_micros(), run.id)
}

fn position(cursor: &str) -> Option<RunPosition> {
    let (micros, id) = cursor.split_once('.')?;
    let requested_at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
    Some(RunPosition { requested_at, id: RunId(Uuid::try_parse(id).ok()?) })
}
