//! Workers that are alive.

use salvo::{Depot, oapi::endpoint, writing::Json};
use vitrina_shared::{jobs::BATCH_QUEUE, store::workers};

use crate::{
    app::App,
    problem::ApiResult,
    views::{Items, WorkerView},
};

/// List live workers, their jobs and their last heartbeat.
#[endpoint(operation_id = "listWorkers", tags("workers"), status_codes(200, 401, 403, 429, 503))]
pub async fn list(depot: &mut Depot) -> ApiResult<Json<Items<WorkerView>>> {
    let app = App::of(depot)?;
    let rows = workers::live(&mut *app.db().acquire().await?, BATCH_QUEUE).await?;
    Ok(Json(Items { items: rows.into_iter().map(WorkerView::from).collect() }))
}
