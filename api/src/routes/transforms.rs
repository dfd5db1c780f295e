//! Transforms that are registered in this deployment.

use salvo::{oapi::endpoint, writing::Json};
use vitrina_shared::domain::transform::REGISTERED;

use crate::{
    problem::ApiError,
    views::{Items, TransformView},
};

/// List the transforms that a plan may name.
#[endpoint(operation_id = "listTransforms", tags("transforms"), status_codes(200, 401, 403, 429))]
pub async fn list() -> Result<Json<Items<TransformView>>, ApiError> {
    let items = REGISTERED.iter().map(TransformView::from).collect();
    Ok(Json(Items { items }))
}
