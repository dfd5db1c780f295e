//! Reports: a worker makes them, and the client may wait for the result.
//!
//! The API reads no source itself: it queues the report and, on request, waits for the notification of its end.

use std::{sync::Arc, time::Duration};

use salvo::{
    Depot, Request, Response, Writer, async_trait,
    http::{HeaderValue, StatusCode, header},
    oapi::{Components, Content, EndpointOutRegister, Header, Operation, Response as ResponseDoc, ToSchema, endpoint},
    writing::Json,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::broadcast::error::RecvError;
use vitrina_shared::{
    domain::{
        Pipeline, Report, ReportId, ReportRequest, TargetName,
        report::{Depth, MAX_PREVIEW_ROWS, Repair},
    },
    reports,
    store::reports::find,
};

use super::pipelines;
use crate::{
    app::App,
    input::{self, Query},
    middleware::Actor,
    problem::{ApiError, ApiResult},
    views::{PreviewInput, PreviewView, ReconcileInput, ReconciliationView, ReportView, Values},
};

/// The longest and the default wait of a client.
const MAX_WAIT: u64 = 60;
const DEFAULT_WAIT: u64 = 30;

pub const LONGEST_WAIT: Duration = Duration::from_secs(MAX_WAIT);

/// Show rows as they would be written, without writing them.
#[endpoint(
    operation_id = "previewPipeline",
    tags("reports"),
    parameters(
        ("p" = String, Path, description = "Id or name of a pipeline"),
        ("wait" = Option<u64>, Query, description = "Seconds to wait for the result, 0 to 60, 30 by default"),
    ),
    request_body = PreviewInput,
    status_codes(200, 202, 400, 401, 403, 404, 413, 415, 422, 429, 503)
)]
pub async fn preview(req: &mut Request, depot: &mut Depot) -> ApiResult<Reported<PreviewView>> {
    let app = App::of(depot)?;
    let wait = wait(req)?;
    let wanted: PreviewInput = input::optional_json(req, app.config.max_body_bytes).await?;
    if !(1..=MAX_PREVIEW_ROWS).contains(&wanted.rows) {
        return Err(ApiError::invalid("rows", format!("takes a whole number from 1 to {MAX_PREVIEW_ROWS}")));
    }
    report(&app, req, depot, &wanted.request(), wait).await
}

/// Compare source and target, and on request repair rows that differ.
#[endpoint(
    operation_id = "reconcilePipeline",
    tags("reports"),
    parameters(
        ("p" = String, Path, description = "Id or name of a pipeline"),
        ("wait" = Option<u64>, Query, description = "Seconds to wait for the result, 0 to 60, 30 by default"),
    ),
    request_body = ReconcileInput,
    status_codes(200, 202, 400, 401, 403, 404, 409, 413, 415, 422, 429, 503)
)]
pub async fn reconcile(req: &mut Request, depot: &mut Depot) -> ApiResult<Reported<ReconciliationView>> {
    let app = App::of(depot)?;
    let wait = wait(req)?;
    let wanted: ReconcileInput = input::optional_json(req, app.config.max_body_bytes).await?;
    let (depth, repair) = (wanted.depth.0, wanted.repair.0);
    if depth == Depth::Counts && repair != Repair::Nothing {
        return Err(ApiError::invalid(
            "repair",
            "needs the depth keys or rows (`--depth keys`): counts do not tell which rows differ",
        ));
    }
    refuse_impossible(&pipelines::find(&app, &input::pipeline(req)).await?, depth, repair)?;
    report(&app, req, depot, &ReportRequest::Reconcile { depth, repair }, wait).await
}

/// Checks that need no worker. The state may change meanwhile, so the worker repeats them.
fn refuse_impossible(pipeline: &Pipeline, depth: Depth, repair: Repair) -> ApiResult<()> {
    let target: Option<TargetName> = pipeline.draft.final_target().0.parse().ok();
    let transformed = pipeline.draft.tasks.len() > 1 && target.is_some_and(|target| target.is_compared_without_steps());
    if transformed && depth == Depth::Rows {
        return Err(ApiError::invalid(
            "depth",
            "transforms change this pipeline's rows, and a run compares them as it writes: reset it (if it is incremental) \
             and run it; counts and keys can be compared",
        ));
    }
    if transformed && repair != Repair::Nothing {
        return Err(ApiError::invalid(
            "repair",
            "transforms change this pipeline's rows, and a run repairs them: reset it (if it is incremental) and run it",
        ));
    }
    if repair != Repair::Nothing && pipeline.status.has_unfinished_run() {
        let (name, status) = (&pipeline.draft.name, pipeline.status);
        let reason = format!("cannot repair the mart of pipeline `{name}` while it is {status}: let its run end first");
        return Err(ApiError::IllegalState(reason));
    }
    Ok(())
}

/// A report, its status and result.
#[endpoint(
    operation_id = "getReport",
    tags("reports"),
    parameters(("id" = String, Path, description = "Id of a report")),
    status_codes(200, 401, 403, 404, 429, 503)
)]
pub async fn show(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<ReportView>> {
    let (app, values) = (App::of(depot)?, Actor::of(depot)?.values());
    let id = input::report(req)?;
    Ok(Json(ReportView::new(read(&app, id).await?, values)))
}

async fn read(app: &App, id: ReportId) -> ApiResult<Report> {
    let report = find(&mut *app.db().acquire().await?, id).await?;
    report.ok_or_else(|| ApiError::NotFound(format!("there is no report `{id}`")))
}

/// The seconds that the client waits.
pub fn wait(req: &Request) -> ApiResult<Duration> {
    let mut query = Query::of(req);
    let seconds = query.take_within("wait", 0..=MAX_WAIT, DEFAULT_WAIT);
    query.finish()?;
    Ok(Duration::from_secs(seconds))
}

pub async fn report<V: DeserializeOwned>(
    app: &Arc<App>,
    req: &Request,
    depot: &Depot,
    request: &ReportRequest,
    wait: Duration,
) -> ApiResult<Reported<V>> {
    let actor = Actor::of(depot)?;
    // Subscribed before the report is queued, so that its end cannot be missed.
    let mut ends = app.report_ends.subscribe();
    let (request, requester) = (request.clone(), actor.clone());
    let requested = app.command(input::pipeline(req), |db, pipeline| async move {
        Ok(reports::request(&db, &pipeline, &request, requester.cause()).await?)
    });
    let id = requested.await?;
    let deadline = tokio::time::sleep(wait);
    tokio::pin!(deadline);
    let mut report = read(app, id).await?;
    while !report.status.is_final() {
        tokio::select! {
            heard = ends.recv() => match heard {
                Ok(Some(ended)) if ended != id.0 => continue,
                // Our report ended, or notifications may have been missed.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => break,
            },
            () = &mut deadline => break,
            () = app.stop.cancelled() => break,
        }
        report = read(app, id).await?;
    }
    answer(report, actor.values())
}

fn answer<V: DeserializeOwned>(report: Report, values: Values) -> ApiResult<Reported<V>> {
    if let Some(result) = &report.result {
        return serde_json::from_str(result.get()).map(Reported::Done).map_err(ApiError::internal);
    }
    match (report.error_class, report.status.is_final()) {
        (Some(class), true) => Err(ApiError::ReportFailed { class, message: report.error.unwrap_or_default() }),
        (_, _) => Ok(Reported::Later(ReportView::new(report, values))),
    }
}

/// 200 with the result, or 202 and the report's address.
pub enum Reported<V> {
    Done(V),
    Later(ReportView),
}

#[async_trait]
impl<V: Serialize + Send> Writer for Reported<V> {
    async fn write(self, _req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        match self {
            Self::Done(view) => res.render(Json(view)),
            Self::Later(view) => {
                if let Ok(location) = HeaderValue::from_str(&format!("/api/v1/reports/{}", view.id)) {
                    res.headers_mut().insert(header::LOCATION, location);
                }
                res.status_code(StatusCode::ACCEPTED);
                res.render(Json(view));
            }
        }
    }
}

impl<V: ToSchema> EndpointOutRegister for Reported<V> {
    fn register(components: &mut Components, operation: &mut Operation) {
        let done = Content::new(V::to_schema(components));
        let later = Content::new(ReportView::to_schema(components));
        let location = Header::default().description("Where the report is");
        let later = ResponseDoc::new("Not ready yet").add_content("application/json", later);
        operation.responses.insert("200", ResponseDoc::new("The result").add_content("application/json", done));
        operation.responses.insert("202", later.add_header("Location", location));
    }
}
