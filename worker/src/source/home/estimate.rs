//! What the planner expects of the rest of a run.

use serde_json::Value;
use sqlx::PgConnection;
use vitrina_shared::{domain::RunId, store::backends};

use super::PageSql;
use crate::{
    error::BatchError,
    source::{Bound, PageQuery, Walk},
};

/// Planning takes no longer than this, and writes nothing.
const LIMITED: &str = "begin read only; set local statement_timeout = '5s'; set local lock_timeout = '2s'";

/// A run, how it walks, and the page that it stands before.
type Estimated<'a> = (RunId, &'a Walk, &'a PageQuery);

pub async fn rows_left(home: &mut PgConnection, of: Estimated<'_>) -> Result<Option<i64>, BatchError> {
    let explained = explain(home, of, &PageSql::of(of.1).all_rows()).await?;
    Ok(number(&explained, "Plan Rows").map(|rows| rows as i64))
}

/// The share of the page's cost that comes before its first row.
pub async fn fixed_share(home: &mut PgConnection, of: Estimated<'_>) -> Result<Option<f64>, BatchError> {
    let explained = explain(home, of, &PageSql::of(of.1).rows()).await?;
    let costs = number(&explained, "Startup Cost").zip(number(&explained, "Total Cost"));
    Ok(costs.map(|(startup, total)| startup / total.max(f64::MIN_POSITIVE)))
}

/// How the server would execute a query of the run's.
async fn explain(home: &mut PgConnection, (run, walk, page): Estimated<'_>, query: &str) -> Result<Value, BatchError> {
    let mut tx = backends::begin(home, run.0, LIMITED).await?;
    let explained = sqlx::query_scalar("select etl_page.estimate($1, $2, $3, $4, $5)")
        .bind(query)
        .bind(&page.after)
        .bind(&page.upper)
        .bind(walk.page_size)
        .bind(walk.bound == Bound::Clock)
        .fetch_one(&mut *tx)
        .await?;
    tx.rollback().await?;
    Ok(explained)
}

fn number(explained: &Value, name: &str) -> Option<f64> {
    explained.pointer("/0/Plan")?.get(name)?.as_f64()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vitrina_shared::{
        guard::{self, Describing, Description, SourceSchemas},
        testing::TestDatabase,
        validation::Reader,
    };

    use super::*;
    use crate::source::{RowForm, WalkColumn};

    const TABLES: &str = "
        create schema content;
        grant usage on schema content to vitrina_query;
        create table content.item (id bigint primary key, name text not null);
        grant select on content.item to vitrina_query;
        insert into content.item select n, 'item ' || n % 5000 from generate_series(1, 20000) n;
        analyze content.item;";

    /// Walks by the id.
    async fn walk(db: &TestDatabase, query: &str) -> Walk {
        let schemas = SourceSchemas::new(["content".to_owned()]);
        let query = guard::parse(query, &schemas).expect("a query");
        let described = Describing::new(db.pool().clone()).describe(query, (None, None), &schemas).await;
        let (query, Description { columns, types, relations, origins, unsteady }) = described.expect("a good query");
        let reader = Reader {
            query,
            arriving: columns.clone(),
            stages: Vec::new(),
            columns,
            types,
            relations,
            origins,
            unsteady,
        };
        Walk {
            columns: WalkColumn::find("id", &reader).into_iter().collect(),
            reader: Arc::new(reader),
            bound: Bound::None,
            versions: Vec::new(),
            settles_by: Bound::None,
            starts_over: false,
            null_keys_first: false,
            ties_again: false,
            lookback_seconds: 0,
            page_size: 100,
            key: Vec::new(),
            keys_once: false,
            form: RowForm::ReadBack,
            max_row_bytes: 1 << 20,
        }
    }

    async fn share(db: &TestDatabase, query: &str) -> f64 {
        let walk = walk(db, query).await;
        let mut connection = db.pool().acquire().await.expect("a connection");
        let first = PageQuery { after: None, upper: None };
        let share = fixed_share(&mut connection, (RunId::generate(), &walk, &first)).await;
        share.expect("a plan of the server").expect("costs")
    }

    #[tokio::test]
    async fn the_cost_of_an_aggregate_is_in_its_page_and_that_of_a_walk_by_an_index_in_its_rows() {
        let db = TestDatabase::create().await;
        sqlx::raw_sql(TABLES).execute(db.admin()).await.expect("tables");
        let walk = share(&db, "select id, name from content.item").await;
        assert!(walk < 0.2, "{walk}");
        let aggregate = share(&db, "select max(id) as id, name from content.item group by name").await;
        assert!(aggregate > 0.8, "{aggregate}");
        let no_index = share(&db, "select id + 1 as id, name from content.item").await;
        assert!(no_index > 0.8, "{no_index}");
    }
}
