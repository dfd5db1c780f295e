//! Every pipeline at a glance, for metrics.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::domain::{Mode, Status};

/// What `/metrics` shows of a pipeline.
#[derive(Debug)]
pub struct Glance {
    pub name: String,
    pub status: Status,
    pub enabled: bool,
    pub mode: Mode,
    /// The label of the target's kind (`etl.sink_of`).
    pub sink: String,
    /// The key up to which it is written.
    pub checkpoint_key: Option<String>,
    /// Rows that were put aside and wait: 10,000 where there are more.
    pub open_dead_letters: i64,
    /// Transactions whose rows will be read again.
    pub rereads: i64,
    pub rereads_from: Option<DateTime<Utc>>,
}

/// Reads all pipelines at a glance. Whatever they did, it costs a bounded number of rows each.
pub async fn glance(connection: &mut PgConnection) -> sqlx::Result<Vec<Glance>> {
    sqlx::query_as!(
        Glance,
        r#"
        select p.name, p.status as "status: Status", p.enabled, p.mode as "mode: Mode",
               etl.sink_of(jsonb_build_object('target_table', coalesce(
                   (select t.target_table from etl.etl_pipeline_tasks t
                    where t.pipeline_id = p.id order by t.order_index desc limit 1),
                   p.target_table
               ))) as "sink!",
               s.checkpoint_key as "checkpoint_key?",
               (select count(*) from (
                   select from etl.etl_dead_letters d where d.pipeline_id = p.id and d.replayed_at is null limit 10000
               ) as open) as "open_dead_letters!",
               (select count(*) from etl.etl_rereads w where w.pipeline_id = p.id) as "rereads!",
               (select min(w.from_key) from etl.etl_rereads w where w.pipeline_id = p.id) as rereads_from
        from etl.etl_pipelines p
        left join etl.etl_state s on s.pipeline_id = p.id
        order by p.name
        "#
    )
    .fetch_all(connection)
    .await
}
