//! A checkpoint says how far *one* index was written: the one of the run that moved it, by the ids of its cluster and of
//! itself. An index may be removed and made anew, emptied, exchanged behind its alias or restored from a snapshot, and a
//! worker may be sent to another cluster. Then the checkpoint says nothing about what is there now, and the run begins at
//! the first row.

use sqlx::PgConnection;
use vitrina_shared::store::runs::{self, OpenRun};

use super::IndexSink;
use crate::sink::{BatchError, Prepared};

/// Prepares the index of a run. One that goes on must find the index that it began with.
pub(super) async fn bind(
    connection: &mut PgConnection,
    sink: &IndexSink,
    run: &OpenRun,
) -> Result<Prepared, BatchError> {
    let target_id = sink.find(run.id, run.target_id.as_deref()).await?;
    if run.started_at.is_some() || sink.rebuilds {
        return Ok(Prepared { target_id: Some(target_id), anew: false });
    }
    // Before the first document: afterwards the other pipelines of the index would not see that it was empty.
    let emptied = sink.index.is_empty().await? && runs::part_from_emptied(connection, &target_id).await?;
    let reason = match run.checkpoint_from {
        None => None,
        Some(_) if run.checkpoint_of.as_ref() != Some(&target_id) => Some("the checkpoint is of another index"),
        Some(_) => emptied.then_some("the index was emptied"),
    };
    if let Some(reason) = reason {
        let (target, of) = (target_id.as_str(), run.checkpoint_of.as_deref());
        tracing::warn!(index = target, checkpoint_of = of, reason, "the run begins at the first row");
    }
    Ok(Prepared { target_id: Some(target_id), anew: reason.is_some() })
}
