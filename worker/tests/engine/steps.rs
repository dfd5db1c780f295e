//! What a step may do to rows and to a run, and what the engine does not let it do.

use std::time::Duration;

use serde_json::{Value, json};
use vitrina_shared::domain::{
    ErrorClass, FullStrategy, Mode, OnRowError, PipelineDraft, ReportRequest, ReportStatus,
    report::{Depth, Repair},
};

use crate::{
    scripted::{Seen, scripted},
    support::{ITEMS, World, draft, eventually, items},
};

/// What the step makes of the items.
const CAPITALS: &str = "select id, upper(name), modified from content.item";

/// A world whose worker has the scripted step.
async fn world() -> (World, Seen) {
    let mut world = World::new().await;
    let seen = Seen::by(world.db.pool().clone());
    world.steps = seen.registry();
    world.start_worker(&[]);
    (world, seen)
}

fn dead_letters(mut draft: PipelineDraft) -> PipelineDraft {
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    draft
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_gets_blocks_of_rows_and_those_that_it_rejects_become_dead_letters() {
    let (world, seen) = world().await;
    world.items(1, 300).await;
    world
        .sql("update content.item set name = case when id % 100 = 0 then 'bad' else 'good' end || repeat('x', 5000)")
        .await;
    world.target("priced", "id bigint, name text, modified timestamptz, price numeric", &["id"]).await;
    let query = "select id, name, modified, 12345678901234567890.10 + id as price from content.item";
    for (name, mode) in [("incremental", Mode::Incremental), ("full", Mode::Full)] {
        world.sql("truncate analytics.priced; truncate etl.etl_dead_letters").await;
        let before = seen.executions().len();
        let draft = scripted(draft(name, mode, query, "analytics.priced", 150), json!({"does": "reject"}));
        let pipeline = world.pipeline(&dead_letters(draft)).await;
        let run = world.succeeds(pipeline).await;

        assert_eq!((run.rows_read, run.rows_written, run.rows_rejected), (300, 297, 3), "{name}");
        let good = query.replace("name,", "upper(name),") + " where id % 100 > 0";
        world.assert_same(&good, "analytics.priced").await;
        let letters =
            "select string_agg((key ->> 'id') || left(row ->> 'name', 4) || right(error, 10), ' ' order by id)
                       from etl.etl_dead_letters";
        let expected = "100badxis refused 200badxis refused 300badxis refused";
        assert_eq!(world.text(letters).await.as_deref(), Some(expected), "{name}");
        // By this everyone knows that words are the step's, and may quote a row.
        let marked = "select count(*) from etl.etl_dead_letters where error like 'step `scripted` says: %'";
        assert_eq!(world.number(marked).await, 3, "{name}");
        let executions = &seen.executions()[before..];
        assert_eq!(executions.iter().map(|execution| execution.rows).sum::<usize>(), 300, "{name}");
        assert!(executions.len() > 3, "two pages of 750 KB are more than three blocks, not {}", executions.len());
        for execution in executions {
            let context = &execution.context;
            assert_eq!((context.pipeline, context.id), (pipeline, run.id.0), "{name}");
            assert_eq!(context.correlation_id, "test");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_class_of_a_steps_error_decides_what_becomes_of_the_run() {
    let (world, seen) = world().await;
    world.items(1, 10).await;
    for class in [ErrorClass::Quota, ErrorClass::Fatal, ErrorClass::Row] {
        let before = seen.executions().len();
        let draft = scripted(items(class.as_str(), Mode::Incremental, 5), json!({"does": {"fail": class.as_str()}}));
        let pipeline = world.pipeline(&draft).await;
        let run = world.fails(pipeline).await;
        assert_eq!(run.error_class, Some(class));
        assert_eq!(run.error.as_deref(), Some("step `scripted` says: on purpose"));
        assert_eq!(seen.executions().len() - before, 1, "{class}: it is executed once");
        assert_eq!(world.number("select count(*) from analytics.item").await, 0, "{class}: nothing is written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_step_fails_for_a_while_is_tried_again_and_not_before_it_may() {
    for (class, rest) in [(ErrorClass::Transient, 1), (ErrorClass::RateLimited, 2)] {
        let (world, seen) = world().await;
        world.items(1, 10).await;
        let options = json!({"does": {"fail_once": class.as_str()}});
        let pipeline = world.pipeline(&scripted(items("again", Mode::Full, 20), options)).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_written, run.attempts), (10, 1), "{class}");
        let executions = seen.executions();
        let rested = executions[1].at - executions[0].at;
        assert!(rested >= Duration::from_secs(rest), "{class}: {rested:?}");
        world.assert_same(CAPITALS, "analytics.item").await;
    }
}

/// A job that waits for longer than recovery expects of any is taken for one of a clock that was set back, and made due.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_asked_to_rest_for_an_hour_rests_for_a_minute_and_recovery_lets_it() {
    let (world, seen) = world().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&scripted(items("tired", Mode::Full, 20), json!({"does": {"rest": 3600}}))).await;
    let run = world.run(pipeline).await;
    let due = "select run_at from apalis.jobs where status = 'Pending' and run_at > now() + interval '30 seconds'";
    let until = eventually("a job that rests", || world.text(due)).await;
    let within = "select count(*) from apalis.jobs where run_at <= now() + interval '60 seconds'";
    assert_eq!(world.number(within).await, 1);
    let beat = "select max(last_seen) from apalis.workers";
    for _ in 0..5 {
        let before = world.text(beat).await;
        eventually("a heartbeat", || async { (world.text(beat).await != before).then_some(()) }).await;
    }
    assert_eq!(world.text(due).await, Some(until));
    assert_eq!((seen.executions().len(), world.find(run).await.attempts), (1, 1));
}

/// What a step did outside cannot be undone.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_job_was_given_away_executes_no_step_of_the_next_page() {
    let mut world = World::new().await;
    let seen = Seen::by(world.db.pool().clone());
    world.steps = seen.registry();
    world.items(1, 20).await;
    // With the first of several batches the job becomes another worker's, which does nothing with it and is missed late.
    world
        .sql(
            "create function public.give_away() returns trigger language plpgsql security definer as $$ begin
                 insert into apalis.workers (id, worker_type, storage_name) values ('another', 'vitrina:batches', 'test');
                 update apalis.jobs set lock_by = 'another', status = 'Running' where id = new.job_id;
                 return null;
             end $$;
             create trigger give_away after update on etl.etl_run_ranges for each row
                 when (new.next_batch = 1 and new.finished_at is null) execute function public.give_away()",
        )
        .await;
    world.target("other", "id bigint, name text, modified timestamptz", &["id"]).await;
    let other = world.pipeline(&draft("other", Mode::Full, ITEMS, "analytics.other", 100)).await;
    let pipeline = world.pipeline(&scripted(items("given", Mode::Incremental, 10), json!({"does": "nothing"}))).await;
    world.start_worker(&[("VITRINA_HEARTBEAT_SECONDS", "30"), ("VITRINA_CONCURRENCY", "1")]);
    let run = world.run(pipeline).await;
    eventually("the first batch", || async { (world.find(run).await.batches == 1).then_some(()) }).await;
    // It gets the worker's only slot when that has let go of the first job.
    world.succeeds(other).await;
    assert_eq!(world.find(run).await.batches, 1);
    assert_eq!(seen.executions().iter().map(|execution| execution.rows).sum::<usize>(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_mart_during_its_review_is_reviewed_by_the_next_run() {
    let (world, _) = world().await;
    world.items(1, 10).await;
    world.sql("create table public.reviewed (n int)").await;
    // Harmless, and yet another entry of the catalog.
    let change =
        "insert into public.reviewed values (1); alter table analytics.item alter column name set statistics 50";
    let options = json!({"does": "nothing", "during_review": [world.db.owner_url(), change]});
    let pipeline = world.pipeline(&scripted(items("changed", Mode::Full, 20), options)).await;
    for reviews in 1..=2 {
        world.succeeds(pipeline).await;
        assert_eq!(world.number("select count(*) from public.reviewed").await, reviews);
    }
}

async fn refusal(world: &World, pipeline: vitrina_shared::domain::PipelineId, request: &ReportRequest) -> String {
    let report = world.ask(pipeline, request).await;
    let report = world.reported(report).await;
    assert_eq!((report.status, report.error_class), (ReportStatus::Failed, Some(ErrorClass::Fatal)), "{request:?}");
    report.error.unwrap()
}

fn reconcile(depth: Depth, repair: Repair) -> ReportRequest {
    ReportRequest::Reconcile { depth, repair }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_do_not_execute_a_step_that_is_not_pure() {
    let (world, seen) = world().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&scripted(items("impure", Mode::Full, 20), json!({"does": "nothing"}))).await;
    world.succeeds(pipeline).await;
    let executed = seen.executions().len();
    for request in [
        ReportRequest::preview(3),
        ReportRequest::Replay { ids: None },
        reconcile(Depth::Rows, Repair::Nothing),
        reconcile(Depth::Keys, Repair::Differing),
    ] {
        let error = refusal(&world, pipeline, &request).await;
        assert!(error.ends_with("`scripted` is not pure: run the pipeline instead"), "{request:?}: {error}");
    }
    // Of these the server knows enough.
    for depth in [Depth::Counts, Depth::Keys] {
        assert_eq!(world.report(pipeline, &reconcile(depth, Repair::Nothing)).await["verdict"], "match");
    }
    assert_eq!(seen.executions().len(), executed);

    let pure = scripted(items("pure", Mode::Incremental, 20), json!({"pure": true, "does": "nothing"}));
    let pure = world.pipeline(&pure).await;
    let preview = world.report(pure, &ReportRequest::preview(3)).await;
    assert_eq!(preview["rows"][0]["name"], "ITEM 1", "{preview}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_a_step_drops_is_not_in_the_mart_after_a_full_run() {
    let (world, _) = world().await;
    world.items(1, 10).await;
    let options = json!({"pure": true, "drops": true, "does": "leave_out"});
    let pipeline = world.pipeline(&scripted(items("dropping", Mode::Full, 4), options)).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 10);

    world.sql("update content.item set name = 'bad ' || id where id in (1, 5, 6, 7, 8)").await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written, run.rows_removed, run.rows_rejected), (10, 0, 5, 0));
    world.assert_same(&format!("{CAPITALS} where name not like 'bad%'"), "analytics.item").await;
    world.sql("update content.item set name = 'good again' where id = 5").await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 1);

    let error = refusal(&world, pipeline, &reconcile(Depth::Counts, Repair::Nothing)).await;
    assert!(error.starts_with("`scripted` drops rows of the query"), "{error}");
    let preview = world.report(pipeline, &ReportRequest::preview(5)).await;
    assert_eq!(preview["rows"].as_array().unwrap().len(), 4, "{preview}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_drops_rows_is_refused_where_they_would_stay_in_the_target() {
    let (world, seen) = world().await;
    world.items(1, 10).await;
    let mut merged = items("merged", Mode::Full, 4);
    merged.options.full_strategy = Some(FullStrategy::Merge);
    for (draft, expected) in [
        (items("incremental", Mode::Incremental, 4), "tasks[1].body: `scripted` drops rows, and an incremental run"),
        (merged, "options.full_strategy: `scripted` drops rows, which `merge` leaves"),
        (dead_letters(items("put_aside", Mode::Full, 4)), "options.on_row_error: `scripted` drops rows, so the mart"),
    ] {
        let pipeline = world.pipeline(&scripted(draft, json!({"drops": true, "does": "leave_out"}))).await;
        let run = world.fails(pipeline).await;
        assert!(run.error.as_deref().is_some_and(|error| error.starts_with(expected)), "{expected}: {:?}", run.error);
    }
    assert!(seen.executions().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_breaks_the_rules_fails_the_run_and_writes_nothing() {
    let (world, _) = world().await;
    world.items(1, 10).await;
    world.sql("update content.item set name = 'bad' where id = 7").await;
    let lost = "got 10 rows, returned 9 and rejected 0: none may be lost, added or repeated";
    let cases: [(Value, &str); 3] = [
        (json!({"does": "leave_out"}), lost),
        (json!({"does": "reverse"}), "returns rows in another order than it got them"),
        (json!({"does": "change_keys"}), "changes the target's key, which a step must leave"),
    ];
    for (place, (options, expected)) in cases.into_iter().enumerate() {
        let draft = draft(&format!("case{place}"), Mode::Full, ITEMS, "analytics.item", 20);
        let pipeline = world.pipeline(&scripted(draft, options)).await;
        let run = world.fails(pipeline).await;
        assert_eq!(run.error, Some(format!("step `scripted`: {expected}")));
        assert_eq!(run.error_class, Some(ErrorClass::Fatal));
        assert_eq!(world.number("select count(*) from analytics.item").await, 0, "{expected}");
    }
}
