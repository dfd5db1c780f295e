//! Whether tables and views are still as they were when something was found out about them.

use sqlx::PgConnection;

#[derive(Debug)]
pub struct Catalog {
    pub relations: Vec<String>,
    /// What `etl.catalog_of` said of them.
    pub fingerprint: String,
}

pub async fn read(connection: &mut PgConnection, relations: Vec<String>) -> sqlx::Result<Catalog> {
    let fingerprint =
        sqlx::query_scalar!(r#"select etl.catalog_of($1) as "fingerprint!""#, &relations).fetch_one(connection).await?;
    Ok(Catalog { relations, fingerprint })
}
