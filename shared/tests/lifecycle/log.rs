//! What is announced, rolled back and seen in order, also when many ask at once.

use std::collections::HashSet;

use serde_json::Value;
use sqlx::postgres::PgListener;
use tokio::{task::JoinSet, time::timeout};
use vitrina_shared::{
    definitions,
    domain::{PipelineDraft, PipelineId, RunId, Status, Trigger},
    jobs::BATCH_QUEUE,
    lifecycle::{self, WantedRun},
    notify::EVENTS_CHANNEL,
    store::transitions,
};

use crate::{ANNA, SOON, World, draft, within};

#[tokio::test]
async fn a_request_wakes_the_workers_and_the_followers_of_events() {
    let world = World::new().await;
    let mut listener = PgListener::connect_with(world.db.pool()).await.unwrap();
    listener.listen_all([EVENTS_CHANNEL, "apalis::job::insert"]).await.unwrap();

    world.run().await.unwrap();

    let (first, second) = within(async { (listener.recv().await.unwrap(), listener.recv().await.unwrap()) }).await;
    let (job, event) = if first.channel() == EVENTS_CHANNEL { (second, first) } else { (first, second) };
    let event: Value = serde_json::from_str(event.payload()).unwrap();
    assert_eq!(event["pipeline_id"], world.id.to_string());
    assert_eq!(event["id"], world.count("select max(id) from etl.etl_transitions").await);
    let job: Value = serde_json::from_str(job.payload()).unwrap();
    assert_eq!(job["job_type"], BATCH_QUEUE);
}

#[tokio::test]
async fn every_transition_is_announced_once_and_a_repetition_not_at_all() {
    let world = World::new().await;
    let mut listener = PgListener::connect_with(world.db.pool()).await.unwrap();
    listener.listen(EVENTS_CHANNEL).await.unwrap();

    for _ in 0..2 {
        world.run().await.unwrap();
    }
    for _ in 0..2 {
        world.pause().await.unwrap();
    }
    world.run().await.unwrap();
    world.cancel().await.unwrap();
    world.cancel().await.expect_err("it is cancelled");
    world.reset().await.unwrap();
    sqlx::query("select pg_notify($1, 'end')").bind(EVENTS_CHANNEL).execute(world.db.pool()).await.unwrap();

    let mut announced = Vec::new();
    loop {
        let notification = within(listener.recv()).await.unwrap();
        if notification.payload() == "end" {
            break;
        }
        let event: Value = serde_json::from_str(notification.payload()).unwrap();
        announced.push(event["id"].as_i64().unwrap());
    }
    let logged: Vec<i64> =
        sqlx::query_scalar("select id from etl.etl_transitions order by id").fetch_all(world.db.pool()).await.unwrap();
    assert_eq!(announced, logged);
    assert_eq!(logged.len(), 5);
}

#[tokio::test]
async fn a_request_that_fails_at_its_last_statement_leaves_nothing() {
    let world = World::new().await;
    sqlx::raw_sql("alter table etl.etl_transitions add constraint full_disk check (actor <> 'anna')")
        .execute(world.db.admin())
        .await
        .unwrap();
    let mut listener = PgListener::connect_with(world.db.pool()).await.unwrap();
    listener.listen_all([EVENTS_CHANNEL, "apalis::job::insert"]).await.unwrap();

    world.run().await.expect_err("the log is full");

    assert_eq!(world.status().await, Status::Idle);
    assert_eq!(world.counts().await, (0, 0, 0));
    sqlx::query("select pg_notify($1, 'end')").bind(EVENTS_CHANNEL).execute(world.db.pool()).await.unwrap();
    assert_eq!(within(listener.recv()).await.unwrap().payload(), "end");
}

#[tokio::test]
async fn a_request_that_its_client_gave_up_is_done_as_a_whole_or_not_at_all() {
    let world = World::new().await;
    let mut blocker = world.db.admin().begin().await.unwrap();
    sqlx::query("lock table etl.etl_transitions in share mode").execute(&mut *blocker).await.unwrap();

    within(async {
        tokio::select! {
            done = world.run() => panic!("the log is locked: {done:?}"),
            () = world.waits(1) => {}
        }
    })
    .await;
    blocker.rollback().await.unwrap();

    // Which of the two the server takes first is its own affair.
    assert_eq!(within(world.run()).await.unwrap().status, Status::RunRequested);
    assert_eq!(world.counts().await, (1, 1, 1));
    assert_eq!(world.live_jobs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_run_requests_at_once_end_in_one_run_one_job_and_one_transition() {
    let world = World::new().await;
    let mut requests = JoinSet::new();
    for _ in 0..50 {
        let (db, pipeline) = (world.db.pool().clone(), world.pipeline());
        requests.spawn(async move {
            lifecycle::request_run(&db, &pipeline, WantedRun::by(Trigger::Api), ANNA).await.unwrap()
        });
    }

    let answers = within(requests.join_all()).await;

    let runs: HashSet<RunId> = answers.iter().map(|answer| answer.run.id).collect();
    assert_eq!(runs.len(), 1);
    assert_eq!(answers.iter().filter(|answer| !answer.already_active).count(), 1);
    assert_eq!(world.counts().await, (1, 1, 1));
}

/// What a request looked at before it wrote may be gone when it writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_waited_for_a_reset_begins_at_the_beginning() {
    let world = World::new().await;
    world.checkpoint(RunId::generate(), "9", "9").await;
    let mut reset = world.db.pool().begin().await.unwrap();
    sqlx::raw_sql("update etl.etl_pipelines set status = 'IDLE'; delete from etl.etl_state")
        .execute(&mut *reset)
        .await
        .unwrap();

    let (db, pipeline) = (world.db.pool().clone(), world.pipeline());
    let request =
        tokio::spawn(async move { lifecycle::request_run(&db, &pipeline, WantedRun::by(Trigger::Api), ANNA).await });
    within(world.waits(1)).await;
    reset.commit().await.unwrap();

    assert_eq!(within(request).await.unwrap().unwrap().run.checkpoint_from, None);
    assert_eq!(world.live_jobs().await.pop().unwrap().after, None);
    assert_eq!(world.counts().await, (1, 1, 1));
}

/// A reader that remembers the last id it saw must never find a smaller one later. Half of the writers hold their
/// transaction open after the insert, which is where a plain sequence would let the reader skip them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_log_is_seen_in_commit_order_by_a_reader_that_resumes_by_id() {
    const WRITERS: usize = 8;
    let world = World::new().await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let db = world.db.pool().clone();
        // A target each: one is written by one run at a time.
        let target = format!("es:p{writer}");
        let allow = sqlx::query("insert into etl.etl_targets (target, key) values ($1, '{id}')");
        allow.bind(&target).execute(world.db.admin()).await.unwrap();
        let draft = PipelineDraft { target_table: target, ..draft(&format!("p{writer}")) };
        let id = definitions::create(&db, &draft).await.unwrap().id;
        writers.spawn(async move {
            for _ in 0..10 {
                lifecycle::request_run(&db, &id.into(), WantedRun::by(Trigger::Api), ANNA).await.unwrap();
                lifecycle::request_pause(&db, &id.into(), ANNA).await.unwrap();
                lifecycle::cancel(&db, &id.into(), ANNA).await.unwrap();
                slow_insert(&db, id).await;
            }
        });
    }

    let mut seen = Vec::new();
    let mut connection = world.db.admin().acquire().await.unwrap();
    let reading = async {
        while seen.len() < WRITERS * 40 {
            let page = transitions::after(&mut connection, seen.last().copied().unwrap_or(0), None, 7).await.unwrap();
            seen.extend(page.into_iter().map(|transition| transition.id));
        }
    };
    timeout(SOON, reading).await.expect("the reader missed an entry");
    writers.join_all().await;

    let all: Vec<i64> =
        sqlx::query_scalar("select id from etl.etl_transitions order by id").fetch_all(world.db.pool()).await.unwrap();
    assert_eq!(seen, all);
}

async fn slow_insert(db: &sqlx::PgPool, id: PipelineId) {
    let mut tx = db.begin().await.unwrap();
    sqlx::query(
        "insert into etl.etl_transitions (pipeline_id, pipeline, from_status, to_status, actor, reason)
         values ($1, 'slow', 'IDLE', 'IDLE', 'test', 'slow')",
    )
    .bind(id)
    .execute(&mut *tx)
    .await
    .unwrap();
    sqlx::query("select pg_sleep(0.003)").execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
}
