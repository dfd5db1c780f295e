//! Workers and nodes that die in the middle: every document is there in the end, once.

use serde_json::json;
use vitrina_shared::{
    domain::{Cut, Mode, Trigger},
    lifecycle::{self, WantedRun},
};

use crate::{
    films::{FILMS, Films, many},
    node::Node,
    support::Corner,
    worker_process::WorkerProcess,
    world::TESTER,
};

/// Kills workers in the middle of a run that is cut into so many ranges.
async fn survives_kills(mode: Mode, ranges: i64) {
    let Some(films) = Films::new(many()).await else { return };
    let batch = i32::try_from(many() / 40).unwrap();
    let pipeline = films.world.pipeline(&films.draft(mode, batch)).await;
    let settings = [("ELASTICSEARCH_URL", films.corner.node.as_str())];
    let url = films.world.db.url();
    let start = || WorkerProcess::start_with(&url, &settings);
    let mut workers = [start(), start()];
    let mut cuts = Vec::new();
    for range in 1..ranges {
        cuts.push(Cut::before(&films.key(range * many() / ranges).await));
    }
    let wanted = WantedRun { cuts: &cuts, ..WantedRun::by(Trigger::Api) };
    let run = lifecycle::request_run(films.world.db.pool(), &pipeline.into(), wanted, TESTER).await.unwrap().run.id;
    let mut kills = 0;
    for round in 1..=4 {
        films.progresses(run, round * 5).await;
        if films.world.find(run).await.status.is_final() {
            break;
        }
        let busy =
            films.world.text("select split_part(lock_by, '-', -2) from apalis.jobs where status = 'Running' limit 1");
        let busy = busy.await.and_then(|pid| workers.iter().position(|worker| worker.id().to_string() == pid));
        let victim = busy.unwrap_or(0);
        workers[victim].kill();
        workers[victim] = start();
        kills += 1;
    }
    assert!(kills >= 2, "the run was over after {kills} kills");
    let run = films.succeeded(run).await;
    assert_eq!(run.rows_read, many());
    films.assert_same(FILMS).await;
    let walked = "select count(*) from etl.etl_run_ranges where finished_at is not null and next_batch > 0";
    assert_eq!(films.world.number(walked).await, ranges);
    if mode == Mode::Incremental {
        let last = films.world.checkpoint(pipeline).await.map(|checkpoint| checkpoint.0);
        assert_eq!(last, Some(films.key(many()).await));
        films.add(many() + 1, many() + 10).await;
        assert_eq!(films.succeeds(pipeline).await.rows_read, 10);
        films.assert_same(FILMS).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_lose_no_document_of_an_incremental_run() {
    survives_kills(Mode::Incremental, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_lose_no_document_of_several_ranges() {
    survives_kills(Mode::Incremental, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_lose_no_document_of_a_full_run() {
    survives_kills(Mode::Full, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_killed_and_started_again_in_the_middle_is_waited_for() {
    let Some(_) = Corner::new() else { return };
    let Some(mut node) = Node::start() else { return };
    let mut films = Films::at(Corner::at(node.url()), many(), json!({"max_docs": 100, "replicas": 0})).await;
    films.start_worker();
    let batch = i32::try_from(many() / 20).unwrap();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, batch)).await;
    let run = films.world.run(pipeline).await;
    films.progresses(run, 3).await;
    node.kill();
    assert!(!films.world.find(run).await.status.is_final(), "the run was over too soon to show anything");
    tokio::task::block_in_place(|| node.begin());
    let run = films.succeeded(run).await;
    assert_eq!(run.rows_read, many());
    films.assert_same(FILMS).await;
}
