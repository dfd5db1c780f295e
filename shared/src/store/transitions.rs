//! `etl.etl_transitions`: the append-only log of status changes. Entries are written with the change itself (`store/status.rs`).

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::domain::{PipelineId, RunId, Status};

/// One status change.
#[derive(Debug, Clone)]
pub struct Transition {
    /// Its place in the log; ids appear in commit order.
    pub id: i64,
    pub pipeline_id: PipelineId,
    /// Its name at that time.
    pub pipeline: String,
    /// The run it was about, if any.
    pub run_id: Option<RunId>,
    pub from_status: Status,
    pub to_status: Status,
    pub actor: String,
    pub reason: String,
    /// The request it came from.
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
