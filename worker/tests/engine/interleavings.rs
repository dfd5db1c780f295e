//! Commands for a pipeline in any order, while workers come and go: its status, its runs, their ranges and
//! jobs agree in the end.

use std::time::Duration;

use proptest::{prelude::*, test_runner::TestRunner};
use vitrina_shared::domain::{Mode, PipelineId, Status};

use crate::support::{ITEMS, World, eventually, items};

#[derive(Debug, Clone)]
enum Act {
    Run,
    Pause,
    Cancel,
    Reset,
    /// Changes some rows.
    Change,
    /// A worker is dropped in the middle of whatever it does, and another one starts.
    Kill,
    /// Lets things happen for so many milliseconds.
    Wait(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => Just(Act::Run),
        2 => Just(Act::Pause),
        1 => Just(Act::Cancel),
        1 => Just(Act::Reset),
        1 => Just(Act::Change),
        2 => Just(Act::Kill),
        4 => (0..80_u64).prop_map(Act::Wait),
    ];
    proptest::collection::vec(act, 5..30)
}

async fn play(acts: Vec<Act>, mode: Mode) {
    let world = World::new().await;
    world.items(1, 400).await;
    let pipeline = world.pipeline(&items("items", mode, 10)).await;
    let start = || world.worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.2"), ("VITRINA_CONCURRENCY", "2")]);
    let mut workers = vec![start(), start()];
    for (number, act) in acts.into_iter().enumerate() {
        match act {
            Act::Run => drop(world.try_run(pipeline).await),
            Act::Pause => drop(world.pause(pipeline).await),
            Act::Cancel => drop(world.cancel(pipeline).await),
            Act::Reset => drop(world.reset(pipeline).await),
            Act::Change => {
                world
                    .sql(&format!(
                        "update content.item set name = 'v{number}', modified = now() where id % 7 = {}",
                        number % 7
                    ))
                    .await;
            }
            Act::Kill => {
                workers.remove(0);
                workers.push(start());
            }
            // Not a wait for anything: the schedule of the generated case.
            Act::Wait(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        }
    }
    settles(&world, pipeline).await;
    assert_consistent(&world).await;
    world.reset(pipeline).await.unwrap();
    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
    assert_consistent(&world).await;
}

/// Lets the pipeline come to rest; one that rests in the middle of a run is cancelled.
async fn settles(world: &World, pipeline: PipelineId) {
    let status = eventually("rest", || async {
        let status = world.show(pipeline).await.status;
        matches!(status, Status::Idle | Status::Paused | Status::Failed).then_some(status)
    })
    .await;
    let failed = world.text("select error from etl.etl_runs where status = 'FAILED' limit 1").await;
    assert_eq!((status == Status::Failed, failed), (false, None), "nothing here may fail");
    if status == Status::Paused {
        world.cancel(pipeline).await.unwrap();
    }
}

async fn assert_consistent(world: &World) {
    world.assert_no_litter().await;
    let wrong = [
        ("an unfinished run", "select count(*) from etl.etl_runs where status in ('QUEUED', 'RUNNING', 'PAUSED')"),
        ("an active pipeline", "select count(*) from etl.etl_pipelines where status <> 'IDLE'"),
        (
            "a run whose batches are not those of its range",
            "select count(*) from etl.etl_runs r join etl.etl_run_ranges g on g.run_id = r.id where r.batches <> g.next_batch",
        ),
        (
            "a transition that does not follow the one before",
            "select count(*) from (select from_status, lag(to_status, 1, 'IDLE') over (order by id) as before
             from etl.etl_transitions) t where from_status <> before",
        ),
    ];
    for (what, count) in wrong {
        assert_eq!(world.number(count).await, 0, "there is {what}");
    }
}

fn check(mode: Mode, cases: u32) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = ProptestConfig { cases, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&acts(), |acts| {
        runtime.block_on(play(acts, mode));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_interleaving_leaves_an_incremental_pipeline_consistent() {
    check(Mode::Incremental, 6);
}

#[test]
fn any_interleaving_leaves_a_full_pipeline_consistent() {
    check(Mode::Full, 6);
}
