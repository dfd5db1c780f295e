//! What a client must know of the deployment to tell it from another.

use salvo::{Depot, oapi::endpoint, writing::Json};
use vitrina_shared::store::installation;

use crate::{app::App, problem::ApiResult, views::InstallationView};

/// Which installation this is, and which schemas its queries may read.
#[endpoint(operation_id = "getInstallation", tags("installation"), status_codes(200, 401, 403, 429, 503))]
pub async fn show(depot: &mut Depot) -> ApiResult<Json<InstallationView>> {
    let app = App::of(depot)?;
    let id = installation::id(&mut *app.db().acquire().await?).await?;
    Ok(Json(InstallationView { id, source_schemas: app.schemas.names().to_vec() }))
}
