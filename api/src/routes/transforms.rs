//! Transforms that are registered in this deployment.

use salvo::{Depot, oapi::endpoint, writing::Json};

use crate::{
    app::App,
    problem::ApiError,
    views::{Items, TransformView},
};

/// List the transforms that a plan may name.
#[endpoint(operation_id = "listTransforms", tags("transforms"), status_codes(200, 401, 403, 429))]
pub async fn list(depot: &mut Depot) -> Result<Json<Items<TransformView>>, ApiError> {
    let items = App::of(depot)?.transforms.kinds().iter().map(TransformView::from).collect();
    Ok(Json(Items { items }))
}
