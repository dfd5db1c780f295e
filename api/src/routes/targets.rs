//! The whitelist of targets.

use salvo::{Depot, Request, Response, http::StatusCode, oapi::endpoint, writing::Json};
use serde_json::Value;
use vitrina_shared::{
    domain::TargetName,
    store::{self, targets},
    validation,
};

use crate::{
    app::App,
    input,
    problem::{ApiError, ApiResult, FieldError},
    views::{Items, TargetInput, TargetView},
};

/// List what pipelines may write.
#[endpoint(tags("targets"), status_codes(200, 401, 403, 429, 503))]
pub async fn list(depot: &mut Depot) -> ApiResult<Json<Items<TargetView>>> {
    let app = App::of(depot)?;
    let rows = targets::list(&mut *app.db.acquire().await?).await?;
    Ok(Json(Items { items: rows.into_iter().map(TargetView::from).collect() }))
}

/// Allow pipelines to write a table of `analytics` or an index. Needs the role admin.
#[endpoint(
    tags("targets"),
    request_body = TargetInput,
    responses((status_code = 201, description = "Allowed", body = TargetView)),
    status_codes(201, 400, 401, 403, 409, 413, 415, 422, 429, 503)
)]
pub async fn create(req: &mut Request, depot: &mut Depot, res: &mut Response) -> ApiResult<Json<TargetView>> {
    let app = App::of(depot)?;
    let wanted: TargetInput = input::json(req, app.config.max_body_bytes).await?;
    let name: TargetName = wanted.target.parse().map_err(|error| ApiError::invalid("target", format!("{error}")))?;
    let mut connection = app.db.acquire().await?;
    let problems = validation::target_problems(&mut connection, &name, &wanted.key).await?;
    if !problems.is_empty() {
        return Err(ApiError::Invalid(problems.into_iter().map(FieldError::from).collect()));
    }
    let target = targets::insert(&mut connection, &wanted.target, &wanted.key, &Value::Object(wanted.options))
        .await
        .map_err(|error| taken(error, &wanted.target))?;
    tracing::info!(target_name = %target.target, key = ?target.key, "target allowed");
    res.status_code(StatusCode::CREATED);
    Ok(Json(target.into()))
}

fn taken(error: sqlx::Error, target: &str) -> ApiError {
    if store::violates(&error, "etl_targets_pkey") {
        ApiError::Conflict(format!("target `{target}` is in the whitelist already"))
    } else {
        error.into()
    }
}
