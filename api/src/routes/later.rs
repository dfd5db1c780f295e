//! What the contract promises and this version does not have yet: an honest 501 instead of a silent 404.

use salvo::oapi::endpoint;

use crate::{problem::ApiError, views::NoContent};

/// Rows that could not be written.
#[endpoint(tags("dead letters"), parameters(("p" = String, Path, description = "Id or name of a pipeline")), status_codes(401, 403, 429, 501))]
pub async fn dead_letters() -> Result<NoContent, ApiError> {
    Err(ApiError::NotYet("dead letters"))
}

/// Try rows again that could not be written.
#[endpoint(tags("dead letters"), parameters(("p" = String, Path, description = "Id or name of a pipeline")), status_codes(401, 403, 429, 501))]
pub async fn replay() -> Result<NoContent, ApiError> {
    Err(ApiError::NotYet("replaying dead letters"))
}
