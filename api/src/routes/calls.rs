//! Calls to services that are remembered.

use chrono::{DateTime, Utc};
use salvo::{Depot, Request, oapi::endpoint, writing::Json};
use vitrina_shared::{
    domain::{Pipeline, PipelineRef},
    store::calls::{self, CallState, ListedCall, Wanted},
};

use super::pipelines;
use crate::{
    app::App,
    input::Query,
    middleware::Actor,
    problem::{ApiError, ApiResult},
    views::{CallView, ForgottenView, Page},
};

/// List remembered calls, newest first.
#[endpoint(
    operation_id = "listCalls",
    tags("calls"),
    parameters(
        ("pipeline" = Option<String>, Query, description = "Only those of this pipeline, by its id or name"),
        ("state" = Option<String>, Query, description = "Only those in this state: `SENDING`, `SUBMITTED`, `WAITING`, `DONE`, `REFUSED` or `FAILED`"),
        ("limit" = Option<i64>, Query, description = "Items on a page, 1 to 200, 50 by default"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    status_codes(200, 400, 401, 403, 404, 422, 429, 503)
)]
pub async fn list(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<Page<CallView>>> {
    let (app, values) = (App::of(depot)?, Actor::of(depot)?.values());
    let mut query = Query::of(req);
    let (name, state) = (query.take_text("pipeline"), query.take("state"));
    let before = query.take_cursor(read_cursor);
    let limit = query.take_limit();
    query.finish()?;
    let pipeline = match name {
        Some(name) => Some(find(&app, &name).await?.id),
        None => None,
    };
    let before = before.as_ref().map(|(at, place)| (*at, place.as_slice()));
    let wanted = Wanted { pipeline, state, before, limit: limit + 1 };
    let rows = calls::list(&mut *app.db().acquire().await?, &wanted).await?;
    Ok(Json(Page::cut(rows, limit, cursor, |call| CallView::new(call, values))))
}

/// Forget calls of a pipeline, so that they are made (and paid for) again. Those that are under way stay.
#[endpoint(
    operation_id = "forgetCalls",
    tags("calls"),
    parameters(
        ("pipeline" = String, Query, description = "Id or name of the pipeline"),
        ("state" = Option<String>, Query, description = "Only those in this state: `WAITING`, `DONE`, `REFUSED` or `FAILED`"),
    ),
    status_codes(200, 400, 401, 403, 404, 422, 429, 503)
)]
pub async fn forget(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<ForgottenView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let mut query = Query::of(req);
    let (name, state) = (query.take_text("pipeline"), query.take::<CallState>("state"));
    query.finish()?;
    let name =
        name.ok_or_else(|| ApiError::invalid("pipeline", "name the pipeline whose calls are to be forgotten"))?;
    if matches!(state, Some(CallState::Sending | CallState::Submitted)) {
        return Err(ApiError::invalid("state", "calls under way stay: takes WAITING, DONE, REFUSED or FAILED"));
    }
    let pipeline = find(&app, &name).await?;
    let forgotten = calls::forget(&mut *app.db().acquire().await?, pipeline.id, state).await?;
    tracing::info!(pipeline = %pipeline.draft.name, ?state, calls = forgotten, actor = %actor.name(), "calls forgotten");
    Ok(Json(ForgottenView { forgotten }))
}

async fn find(app: &App, name: &str) -> ApiResult<Pipeline> {
    let Ok(pipeline): Result<PipelineRef, _> = name.parse();
    pipelines::find(app, &pipeline).await
}

/// When a call was first made, and its place among those of that moment.
fn cursor(call: &ListedCall) -> String {
    let place: String = call.place.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}.{place}", call.created_at.timestamp_micros())
}

fn read_cursor(text: &str) -> Option<(DateTime<Utc>, Vec<u8>)> {
    let (at, place) = text.split_once('.')?;
    let at = DateTime::from_timestamp_micros(at.parse().ok()?)?;
    let is_digest = place.len() == 64 && place.bytes().all(|byte| byte.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(place.get(at..at + 2)?, 16).ok();
    let place = (0..place.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>();
    Some((at, place.filter(|_| is_digest)?))
}
