//! `etl.etl_transitions`: the append-only log of status changes. Entries are written with the change itself (`store/status.rs`).

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::interval;
use crate::domain::{PipelineId, RunId, Status};

#[derive(Debug, Clone)]
pub struct Transition {
    /// Its place in the log; ids appear in commit order.
    pub id: i64,
    pub pipeline_id: PipelineId,
    /// Its name at that time.
    pub pipeline: String,
    pub run_id: Option<RunId>,
    pub from_status: Status,
    pub to_status: Status,
    pub actor: String,
    pub reason: String,
    pub correlation_id: Option<String>,
    pub at: DateTime<Utc>,
}

/// Reads up to `limit` entries after the given one, of one pipeline or of all.
pub async fn after(
    connection: &mut PgConnection,
    id: i64,
    pipeline: Option<PipelineId>,
    limit: i64,
) -> sqlx::Result<Vec<Transition>> {
    sqlx::query_as!(
        Transition,
        r#"
        select id, pipeline_id as "pipeline_id: PipelineId", pipeline, run_id as "run_id: RunId",
               from_status as "from_status: Status", to_status as "to_status: Status", actor, reason,
               correlation_id, at
        from etl.etl_transitions
        where id > $1 and ($2::uuid is null or pipeline_id = $2)
        order by id
        limit $3
        "#,
        id,
        pipeline as Option<PipelineId>,
        limit,
    )
    .fetch_all(connection)
    .await
}

/// The id after which the newest `last` entries follow, of one pipeline or of all; 0 if that is all of them.
pub async fn before_last(connection: &mut PgConnection, pipeline: Option<PipelineId>, last: i64) -> sqlx::Result<i64> {
    let id = sqlx::query_scalar!(
        r#"
        select id
        from etl.etl_transitions
        where $1::uuid is null or pipeline_id = $1
        order by id desc
        offset $2
        limit 1
        "#,
        pipeline as Option<PipelineId>,
        last,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.unwrap_or(0))
}

/// The greatest id that was ever removed; 0 if none was. A reader that resumes before it may have missed entries.
pub async fn removed_up_to(connection: &mut PgConnection) -> sqlx::Result<i64> {
    let up_to = sqlx::query_scalar!("select up_to from etl.etl_log_removed").fetch_optional(connection).await?;
    Ok(up_to.unwrap_or(0))
}

/// Removes up to `most` entries that are older than `keep`, oldest first. Returns how many. The last entry of a pipeline and
/// those of unfinished runs stay.
pub async fn prune(connection: &mut PgConnection, keep: Duration, most: i64) -> sqlx::Result<u64> {
    let pruned = sqlx::query_scalar!(r#"select etl.prune_log($1, $2) as "pruned!""#, interval(keep), most);
    Ok(pruned.fetch_one(connection).await?.unsigned_abs())
}
