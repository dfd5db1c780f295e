//! Pipelines: list, show, create, change, remove, status and state.

use std::sync::Arc;

use chrono::Utc;
use salvo::{
    Depot, Request,
    oapi::{ToSchema, endpoint},
    writing::Json,
};
use serde::Serialize;
use vitrina_shared::{
    definitions::{self, DefinitionError, OnCheckpoint},
    domain::{Pipeline, PipelineDraft, PipelineId, PipelineRef, Problem, task_plan},
    store::{pipelines, runs, state},
    validation::{self, Reader, Review},
};

use crate::{
    app::App,
    input::{self, Query},
    middleware::Actor,
    problem::{ApiError, ApiResult, FieldError},
    turns,
    views::{
        NoContent, Page, PipelineInput, PipelinePatch, PipelineView, ProgressView, RunView, StateView, StatusView,
        Versioned,
    },
};

/// How often a change without `If-Match` is repeated when a request to another process, or one with `If-Match`, came first.
const CHANGE_ATTEMPTS: usize = 20;

/// Reads the pipeline that the path names.
pub async fn find(app: &App, pipeline: &PipelineRef) -> ApiResult<Pipeline> {
    let mut connection = app.db().acquire().await?;
    pipelines::find(&mut connection, pipeline).await?.ok_or_else(|| ApiError::no_pipeline(pipeline))
}

/// List pipelines by name.
#[endpoint(
    operation_id = "listPipelines",
    tags("pipelines"),
    parameters(
        ("status" = Option<String>, Query, description = "Only those with this status"),
        ("enabled" = Option<bool>, Query, description = "Only those that are, or are not, enabled"),
        ("limit" = Option<i64>, Query, description = "Items on a page, 1 to 200, 50 by default"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    status_codes(200, 400, 401, 403, 422, 429, 503)
)]
pub async fn list(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<Page<PipelineView>>> {
    let app = App::of(depot)?;
    let mut query = Query::of(req);
    let filter = pipelines::Filter {
        status: query.take("status"),
        enabled: query.take_bool("enabled"),
        after: query.take_text("cursor"),
    };
    let limit = query.take_limit();
    query.finish()?;
    let mut connection = app.db().acquire().await?;
    let rows = pipelines::list(&mut connection, &filter, limit + 1).await?;
    Ok(Json(Page::cut(rows, limit, |pipeline| pipeline.draft.name.clone(), PipelineView::from)))
}

/// Show a pipeline.
#[endpoint(
    operation_id = "getPipeline",
    tags("pipelines"),
    parameters(("p" = String, Path, description = "Id or name of a pipeline")),
    status_codes(200, 401, 403, 404, 429, 503)
)]
pub async fn show(req: &mut Request, depot: &mut Depot) -> ApiResult<Versioned> {
    let app = App::of(depot)?;
    let pipeline = find(&app, &input::pipeline(req)).await?;
    Ok(Versioned { view: pipeline.into(), created: false })
}

/// Create a pipeline. Problems that would stop its runs are found now.
#[endpoint(
    operation_id = "createPipeline",
    tags("pipelines"),
    request_body = PipelineInput,
    status_codes(201, 400, 401, 403, 409, 413, 415, 422, 429, 503)
)]
pub async fn create(req: &mut Request, depot: &mut Depot) -> ApiResult<Versioned> {
    let app = App::of(depot)?;
    let draft: PipelineDraft = input::json::<PipelineInput>(req, app.config.max_body_bytes).await?.into();
    refuse_problems(&app, &Actor::of(depot)?, &draft, None).await?;
    let pipeline = definitions::create(&app.db(), &draft).await?;
    Ok(Versioned { view: pipeline.into(), created: true })
}

/// Change a pipeline: absent fields stay unchanged. While a run is unfinished only `batch_size`, `enabled` and
/// `description` may change; disabling a running pipeline pauses it after the current batch.
#[endpoint(
    operation_id = "changePipeline",
    tags("pipelines"),
    parameters(
        ("p" = String, Path, description = "Id or name of a pipeline"),
        ("If-Match" = Option<String>, Header, description = "`ETag` that the change is based on"),
    ),
    request_body = PipelinePatch,
    status_codes(200, 400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 503)
)]
pub async fn change(req: &mut Request, depot: &mut Depot) -> ApiResult<Versioned> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let (pipeline, expected) = (input::pipeline(req), input::if_match(req)?);
    let patch: PipelinePatch = input::json(req, app.config.max_body_bytes).await?;
    let found = find(&app, &pipeline).await?.id;
    let turn = app.changes.take(&found).await?;
    turns::finish(turn, change_on_turn(app, actor, found, expected, patch)).await
}

async fn change_on_turn(
    app: Arc<App>,
    actor: Actor,
    pipeline: PipelineId,
    expected: Option<Vec<i64>>,
    patch: PipelinePatch,
) -> ApiResult<Versioned> {
    for _ in 0..CHANGE_ATTEMPTS {
        let current = find(&app, &pipeline.into()).await?;
        if expected.as_ref().is_some_and(|versions| !versions.contains(&current.version)) {
            return Err(DefinitionError::VersionChanged(current.version).into());
        }
        let draft = patch.clone().apply(current.draft.clone());
        // The state is checked before the draft: a change that the state forbids is refused for that reason, valid or not.
        definitions::check_busy(&current, &draft)?;
        let on_change = if only_described_or_disabled(&current.draft, &draft) {
            refuse(new_problems(&app, &current.draft, &draft).await?)?;
            OnCheckpoint::Keep
        } else {
            let reader = refuse_problems(&app, &actor, &draft, Some(current.id)).await?;
            on_checkpoint(&app, &actor, &current.draft, &draft, reader.as_ref()).await?
        };
        match definitions::change(&app.db(), current.id, current.version, &draft, on_change, actor.cause()).await {
            Ok(changed) => return Ok(Versioned { view: changed.into(), created: false }),
            Err(DefinitionError::VersionChanged(_)) if expected.is_none() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(ApiError::TooMany("others change this pipeline all the time"))
}

/// Remove a pipeline with its runs and checkpoint. The log of its transitions stays.
#[endpoint(
    operation_id = "deletePipeline",
    tags("pipelines"),
    parameters(
        ("p" = String, Path, description = "Id or name of a pipeline"),
        ("If-Match" = Option<String>, Header, description = "`ETag` that must still hold"),
    ),
    status_codes(204, 400, 401, 403, 404, 409, 412, 429, 503)
)]
pub async fn delete(req: &mut Request, depot: &mut Depot) -> ApiResult<NoContent> {
    let (app, expected) = (App::of(depot)?, input::if_match(req)?);
    let found = find(&app, &input::pipeline(req)).await?.id;
    // The removal may wait for a batch: of many requests, only one holds a connection.
    let (turn, db) = (app.changes.take(&found).await?, app.db());
    turns::finish(turn, async move {
        definitions::delete(&db, &found.into(), expected.as_deref()).await?;
        Ok(NoContent)
    })
    .await
}

/// Problems of a draft.
#[derive(Serialize, ToSchema)]
pub struct Validation {
    /// Empty if the draft is valid.
    problems: Vec<FieldError>,
}

/// Check a draft without storing it. The name may be taken: a draft of a change is checked the same way. A limit that is still to
/// be set is a problem here, and none when the pipeline is stored.
#[endpoint(
    operation_id = "validatePipeline",
    tags("pipelines"),
    request_body = PipelineInput,
    status_codes(200, 400, 401, 403, 413, 415, 422, 429, 503)
)]
pub async fn validate(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<Validation>> {
    let app = App::of(depot)?;
    let draft: PipelineDraft = input::json::<PipelineInput>(req, app.config.max_body_bytes).await?.into();
    let mut problems = review(&app, &Actor::of(depot)?, &draft).await?.problems;
    problems.extend(sharing(&app, &draft, None).await?);
    problems.extend(validation::missing_limits(&mut *app.db().acquire().await?, &draft).await?);
    Ok(Json(Validation { problems: problems.into_iter().map(FieldError::from).collect() }))
}

async fn review(app: &App, actor: &Actor, draft: &PipelineDraft) -> ApiResult<Review> {
    let describing = app.describing.on_turn(app.turns.take(actor.name()).await?);
    let transforms = app.transforms(draft).await?;
    Ok(validation::review(&app.db(), &describing, draft, &app.schemas, &transforms).await?)
}

/// Problems of a draft that its plan did not have before: while no worker is alive, a pipeline with a step in Python can still
/// be switched off.
async fn new_problems(app: &App, before: &PipelineDraft, draft: &PipelineDraft) -> ApiResult<Vec<Problem>> {
    let transforms = app.transforms(draft).await?;
    let of_plan = task_plan::problems(&before.tasks, &transforms);
    let is_new =
        |problem: &Problem| !of_plan.iter().any(|old| (&old.field, &old.message) == (&problem.field, &problem.message));
    Ok(draft.problems(&transforms).into_iter().filter(is_new).collect())
}

/// Conflicts of the draft with other pipelines.
async fn sharing(app: &App, draft: &PipelineDraft, itself: Option<PipelineId>) -> ApiResult<Option<Problem>> {
    Ok(definitions::sharing_problem(&mut *app.db().acquire().await?, draft, itself).await?)
}

async fn refuse_problems(
    app: &App,
    actor: &Actor,
    draft: &PipelineDraft,
    itself: Option<PipelineId>,
) -> ApiResult<Option<Reader>> {
    let mut review = review(app, actor, draft).await?;
    review.problems.extend(sharing(app, draft, itself).await?);
    refuse(review.problems)?;
    Ok(review.reader)
}

fn refuse(problems: Vec<Problem>) -> ApiResult<()> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(ApiError::Invalid(problems.into_iter().map(FieldError::from).collect()))
}

/// Whether a change does not affect what runs do. Then the query is not described: a pipeline whose query cannot be
/// described must still be disabled.
fn only_described_or_disabled(current: &PipelineDraft, changed: &PipelineDraft) -> bool {
    let alike = PipelineDraft {
        description: current.description.clone(),
        enabled: changed.enabled || current.enabled,
        ..changed.clone()
    };
    alike == *current
}

/// A checkpoint is text: read as another type it would name another row, or none.
async fn on_checkpoint(
    app: &App,
    actor: &Actor,
    current: &PipelineDraft,
    changed: &PipelineDraft,
    reader: Option<&Reader>,
) -> ApiResult<OnCheckpoint> {
    if current.reader() == changed.reader() {
        return Ok(OnCheckpoint::Keep);
    }
    let before = review(app, actor, current).await?.reader;
    let types = before.as_ref().map(|before| before.walk_types(current));
    let now = reader.map(|reader| reader.walk_types(changed));
    Ok(if types.is_some() && types != now { OnCheckpoint::Forget } else { OnCheckpoint::Keep })
}

/// The status of a pipeline, its unfinished run and progress.
#[endpoint(
    operation_id = "getPipelineStatus",
    tags("pipelines"),
    parameters(("p" = String, Path, description = "Id or name of a pipeline")),
    status_codes(200, 401, 403, 404, 429, 503)
)]
pub async fn status(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<StatusView>> {
    let (app, values) = (App::of(depot)?, Actor::of(depot)?.values());
    let pipeline = find(&app, &input::pipeline(req)).await?;
    let run = runs::find_active(&mut *app.db().acquire().await?, pipeline.id).await?;
    Ok(Json(StatusView {
        status: pipeline.status.into(),
        enabled: pipeline.draft.enabled,
        progress: run.as_ref().map(|run| ProgressView::of(run, Utc::now())),
        active_run: run.map(|run| RunView::new(run, values)),
    }))
}

/// How far a pipeline is written.
#[endpoint(
    operation_id = "getPipelineState",
    tags("pipelines"),
    parameters(("p" = String, Path, description = "Id or name of a pipeline")),
    status_codes(200, 401, 403, 404, 429, 503)
)]
pub async fn checkpoint(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<StateView>> {
    let app = App::of(depot)?;
    let pipeline = find(&app, &input::pipeline(req)).await?;
    let state = state::find(&mut *app.db().acquire().await?, pipeline.id).await?;
    Ok(Json(StateView::new(state, Actor::of(depot)?.values())))
}
