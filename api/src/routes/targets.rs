//! The whitelist of targets.

use salvo::{Depot, Request, Response, http::StatusCode, oapi::endpoint, writing::Json};
use serde_json::Value;
use vitrina_shared::{
    definitions::{self, AllowError, ForgetError, WantedTarget},
    domain::{PipelineDraft, transform::Registry},
    store::targets,
};

use crate::{
    app::App,
    input::{self, Query},
    middleware::Actor,
    problem::{ApiError, ApiResult, FieldError},
    views::{AllowedTargetView, Items, NoContent, TargetInput, TargetView},
};

const NOT_HERE: &str = "this deployment creates no tables: create it yourself and leave `create` out, or set \
                        VITRINA_CREATE_TARGETS=true for the API";

/// List the targets that pipelines may write.
#[endpoint(operation_id = "listTargets", tags("targets"), status_codes(200, 401, 403, 429, 503))]
pub async fn list(depot: &mut Depot) -> ApiResult<Json<Items<TargetView>>> {
    let app = App::of(depot)?;
    let rows = targets::list(&mut *app.db().acquire().await?).await?;
    Ok(Json(Items { items: rows.into_iter().map(TargetView::from).collect() }))
}

/// Allow pipelines to write a table of `analytics` or an index, and on request create the table from a query's columns.
/// Needs the role admin.
#[endpoint(
    operation_id = "createTarget",
    tags("targets"),
    parameters(("dry_run" = Option<bool>, Query, description = "`true` changes nothing, and tells what would be done")),
    request_body = TargetInput,
    responses(
        (status_code = 200, description = "It could be allowed; nothing was changed", body = AllowedTargetView),
        (status_code = 201, description = "Allowed", body = AllowedTargetView),
    ),
    status_codes(200, 201, 400, 401, 403, 409, 413, 415, 422, 429, 503)
)]
pub async fn create(req: &mut Request, depot: &mut Depot, res: &mut Response) -> ApiResult<Json<AllowedTargetView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let mut query = Query::of(req);
    let dry_run = query.take_bool("dry_run").unwrap_or(false);
    query.finish()?;
    let input: TargetInput = input::json(req, app.config.max_body_bytes).await?;
    if input.create.is_some() && !app.config.create_targets {
        return Err(ApiError::invalid("create", NOT_HERE));
    }
    if input.pipeline.is_some() && !dry_run {
        return Err(ApiError::invalid(
            "pipeline",
            "only a dry run (?dry_run=true) takes a pipeline: create it afterwards",
        ));
    }
    let options = Value::Object(input.options);
    let create_from = input.create.as_ref().map(|table| table.source_query.as_str());
    let wanted = WantedTarget { target: &input.target, key: &input.key, options: &options, create_from };
    let describing = app.describing.on_turn(app.turns.take(actor.name()).await?);
    if dry_run {
        let draft: Option<PipelineDraft> = input.pipeline.map(PipelineDraft::from);
        let transforms = match &draft {
            Some(draft) => app.transforms(draft).await?,
            None => Registry::default(),
        };
        let writer = draft.as_ref().map(|draft| (draft, &transforms));
        let (allowed, problems) =
            definitions::try_target(&app.db(), &describing, &wanted, writer, &app.schemas).await?;
        return Ok(Json(AllowedTargetView::new(&wanted, allowed, problems)));
    }
    res.status_code(StatusCode::CREATED);
    let allowed = definitions::allow_target(&app.db(), &describing, &wanted, &app.schemas, actor.cause()).await?;
    Ok(Json(AllowedTargetView::new(&wanted, allowed, Vec::new())))
}

/// Take a target off the whitelist. Its table or index stays. Needs the role admin.
#[endpoint(
    operation_id = "deleteTarget",
    tags("targets"),
    parameters(("t" = String, Path, description = "The target's name, such as `analytics.<table>` or `es:<index>`")),
    status_codes(204, 401, 403, 404, 409, 429, 503)
)]
pub async fn delete(req: &mut Request, depot: &mut Depot) -> ApiResult<NoContent> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let target: String = req.param("t").unwrap_or_default();
    definitions::forget_target(&app.db(), &target, actor.cause()).await?;
    Ok(NoContent)
}

impl From<ForgetError> for ApiError {
    fn from(error: ForgetError) -> Self {
        match error {
            ForgetError::NoTarget(_) => Self::NotFound(error.to_string()),
            ForgetError::Written { .. } => Self::Conflict(error.to_string()),
            ForgetError::Database(error) => error.into(),
        }
    }
}

impl From<AllowError> for ApiError {
    fn from(error: AllowError) -> Self {
        match error {
            AllowError::Taken(_) => Self::Conflict(error.to_string()),
            AllowError::Busy(_) => Self::IllegalState(error.to_string()),
            AllowError::Wrong(problems) => Self::Invalid(problems.into_iter().map(FieldError::from).collect()),
            AllowError::Database(error) => error.into(),
        }
    }
}
