//! How many rows a run will read, by the planner's estimate, for whoever watches it.

use serde_json::Value;
use sqlx::PgConnection;
use vitrina_shared::{
    domain::Position,
    lifecycle::execution::HeldJob,
    store::{
        backends,
        runs::{self, BatchOutcome},
    },
};

use super::plan::{Bound, Plan};

/// Planning takes no longer than this, and writes nothing.
const LIMITED: &str = "begin read only; set local statement_timeout = '5s'; set local lock_timeout = '2s'";

/// Estimates what is left after a batch and notes the total on the run. After an error the caller gives the connection back.
pub(super) async fn total(
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldJob,
    outcome: &BatchOutcome,
) -> sqlx::Result<Option<i64>> {
    let left = rows_left(connection, plan, job, outcome)
        .await
        .inspect_err(|error| tracing::debug!(error = %error, "no estimate"))?;
    let Some(total) = left.map(|left| outcome.run_rows_read + left) else { return Ok(None) };
    runs::set_total(connection, job.batch.run_id, total).await?;
    Ok(Some(total))
}

async fn rows_left(
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldJob,
    outcome: &BatchOutcome,
) -> sqlx::Result<Option<i64>> {
    let explained = explain(connection, plan, job, &plan.estimate, outcome.last.as_ref()).await?;
    Ok(number(&explained, "Plan Rows").map(|rows| rows as i64))
}

/// The share of a page's cost that comes before its first row, by the planner's estimate: what a page costs however few rows
/// it has.
pub(super) async fn fixed_share(connection: &mut PgConnection, plan: &Plan, job: &HeldJob) -> Option<f64> {
    let explained = explain(connection, plan, job, &plan.page_query, job.batch.after.as_ref()).await;
    let explained = explained.inspect_err(|error| tracing::debug!(error = %error, "no estimate")).ok()?;
    Some(number(&explained, "Startup Cost")? / number(&explained, "Total Cost")?.max(f64::MIN_POSITIVE))
}

/// How the server would execute a query of the run's.
async fn explain(
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldJob,
    query: &str,
    after: Option<&Position>,
) -> sqlx::Result<Value> {
    let upper = runs::upper(connection, job.batch.run_id).await?;
    let mut tx = backends::begin(connection, job.batch.run_id.0, LIMITED).await?;
    let explained = sqlx::query_scalar("select etl_page.estimate($1, $2, $3, $4, $5)")
        .bind(query)
        .bind(after)
        .bind(&upper)
        .bind(plan.page_size)
        .bind(plan.bound == Bound::Clock)
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
    use vitrina_shared::{
        domain::{Mode, PipelineDraft, PipelineId, PipelineOptions, RunId, TaskKind},
        guard::{Describing, SourceSchemas},
        jobs::BatchJob,
        testing::TestDatabase,
    };

    use super::*;
    use crate::{batch::Reviewed, elasticsearch::SinkError};

    const TABLES: &str = "
        create schema content;
        grant usage on schema content to vitrina_query;
        create table content.item (id bigint primary key, name text not null);
        grant select on content.item to vitrina_query;
        insert into content.item select n, 'item ' || n % 5000 from generate_series(1, 20000) n;
        analyze content.item;
        create table analytics.item (id bigint primary key, name text not null);
        insert into etl.etl_targets (target, key) values ('analytics.item', '{id}');";

    fn full(query: &str) -> PipelineDraft {
        PipelineDraft {
            name: "items".to_owned(),
            description: String::new(),
            kind: TaskKind::Sql,
            mode: Mode::Full,
            source_query: Some(query.to_owned()),
            target_table: "analytics.item".to_owned(),
            batch_size: 100,
            incremental_key: None,
            incremental_id_key: None,
            enabled: true,
            options: PipelineOptions::default(),
            tasks: Vec::new(),
        }
    }

    async fn share(db: &TestDatabase, query: &str) -> f64 {
        let (run, schemas) = (RunId::generate(), SourceSchemas::new(["content".to_owned()]));
        let describing = Describing::new(db.pool().clone());
        let inputs = full(query);
        let reviewed =
            Reviewed::look(&mut db.pool().acquire().await.expect("a connection"), &describing, &inputs, &schemas)
                .await
                .expect("a good query");
        let plan =
            Plan::make((run, inputs.mode, None), &inputs, &reviewed, &Err(SinkError::fatal("there is none")), 1 << 20)
                .expect("a plan");
        let batch = BatchJob {
            pipeline_id: PipelineId::generate(),
            run_id: run,
            range: 0,
            batch: 0,
            after: None,
            attempt: 0,
            lost: 0,
            queued_us: None,
            correlation_id: String::new(),
            traceparent: None,
        };
        let job = HeldJob { id: "job".to_owned(), batch, worker: "worker".to_owned() };
        let mut connection = db.pool().acquire().await.expect("a connection");
        fixed_share(&mut connection, &plan, &job).await.expect("a plan of the server")
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
