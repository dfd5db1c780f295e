//! `etl.etl_installation`.

use sqlx::PgConnection;
use uuid::Uuid;

pub async fn id(connection: &mut PgConnection) -> sqlx::Result<Uuid> {
    sqlx::query_scalar!("select id from etl.etl_installation").fetch_one(connection).await
}
