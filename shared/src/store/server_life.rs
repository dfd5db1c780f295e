//! Since when the server is what it is: it tells a restart from a crash, and both from a broken connection.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLife {
    /// Another time once it was stopped and started, or another server has taken over.
    pub started: DateTime<Utc>,
    /// Another time once a session crashed and all others with it: the server goes on, without its statistics.
    pub recovered: Option<DateTime<Utc>>,
}

pub async fn read(connection: &mut PgConnection) -> sqlx::Result<ServerLife> {
    sqlx::query_as!(
        ServerLife,
        r#"
        select pg_postmaster_start_time() as "started!", (select max(stats_reset) from pg_stat_bgwriter) as recovered
        "#
    )
    .fetch_one(connection)
    .await
}
