//! A run fills an emptied index from the first row. A replay or a repair that writes a few documents before that would hide from
//! every pipeline of the index that the other documents are gone.

use sqlx::PgConnection;
use vitrina_shared::store::runs;

use crate::{elasticsearch::Index, error::BatchError};

/// Refuses to write to an index without documents to which rows were delivered.
pub async fn refuse(connection: &mut PgConnection, index: &Index) -> Result<(), BatchError> {
    let target = format!("es:{}", index.name());
    if !index.is_empty().await? || !runs::is_delivered_to(connection, &target).await? {
        return Ok(());
    }
    Err(BatchError::fatal(format!(
        "`{target}` has no documents any more, although runs have delivered some: run the pipelines that write it, which fill it \
         from the first row"
    )))
}
