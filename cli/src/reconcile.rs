//! Compares a mart with its source, row by row, on the server.

use sqlx::{AssertSqlSafe, Connection, PgPool};
use vitrina_shared::{
    domain::PipelineRef,
    guard::{ParameterTypes, SourceSchemas},
    process::Failure,
    store::pipelines,
    validation::{self, Reader},
};

/// How many rows the source has that the mart lacks, and the other way round, in one snapshot.
pub async fn differing_rows(db: &PgPool, name: &str, schemas: &SourceSchemas) -> Result<i64, Failure> {
    let mut connection = db.acquire().await?;
    let pipeline = pipelines::find(&mut connection, &PipelineRef::Name(name.to_owned())).await?;
    let draft = pipeline.ok_or_else(|| format!("there is no pipeline `{name}`"))?.draft;
    let review = validation::review(db, db, &draft, schemas).await?;
    let reader = review.reader.ok_or_else(|| format!("the query of `{name}` is refused: {:?}", review.problems))?;
    let (table, _) = draft.final_target();
    let target =
        vitrina_shared::store::targets::columns(&mut connection, table.trim_start_matches("analytics.")).await?;
    let columns: Vec<_> = target
        .iter()
        .filter(|own| reader.columns.iter().any(|column| column.name == own.name))
        .map(|own| format!("\"{}\"::{}", own.name.replace('"', "\"\""), own.type_name))
        .collect();
    let columns = columns.join(", ");
    let source = whole_query(&reader, draft.incremental_key.as_deref(), draft.incremental_id_key.as_deref());
    let statement = format!(
        "with source as materialized (select {columns} from ({source}) as source),
              target as materialized (select {columns} from {table})
         select (select count(*) from (table source except all table target) as missing)
              + (select count(*) from (table target except all table source) as extra)"
    );
    // A query that pages by itself gets one page without bounds.
    let mut tx = connection.begin_with("begin read only").await?;
    sqlx::raw_sql("set local role vitrina_mart; set local search_path = pg_catalog, pg_temp").execute(&mut *tx).await?;
    let differing = sqlx::query_scalar(AssertSqlSafe(statement))
        .bind(None::<String>)
        .bind(None::<String>)
        .bind("infinity")
        .bind(i64::MAX)
        .fetch_one(&mut *tx)
        .await?;
    tx.rollback().await?;
    Ok(differing)
}

/// The query, with parameters where it pages by itself.
fn whole_query(reader: &Reader, key: Option<&str>, id: Option<&str>) -> String {
    let type_of = |name: Option<&str>| {
        let column = reader.columns.iter().find(|column| Some(column.name.as_str()) == name);
        column.map_or("text".to_owned(), |column| column.type_name.clone())
    };
    let types = ParameterTypes { key: type_of(key), id: type_of(id) };
    // Named although unused, so that every query takes the same four.
    format!(
        "select * from ({}) as q where $1::text is null and $2::text is null and $3::text is not null and $4::bigint > 0",
        reader.query.render(&types)
    )
}
