//! Dead letters: list and replay them.

use std::collections::BTreeSet;

use salvo::{Depot, Request, oapi::endpoint, writing::Json};
use vitrina_shared::{
    domain::{ReportRequest, report::MAX_REPLAYED},
    store::dead_letters,
};

use super::{
    pipelines,
    reports::{self, Reported},
};
use crate::{
    app::App,
    input::{self, Query},
    middleware::Actor,
    problem::{ApiError, ApiResult},
    views::{DeadLetterView, Page, ReplayInput, ReplayView},
};

/// List rows that could not be written, newest first.
#[endpoint(
    operation_id = "listPipelineDeadLetters",
    tags("dead letters"),
    parameters(
        ("p" = String, Path, description = "Id or name of a pipeline"),
        ("open" = Option<bool>, Query, description = "Only those that are, or are not, still to be replayed"),
        ("limit" = Option<i64>, Query, description = "Items on a page, 1 to 200, 50 by default"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    status_codes(200, 400, 401, 403, 404, 422, 429, 503)
)]
pub async fn list(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<Page<DeadLetterView>>> {
    let (app, values) = (App::of(depot)?, Actor::of(depot)?.values());
    let mut query = Query::of(req);
    let open = query.take_bool("open");
    let before = query.take_cursor(|id| id.parse().ok());
    let limit = query.take_limit();
    query.finish()?;
    let pipeline = pipelines::find(&app, &input::pipeline(req)).await?;
    let mut connection = app.db().acquire().await?;
    let rows = dead_letters::list(&mut connection, pipeline.id, open, before, limit + 1).await?;
    Ok(Json(Page::cut(rows, limit, |letter| letter.id.to_string(), |letter| DeadLetterView::new(letter, values))))
}

/// Replay rows that could not be written, as their source has them now.
#[endpoint(
    operation_id = "replayDeadLetters",
    tags("dead letters"),
    parameters(
        ("p" = String, Path, description = "Id or name of a pipeline"),
        ("wait" = Option<u64>, Query, description = "Seconds to wait for the result, 0 to 60, 30 by default"),
    ),
    request_body = ReplayInput,
    status_codes(200, 202, 400, 401, 403, 404, 409, 413, 415, 422, 429, 503)
)]
pub async fn replay(req: &mut Request, depot: &mut Depot) -> ApiResult<Reported<ReplayView>> {
    let app = App::of(depot)?;
    let wait = reports::wait(req)?;
    let ReplayInput { ids } = input::optional_json(req, app.config.max_body_bytes).await?;
    if ids.as_ref().is_some_and(|ids| !(1..=MAX_REPLAYED).contains(&ids.len())) {
        return Err(ApiError::invalid("ids", format!("takes 1 to {MAX_REPLAYED} ids; leave it out to replay all")));
    }
    let ids = ids.map(|ids| BTreeSet::from_iter(ids).into_iter().collect());
    let pipeline = pipelines::find(&app, &input::pipeline(req)).await?;
    if pipeline.status.has_unfinished_run() {
        let (name, status) = (&pipeline.draft.name, pipeline.status);
        let reason = format!("cannot replay rows of pipeline `{name}` while it is {status}: let its run end first");
        return Err(ApiError::IllegalState(reason));
    }
    reports::report(&app, req, depot, &ReportRequest::Replay { ids }, wait).await
}
