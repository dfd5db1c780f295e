//! What is not wanted any more ends: the statements of cancelled runs, of pauses past their deadline, of workers that stop,
//! and rows that are too long for a worker.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use vitrina_shared::domain::{
    ErrorClass, Mode, OnRowError, PipelineDraft, PipelineId, ReportRequest, RunStatus, Status, Task, TaskKind,
    report::{Depth, Repair},
};

use crate::support::{ITEMS, World, draft, eventually, eventually_within, items};

/// Never comes to an end while the gate is shut, and takes no disk meanwhile.
const GATED: &str = "select i.id, i.name, i.modified from content.item i
    where (select count(*) from content.item a, content.item b, content.item c, content.item d, content.item e,
                  content.item f, content.item g where (select shut from content.gate)) >= 0";

/// What is left to a cancelled statement before we say that it goes on.
const ENDS: Duration = Duration::from_secs(5);

/// A world with a gate, and a worker with these settings.
async fn gated(rows: i64, shut: bool, settings: &[(&str, &str)]) -> World {
    let mut world = World::new().await;
    world.items(1, rows).await;
    world.sql(&format!("create table content.gate as select {shut} as shut")).await;
    world.start_worker(settings);
    world
}

async fn shut(world: &World, shut: bool) {
    world.sql(&format!("update content.gate set shut = {shut}")).await;
}

/// How many sessions execute something for a run or report.
async fn active(world: &World, id: Uuid) -> i64 {
    world
        .number(&format!(
            "select count(*) from pg_stat_activity where datname = current_database() and state = 'active'
             and application_name = 'vitrina-worker {id}'"
        ))
        .await
}

async fn is_executed(world: &World, id: Uuid) {
    eventually("a statement under way", || async { (active(world, id).await > 0).then_some(()) }).await;
}

/// Waits until nothing is executed for any run or report.
async fn nothing_is_executed(world: &World) {
    let any = "select count(*) from pg_stat_activity where datname = current_database() and state = 'active'
               and application_name like 'vitrina-worker %'";
    eventually_within(ENDS, "the end of our statements", || async { (world.number(any).await == 0).then_some(()) })
        .await;
}

/// A pipeline whose rows pass through the worker.
pub fn masked(mut draft: PipelineDraft) -> PipelineDraft {
    let step = |order_index, task_type, body: &str, options: Value| Task {
        order_index,
        task_type,
        body: body.to_owned(),
        target_table: None,
        options: options.as_object().expect("an object").clone(),
    };
    let query = draft.source_query.take().expect("a query");
    let mask = json!({"columns": ["name"], "show_last": 1});
    draft.tasks = vec![step(1, TaskKind::Sql, &query, json!({})), step(2, TaskKind::Rust, "mask", mask)];
    draft
}

#[tokio::test(flavor = "multi_thread")]
async fn four_endless_runs_are_cancelled_and_an_honest_one_gets_a_slot() {
    let world = World::with_worker().await;
    world.items(1, 50).await;
    let endless = "select g as id, 'x' as name, now() as modified from generate_series(1, 1000000000000) g";
    let mut held = Vec::new();
    for number in 0..4 {
        let target = format!("endless{number}");
        world.target(&target, "id bigint, name text, modified timestamptz", &["id"]).await;
        let pipeline = world.pipeline(&draft(&target, Mode::Full, endless, &format!("analytics.{target}"), 100)).await;
        held.push((pipeline, world.run(pipeline).await));
    }
    for (_, run) in &held {
        is_executed(&world, run.0).await;
    }
    let honest = world.pipeline(&items("honest", Mode::Incremental, 20)).await;
    let waiting = world.run(honest).await;
    for (pipeline, _) in &held {
        assert_eq!(world.cancel(*pipeline).await.unwrap(), Status::Idle);
    }
    nothing_is_executed(&world).await;
    world.succeeded(waiting).await;
    for (pipeline, run) in held {
        assert_eq!(world.find(run).await.status, RunStatus::Cancelled);
        assert_eq!(world.find(run).await.attempts, 0, "a cancellation is no failed attempt");
        assert_eq!(world.show(pipeline).await.status, Status::Idle);
    }
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_its_statement_wherever_it_is_executed() {
    let world = gated(100, true, &[]).await;
    // By a key that is no time, the greatest one is looked up first.
    let by_name = PipelineDraft {
        incremental_key: Some("name".to_owned()),
        ..draft("greatest_key", Mode::Incremental, GATED, "analytics.item", 10)
    };
    let cases = [
        draft("pushed_down", Mode::Full, GATED, "analytics.item", 10),
        masked(draft("streamed", Mode::Full, GATED, "analytics.item", 10)),
        by_name,
    ];
    for case in cases {
        let name = case.name.clone();
        let pipeline = world.pipeline(&case).await;
        let run = world.run(pipeline).await;
        is_executed(&world, run.0).await;
        world.cancel(pipeline).await.unwrap();
        nothing_is_executed(&world).await;
        world.assert_no_litter().await;
        assert_eq!(world.find(run).await.status, RunStatus::Cancelled, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ended_unheard_is_noticed_by_its_worker() {
    let world = gated(100, true, &[]).await;
    let pipeline = world.pipeline(&draft("gated", Mode::Full, GATED, "analytics.item", 10)).await;
    let run = world.run(pipeline).await;
    is_executed(&world, run.0).await;
    // As if an API had died right after its commit.
    world
        .sql("update etl.etl_runs set status = 'CANCELLED', finished_at = now(); update etl.etl_pipelines set status = 'IDLE'")
        .await;
    nothing_is_executed(&world).await;
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_past_its_deadline_rolls_the_batch_back_and_the_run_goes_on_later() {
    let world = gated(50_000, false, &[("VITRINA_PAUSE_SECONDS", "1")]).await;
    let pipeline = world.pipeline(&draft("gated", Mode::Incremental, GATED, "analytics.item", 100)).await;
    let run = world.run(pipeline).await;
    eventually("some batches", || async { (world.find(run).await.batches > 1).then_some(()) }).await;
    shut(&world, true).await;
    is_executed(&world, run.0).await;
    assert_eq!(world.pause(pipeline).await.unwrap(), Status::PauseRequested);
    world.reaches(pipeline, Status::Paused).await;
    nothing_is_executed(&world).await;
    let resting = world.find(run).await;
    assert_eq!((resting.status, resting.attempts), (RunStatus::Paused, 0));
    assert_eq!(
        world.number("select count(*) from analytics.item").await,
        resting.rows_written,
        "half a batch is there"
    );
    world.assert_no_litter().await;

    shut(&world, false).await;
    assert_eq!(world.run(pipeline).await, run);
    let done = world.succeeded(run).await;
    assert_eq!((done.rows_read, done.attempts), (50_000, 0));
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_waits_for_a_batch_that_ends_in_time() {
    let world = gated(50_000, false, &[]).await;
    let pipeline = world.pipeline(&draft("gated", Mode::Incremental, GATED, "analytics.item", 100)).await;
    let run = world.run(pipeline).await;
    eventually("some batches", || async { (world.find(run).await.batches > 1).then_some(()) }).await;
    world.pause(pipeline).await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    let reason = world.text("select reason from etl.etl_transitions order by id desc limit 1").await;
    assert_eq!(reason.as_deref(), Some("paused between batches"));
    assert_eq!(world.find(run).await.attempts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_somebody_else_cancels_is_repeated_and_says_so() {
    let world = gated(100, true, &[]).await;
    let pipeline = world.pipeline(&draft("gated", Mode::Full, GATED, "analytics.item", 10)).await;
    let run = world.run(pipeline).await;
    is_executed(&world, run.0).await;
    shut(&world, false).await;
    world
        .sql(&format!(
            "select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'vitrina-worker {run}'"
        ))
        .await;
    let done = world.succeeded(run).await;
    assert_eq!(done.attempts, 1);
    let error = done.error.expect("the failed attempt is noted");
    assert!(error.starts_with("the statement was cancelled on the server"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_cancels_what_does_not_end_and_others_go_on() {
    let mut world = gated(100, true, &[]).await;
    world.stop_workers().await;
    let worker = world.worker(&[("VITRINA_DRAIN_SECONDS", "1")]);
    let pipeline = world.pipeline(&draft("gated", Mode::Full, GATED, "analytics.item", 10)).await;
    world.target("streamed", "id bigint, name text, modified timestamptz", &["id"]).await;
    let streamed = world.pipeline(&masked(draft("streamed", Mode::Full, GATED, "analytics.streamed", 10))).await;
    let runs = [world.run(pipeline).await, world.run(streamed).await];
    for run in runs {
        is_executed(&world, run.0).await;
    }
    worker.stop.cancel();
    worker.ended().await;
    nothing_is_executed(&world).await;
    shut(&world, false).await;
    world.start_worker(&[]);
    for run in runs {
        let done = world.succeeded(run).await;
        assert_eq!(done.attempts, 0, "{:?}", done.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_cancels_its_reports() {
    let mut world = gated(100, true, &[]).await;
    let pipeline = world.pipeline(&draft("gated", Mode::Full, GATED, "analytics.item", 10)).await;
    let preview = world.ask(pipeline, &ReportRequest::preview(5)).await;
    let comparison =
        world.ask(pipeline, &ReportRequest::Reconcile { depth: Depth::Keys, repair: Repair::Nothing }).await;
    is_executed(&world, preview.0).await;
    is_executed(&world, comparison.0).await;
    world.stop_workers().await;
    nothing_is_executed(&world).await;
    shut(&world, false).await;
    world.start_worker(&[]);
    world.result(preview).await;
    world.result(comparison).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_cannot_be_interrupted_does_not_keep_its_slot() {
    let mut world = World::new().await;
    world.items(1, 50).await;
    world.start_worker(&[("VITRINA_CONCURRENCY", "1")]);
    // The server computes this while it plans, and does not look up meanwhile.
    let bomb = "select id, name, modified from content.item
                where name = (repeat('a & ', 300000) || 'a')::tsquery::text or id > 0";
    let pipeline = world.pipeline(&draft("bomb", Mode::Incremental, bomb, "analytics.item", 10)).await;
    world.target("honest", "id bigint, name text, modified timestamptz", &["id"]).await;
    let honest = world.pipeline(&draft("honest", Mode::Incremental, ITEMS, "analytics.honest", 10)).await;
    let run = world.run(pipeline).await;
    is_executed(&world, run.0).await;
    world.cancel(pipeline).await.unwrap();
    world.succeeds(honest).await;
    assert_eq!(active(&world, run.0).await, 1, "the statement could be interrupted, and the test shows nothing");
    assert_eq!(world.find(run).await.status, RunStatus::Cancelled);
    let ends = Duration::from_secs(300);
    eventually_within(ends, "the end of the statement", || async { (active(&world, run.0).await == 0).then_some(()) })
        .await;
}

/// A stable function that calls a volatile one with this body: PostgreSQL looks only at the outer one.
async fn meddler(world: &World, body: &str) -> PipelineId {
    world
        .sql(&format!(
            "create function content.meddle_inside() returns text volatile language plpgsql as $$ {body} $$;
             create function content.meddle() returns text stable language plpgsql
                 as $$ begin return content.meddle_inside(); end $$;"
        ))
        .await;
    let query = "select id, content.meddle() as name, modified from content.item";
    world.pipeline(&draft("meddler", Mode::Incremental, query, "analytics.item", 10)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_swallows_its_cancellation_and_renames_its_session_is_ended_with_it() {
    let mut world = World::new().await;
    world.items(1, 5).await;
    world.start_worker(&[]);
    let pipeline = meddler(
        &world,
        "begin
            perform set_config('application_name', 'nobody', true);
            perform set_config('client_connection_check_interval', '0', true);
            loop
                begin
                    perform pg_sleep(3600);
                exception when query_canceled then null;
                end;
            end loop;
        end",
    )
    .await;
    world.run(pipeline).await;
    let asleep =
        "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'nobody'";
    eventually("a session of another name", || async { (world.number(asleep).await == 1).then_some(()) }).await;
    world.cancel(pipeline).await.unwrap();
    eventually("the end of the session", || async { (world.number(asleep).await == 0).then_some(()) }).await;
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_ends_its_own_session_again_and_again_fails_its_run() {
    let mut world = World::new().await;
    world.items(1, 5).await;
    world.start_worker(&[]);
    for raised in ["57P01", "VT001"] {
        let body = format!(
            "begin
                perform set_config('exit_on_error', 'on', true);
                raise exception using errcode = '{raised}', message = 'the end';
            end"
        );
        let pipeline = meddler(&world, &body).await;
        let run = world.fails(pipeline).await;
        let error = run.error.unwrap();
        assert!(error.starts_with("the server ended the session 6 times"), "{error}");
        world
            .sql("drop function content.meddle(); drop function content.meddle_inside(); delete from etl.etl_pipelines")
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_preview_of_a_pipeline_waits_and_one_of_another_does_not() {
    let world = gated(100, true, &[]).await;
    let gated = world.pipeline(&draft("gated", Mode::Full, GATED, "analytics.item", 10)).await;
    let other = world.pipeline(&items("other", Mode::Full, 10)).await;
    let first = world.ask(gated, &ReportRequest::preview(5)).await;
    is_executed(&world, first.0).await;
    let second = world.ask(gated, &ReportRequest::preview(5)).await;
    world.report(other, &ReportRequest::preview(5)).await;
    assert_eq!(active(&world, second.0).await, 0);
    shut(&world, false).await;
    world
        .sql(&format!(
            "select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'vitrina-worker {first}'"
        ))
        .await;
    world.result(first).await;
    world.result(second).await;
}

/// Items of which the third has a name of two megabytes.
async fn long_row(on_row_error: Option<OnRowError>) -> (World, PipelineId) {
    let mut world = World::new().await;
    world.items(1, 5).await;
    world.sql("update content.item set name = repeat('x', 2 * 1024 * 1024) where id = 3").await;
    world.start_worker(&[("VITRINA_MAX_ROW_BYTES", "1048576")]);
    let mut pipeline = masked(items("long", Mode::Incremental, 10));
    pipeline.options.on_row_error = on_row_error;
    let pipeline = world.pipeline(&pipeline).await;
    (world, pipeline)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_too_long_for_a_worker_fails_its_run_by_name() {
    let (world, pipeline) = long_row(None).await;
    let run = world.fails(pipeline).await;
    assert_eq!(run.error_class, Some(ErrorClass::Row));
    let error = run.error.unwrap_or_default();
    let says = |part: &str| assert!(error.contains(part), "{part} in {error}");
    ["row 3", "2097", "1048576", "VITRINA_MAX_ROW_BYTES"].into_iter().for_each(says);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_too_long_is_put_aside_by_its_key_until_it_is_shorter() {
    let (world, pipeline) = long_row(Some(OnRowError::DeadLetter)).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written, run.rows_rejected), (5, 4, 1));
    let letter = "select key::text || ' ' || row::text || ' ' || (error like '%VITRINA_MAX_ROW_BYTES%') from etl.etl_dead_letters";
    let kept = Some(r#"{"id": 3} {"id": 3} true"#);
    assert_eq!(world.text(letter).await.as_deref(), kept);

    let replayed = world.report(pipeline, &ReportRequest::Replay { ids: None }).await;
    assert_eq!((&replayed["refused"], &replayed["written"]), (&json!(1), &json!(0)), "{replayed}");
    assert_eq!(world.text(letter).await.as_deref(), kept);

    world.sql("update content.item set name = 'short' where id = 3").await;
    let replayed = world.report(pipeline, &ReportRequest::Replay { ids: None }).await;
    assert_eq!(replayed["written"], json!(1), "{replayed}");
    assert_eq!(world.text("select name from analytics.item where id = 3").await.as_deref(), Some("****t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_stays_on_the_server_may_be_long() {
    let (world, _) = long_row(None).await;
    let pipeline = world.pipeline(&items("pushed", Mode::Incremental, 10)).await;
    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
}
