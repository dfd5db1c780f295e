//! What goes wrong, how it is reported, and how a pipeline goes on.

use std::time::Duration;

use vitrina_shared::domain::{ErrorClass, Mode, RunStatus, Status};

use crate::support::{ITEMS, World, draft, eventually, eventually_within, items};

/// Fails at the row whose name is `bad`.
const BRITTLE: &str = "select id, name, modified from content.item
                       where 1 / (case when name = 'bad' then 0 else 1 end) = 1";

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_keeps_what_is_written_and_the_next_goes_on_from_there() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    world.sql("update content.item set name = 'bad' where id = 57").await;
    let pipeline = world.pipeline(&draft("brittle", Mode::Incremental, BRITTLE, "analytics.item", 10)).await;
    let run = world.fails(pipeline).await;
    assert_eq!(run.error_class, Some(ErrorClass::Fatal));
    let error = run.error.unwrap();
    assert!(error.contains("division by zero") && error.contains("22012"), "{error}");
    let good = run.batches * 10;
    assert!(good < 57, "a batch with a bad row was committed");
    assert_eq!(world.number("select count(*) from analytics.item").await, good);
    assert_eq!(world.text("select checkpoint_id from etl.etl_state").await, (good > 0).then(|| good.to_string()));
    world.assert_no_litter().await;

    world.sql("update content.item set name = 'good' where id = 57").await;
    let run = world.succeeds(pipeline).await;
    assert_eq!(run.rows_read, 100 - good);
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transient_error_is_tried_again_later_and_counted() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    // The first two attempts meet a serialization failure.
    world
        .sql(
            "create sequence analytics.attempt;
             grant usage on sequence analytics.attempt to vitrina_mart;
             create function analytics.stumble() returns trigger language plpgsql as $$
             begin
                 if nextval('analytics.attempt') <= 2 then
                     raise exception using errcode = '40001', message = 'could not serialize access';
                 end if;
                 return null;
             end $$;
             create trigger stumble before insert on analytics.item for each statement execute function analytics.stumble()",
        )
        .await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 100)).await;
    let run = world.run(pipeline).await;
    let waiting = eventually("a delayed job", || async {
        let delayed = "select count(*) from apalis.jobs where status = 'Pending' and run_at > now() + interval '0.5 s'";
        Some(world.number(delayed).await).filter(|jobs| *jobs > 0)
    })
    .await;
    assert_eq!(waiting, 1);
    let run = world.succeeded(run).await;
    assert_eq!(run.attempts, 2);
    assert_eq!((run.rows_read, run.rows_written, run.batches), (20, 20, 1));
    world.assert_same(ITEMS, "analytics.item").await;
    let seconds = "select extract(epoch from finished_at - started_at)::bigint from etl.etl_runs";
    assert!(world.number(seconds).await >= 3, "the attempts did not wait");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transient_error_that_stays_fails_the_run_after_four_attempts() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    world
        .sql(
            "create function analytics.stumble() returns trigger language plpgsql as $$
             begin raise exception using errcode = '40P01', message = 'deadlock detected'; end $$;
             create trigger stumble before insert on analytics.item for each statement execute function analytics.stumble()",
        )
        .await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 100)).await;
    let run = world.fails(pipeline).await;
    assert_eq!((run.error_class, run.attempts), (Some(ErrorClass::Transient), 4));
    assert_eq!((run.rows_read, run.rows_written, run.batches), (0, 0, 0));
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_between_the_request_and_the_run_is_found_before_the_first_batch() {
    let mut world = World::new().await;
    world.items(1, 20).await;
    world.target("gone", "id bigint, name text, modified timestamptz", &["id"]).await;
    world.target("thin", "id bigint, name text, modified timestamptz", &["id"]).await;
    world.target("shut", "id bigint, name text, modified timestamptz", &["id"]).await;
    let mut runs = Vec::new();
    for table in ["gone", "thin", "shut"] {
        let target = format!("analytics.{table}");
        let pipeline = world.pipeline(&draft(table, Mode::Full, ITEMS, &target, 5)).await;
        runs.push((world.run(pipeline).await, target));
    }
    world.sql("drop table analytics.gone; alter table analytics.thin drop column name; revoke all on analytics.shut from vitrina_mart").await;
    world.start_worker(&[]);
    for (run, target) in runs {
        let run = world.ended(run).await;
        assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)));
        assert_eq!((run.batches, run.rows_read), (0, 0));
        let error = run.error.unwrap();
        assert!(error.contains(&target), "{error}");
    }
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_nobody_can_read_do_not_stop_a_worker() {
    let mut world = World::new().await;
    world.items(1, 20).await;
    let junk = [
        ("01K00000000000000000000001", "not json"),
        ("01K00000000000000000000002", "{\"batch\": 1}"),
        ("01K00000000000000000000003", ""),
        ("somebody-elses-id", "{}"),
        ("", "[]"),
    ];
    for (id, payload) in junk {
        world
            .sql(&format!(
                "insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at)
                 values ('{id}', 'vitrina:batches', convert_to('{payload}', 'UTF8'), 'Pending', 0, 25, now() - interval '1 minute')"
            ))
            .await;
    }
    world.start_worker(&[]);
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 7)).await;
    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_no_litter().await;
    assert_eq!(world.number("select count(*) from apalis.jobs where status = 'Killed'").await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_pipeline_does_not_disturb_another() {
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_CONCURRENCY", "2")]);
    world.items(1, 2000).await;
    world.target("other", "id bigint, name text, modified timestamptz", &["id"]).await;
    let failing = "select id, name, modified from content.item where 1 / (id - 1) = 1";
    let failing = world.pipeline(&draft("failing", Mode::Full, failing, "analytics.other", 10)).await;
    let good = world.pipeline(&items("good", Mode::Full, 10)).await;
    let run = world.run(good).await;
    let mut failures = 0;
    while !world.find(run).await.status.is_final() {
        world.fails(failing).await;
        failures += 1;
    }
    world.succeeded(run).await;
    assert!(failures > 0);
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(world.show(failing).await.status, Status::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_a_locked_mart_and_then_goes_on() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 30)).await;
    let mut locker = world.strangers(1).begin().await.unwrap();
    sqlx::raw_sql("lock table analytics.item in exclusive mode").execute(&mut *locker).await.unwrap();
    let run = world.run(pipeline).await;
    world.reaches(pipeline, Status::Running).await;
    // Pausing does not wait for the lock either.
    eventually_within(Duration::from_secs(5), "a pause request", || async { world.pause(pipeline).await.ok() }).await;
    world.run(pipeline).await;
    locker.rollback().await.unwrap();
    world.succeeded(run).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

/// By its code everyone knows that words are the server's, and may quote a row.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_message_of_a_query_keeps_its_code() {
    let world = World::with_worker().await;
    world.items(1, 5).await;
    world
        .sql(
            "create function content.tell(bigint) returns text stable language plpgsql as $$
             begin raise exception using errcode = '25006', message = 'bad row: ' || repeat('anna ', 2000); end $$",
        )
        .await;
    let query = "select id, content.tell(id) as name, modified from content.item";
    let pipeline = world.pipeline(&draft("told", Mode::Full, query, "analytics.item", 5)).await;
    let run = world.run(pipeline).await;
    let ended = world.ended(run).await;
    assert_eq!(ended.status, RunStatus::Failed);
    let error = ended.error.unwrap();
    assert!(error.contains("anna") && error.ends_with(" (SQLSTATE 25006)"), "{error}");
}
