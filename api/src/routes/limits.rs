//! Limits of calls to services, and the keys that they are made with.

use salvo::{Depot, Request, Response, http::StatusCode, oapi::endpoint, writing::Json};
use vitrina_shared::{
    definitions::{self, ForgetLimitError, SetLimitError},
    domain::transform::check_pool,
    store::{
        limits::{self, Rate},
        pool_keys,
    },
};

use crate::{
    app::App,
    input,
    middleware::Actor,
    problem::{ApiError, ApiResult, FieldError},
    views::{ForgottenView, LimitInput, LimitView, LimitsView, NoContent},
};

/// List the limits of calls to services, and what became of the keys that these are made with. Keys are known by fingerprints.
#[endpoint(operation_id = "listLimits", tags("calls"), status_codes(200, 401, 403, 429, 503))]
pub async fn list(depot: &mut Depot) -> ApiResult<Json<LimitsView>> {
    let app = App::of(depot)?;
    let mut connection = app.db().acquire().await?;
    let (limits, keys) = (limits::list(&mut connection).await?, pool_keys::list(&mut connection).await?);
    Ok(Json(LimitsView {
        items: limits.into_iter().map(Into::into).collect(),
        keys: keys.into_iter().map(Into::into).collect(),
    }))
}

/// Set a limit: so many calls in a period, over all workers. A changed one holds at once.
#[endpoint(
    operation_id = "putLimit",
    tags("calls"),
    parameters(("name" = String, Path, description = "The name that plans refer to")),
    request_body = LimitInput,
    responses(
        (status_code = 200, description = "Changed", body = LimitView),
        (status_code = 201, description = "Made", body = LimitView),
    ),
    status_codes(200, 201, 400, 401, 403, 413, 415, 422, 429, 503)
)]
pub async fn put(req: &mut Request, depot: &mut Depot, res: &mut Response) -> ApiResult<Json<LimitView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let LimitInput { tokens, period_seconds, burst } = input::json(req, app.config.max_body_bytes).await?;
    let name: String = req.param("name").unwrap_or_default();
    let rate = Rate { tokens, period_seconds, burst };
    let (limit, is_new) = definitions::set_limit(&app.db(), &name, rate, actor.cause()).await?;
    res.status_code(if is_new { StatusCode::CREATED } else { StatusCode::OK });
    Ok(Json(limit.into()))
}

/// Remove a limit that no pipeline's plan names.
#[endpoint(
    operation_id = "deleteLimit",
    tags("calls"),
    parameters(("name" = String, Path, description = "The limit's name")),
    status_codes(204, 401, 403, 404, 409, 429, 503)
)]
pub async fn delete(req: &mut Request, depot: &mut Depot) -> ApiResult<NoContent> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let name: String = req.param("name").unwrap_or_default();
    definitions::forget_limit(&app.db(), &name, actor.cause()).await?;
    Ok(NoContent)
}

/// Let the keys of a pool be tried again that rest or that their service does not accept.
#[endpoint(
    operation_id = "forgetKeys",
    tags("calls"),
    parameters(("pool" = String, Path, description = "The pool: `OPENAI` for the keys of `VITRINA_KEYS_OPENAI`")),
    status_codes(200, 401, 403, 404, 429, 503)
)]
pub async fn forget_keys(req: &mut Request, depot: &mut Depot) -> ApiResult<Json<ForgottenView>> {
    let (app, actor) = (App::of(depot)?, Actor::of(depot)?);
    let pool: String = req.param("pool").unwrap_or_default();
    let forgotten = match check_pool(&pool) {
        Ok(()) => pool_keys::forget(&mut *app.db().acquire().await?, &pool).await?,
        Err(_) => 0,
    };
    if forgotten == 0 {
        return Err(ApiError::NotFound(format!("no call was made with keys of a pool `{pool}`")));
    }
    tracing::info!(pool, keys = forgotten, actor = %actor.name(), "keys are tried again");
    Ok(Json(ForgottenView { forgotten }))
}

impl From<SetLimitError> for ApiError {
    fn from(error: SetLimitError) -> Self {
        match error {
            SetLimitError::Wrong(problems) => Self::Invalid(problems.into_iter().map(FieldError::from).collect()),
            SetLimitError::Database(error) => error.into(),
        }
    }
}

impl From<ForgetLimitError> for ApiError {
    fn from(error: ForgetLimitError) -> Self {
        match error {
            ForgetLimitError::NoLimit(_) => Self::NotFound(error.to_string()),
            ForgetLimitError::Named { .. } => Self::Conflict(error.to_string()),
            ForgetLimitError::Database(error) => error.into(),
        }
    }
}
