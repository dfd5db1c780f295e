//! Marts that are changed by others between two runs, or while one is under way: what is removed is decided by how they are then.

use vitrina_shared::domain::{
    FullStrategy, Mode, PipelineId, ReportRequest, ReportStatus,
    report::{Depth, Repair},
};

use crate::support::{World, draft, eventually};

const CODES: &str = "select id, code from content.code";
const EXCHANGE: &str = "update content.code set code = case id when 1 then 'code 2' else 'code 1' end where id <= 2";
/// Rows of another table that go with those of the mart.
const CHILDREN: &str = "create table analytics.child (id bigint references analytics.code (id) on delete cascade);
                        insert into analytics.child select id from analytics.code";
/// Numbers that rows which are written anew would not get again.
const NUMBERS: &str = "alter table analytics.code add n bigint generated always as identity";
const KEPT: &str = "are not removed and written anew here";

/// A mart of four codes, each unique, whose pipeline has run.
async fn written(unique: &str, strategy: Option<FullStrategy>) -> (World, PipelineId) {
    let world = World::with_worker().await;
    world
        .sql(
            "create table content.code (id bigint primary key, code text not null);
             insert into content.code select n, 'code ' || n from generate_series(1, 4) n",
        )
        .await;
    world.target("code", &format!("id bigint, code text {unique}"), &["id"]).await;
    let mut draft = draft("codes", Mode::Full, CODES, "analytics.code", 10);
    draft.options.full_strategy = strategy;
    let pipeline = world.pipeline(&draft).await;
    world.succeeds(pipeline).await;
    world.sql(EXCHANGE).await;
    (world, pipeline)
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_another_table_refers_to_since_the_last_run_are_kept() {
    let (world, pipeline) = written("unique", Some(FullStrategy::Swap)).await;
    world.sql(CHILDREN).await;
    let error = world.fails(pipeline).await.error.unwrap();
    assert!(error.contains(KEPT), "{error}");
    assert_eq!(world.number("select count(*) from analytics.child").await, 4);
}

/// A change that is committed just before the mart would be written, of which the plan knows nothing.
async fn changed_at_the_last_moment(world: &World, change: &str, ask: impl AsyncFnOnce()) {
    let stranger = world.strangers(1);
    let mut tx = stranger.begin().await.unwrap();
    sqlx::raw_sql("lock table analytics.code in share row exclusive mode").execute(&mut *tx).await.unwrap();
    ask().await;
    let waiting = "select count(*) from pg_locks where relation = 'analytics.code'::regclass and not granted";
    eventually("a removal that waits", || async { (world.number(waiting).await > 0).then_some(()) }).await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(change.to_owned())).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_cannot_be_written_anew_since_the_run_began_are_kept() {
    for (change, kept) in
        [(CHILDREN, "select count(*) from analytics.child"), (NUMBERS, "select max(n) from analytics.code")]
    {
        let (world, pipeline) = written("unique", Some(FullStrategy::Swap)).await;
        let mut run = None;
        changed_at_the_last_moment(&world, change, async || run = Some(world.run(pipeline).await)).await;
        let error = world.ended(run.unwrap()).await.error.unwrap_or_default();
        assert!(error.contains(KEPT), "{change}: {error}");
        assert_eq!(world.number(kept).await, 4, "{change}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_keeps_rows_that_another_table_refers_to_since_it_began() {
    let (world, pipeline) = written("unique", Some(FullStrategy::Swap)).await;
    let mut report = None;
    let request = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All };
    changed_at_the_last_moment(&world, CHILDREN, async || report = Some(world.ask(pipeline, &request).await)).await;
    let report = world.reported(report.unwrap()).await;
    let error = report.error.unwrap_or_default();
    assert_eq!(report.status, ReportStatus::Failed);
    assert!(error.contains("Rows that exchange such values are not removed"), "{error}");
    assert_eq!(world.number("select count(*) from analytics.child").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_came_since_the_last_run_is_seen_by_the_next_one() {
    let (world, pipeline) = written("", None).await;
    // Now rows that exchange their codes cannot be written page by page.
    world.sql("create unique index on analytics.code (code)").await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 2);
    world.assert_same(CODES, "analytics.code").await;
}
