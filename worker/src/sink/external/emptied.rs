//! A run fills an emptied target from the first row. A replay or a repair that writes a few documents before that would hide from
//! every pipeline of the target that the other documents are gone.

use sqlx::PgConnection;
use vitrina_shared::store::runs;

use super::ExternalSink;
use crate::error::BatchError;

/// Refuses to write to a target that is not there, or that has no documents although rows were delivered to it.
pub async fn refuse(connection: &mut PgConnection, sink: &dyn ExternalSink) -> Result<(), BatchError> {
    let target = sink.target();
    if !sink.is_there().await? {
        return Err(BatchError::fatal(format!("`{target}` is not there: run the pipeline, which makes it")));
    }
    if sink.count().await? > 0 || !runs::is_delivered_to(connection, target).await? {
        return Ok(());
    }
    Err(BatchError::fatal(format!(
        "`{target}` has no documents any more, although runs have delivered some: run the pipelines that write it, which fill it \
         from the first row"
    )))
}
