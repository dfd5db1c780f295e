//! Tables of `analytics` that are made from the columns of a query.

use sqlx::{PgConnection, postgres::types::Oid};

/// A table to be made. Names are quoted by the server, types are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMart {
    pub table: String,
    pub columns: Vec<String>,
    pub types: Vec<u32>,
    pub key: Vec<String>,
}

impl NewMart {
    fn oids(&self) -> Vec<Oid> {
        self.types.iter().copied().map(Oid).collect()
    }
}

/// The statement that would create it.
pub async fn ddl(connection: &mut PgConnection, mart: &NewMart) -> sqlx::Result<String> {
    sqlx::query_scalar!(
        r#"select etl_page.mart_ddl($1, $2, $3, $4) as "ddl!""#,
        mart.table,
        &mart.columns,
        &mart.oids(),
        &mart.key,
    )
    .fetch_one(connection)
    .await
}

/// Creates it, with the rights of the role that writes marts, and returns the statement.
pub async fn create(connection: &mut PgConnection, mart: &NewMart) -> sqlx::Result<String> {
    sqlx::query_scalar!(
        r#"select etl_mart.create_mart($1, $2, $3, $4) as "ddl!""#,
        mart.table,
        &mart.columns,
        &mart.oids(),
        &mart.key,
    )
    .fetch_one(connection)
    .await
}
