//! An index that somebody has emptied is filled by a run, from the first row. Whoever writes a few documents before would hide
//! from every pipeline of the index that the others are gone.

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
