//! Transforms of this deployment: those that it is built with, and the steps that live workers bring with them.

use salvo::{Depot, oapi::endpoint, writing::Json};

use vitrina_shared::{domain::transform::Registry, jobs::BATCH_QUEUE, store::worker_steps};

use crate::{
    app::App,
    problem::ApiError,
    views::{Items, TransformView},
};

/// List the transforms that a plan may name: the built-in ones, of type RUST, and the steps of live workers, of type PYTHON.
#[endpoint(operation_id = "listTransforms", tags("transforms"), status_codes(200, 401, 403, 429, 503))]
pub async fn list(depot: &mut Depot) -> Result<Json<Items<TransformView>>, ApiError> {
    let app = App::of(depot)?;
    let live = worker_steps::live(&mut *app.db().acquire().await?, BATCH_QUEUE).await?;
    let built_in = Registry::default();
    let built_in = built_in.kinds().iter().map(TransformView::from);
    Ok(Json(Items { items: built_in.chain(live.into_iter().map(TransformView::from)).collect() }))
}
