//! What a run says of the steps of its plan.

use serde_json::{Value, json};
use vitrina_shared::domain::{ErrorClass, Mode, OnRowError, PipelineDraft, RunStep, Task, TaskKind};

use crate::{
    scripted::{Seen, scripted},
    support::{World, eventually, items},
};

async fn world() -> World {
    let mut world = World::new().await;
    world.steps = Seen::by(world.db.pool().clone()).registry();
    world.start_worker(&[]);
    world
}

/// The plan with one more step at its end.
fn and_then(mut draft: PipelineDraft, order_index: i32, step: &str, options: Value) -> PipelineDraft {
    let options = options.as_object().unwrap().clone();
    let task_type = TaskKind::Rust;
    draft.tasks.push(Task { order_index, task_type, body: step.to_owned(), target_table: None, options });
    draft
}

/// Place, name, and rows in, out, rejected and dropped.
fn rows(steps: &[RunStep]) -> Vec<(i32, &str, [i64; 4])> {
    let rows = |step: &RunStep| [step.rows_in, step.rows_out, step.rejected, step.dropped];
    steps.iter().map(|step| (step.place, step.step.as_str(), rows(step))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_has_its_own_counts_and_gets_what_the_one_before_has_left() {
    let world = world().await;
    world.items(1, 10).await;
    world.sql("update content.item set name = 'bad ' || id where id in (3, 9)").await;
    let mut draft =
        scripted(items("two", Mode::Incremental, 4), json!({"does": "reject", "calls": true, "concurrency": 8}));
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    let pipeline = world.pipeline(&and_then(draft, 3, "trim", json!({"columns": ["name"]}))).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!(rows(&run.steps), [(2, "scripted", [10, 8, 2, 0]), (3, "trim", [8, 8, 0, 0])]);
    let [scripted, trim] = &run.steps[..] else { panic!("two steps, not {:?}", run.steps) };
    let of_calls = |step: &RunStep| (step.calls_made, step.calls_saved, step.waited_us, step.waited_for.clone());
    assert_eq!(of_calls(scripted), (10, 3, 30_000, Some("tokens".to_owned())), "three blocks");
    assert_eq!(of_calls(trim), (0, 0, 0, None), "the calls of one step are not another's");
    assert_eq!((scripted.concurrency, trim.concurrency), (Some(8), None), "as the plan says");
    assert_eq!((scripted.blocks, trim.blocks), (3, 3));
    assert!(scripted.duration_us > 0 && trim.duration_us > 0, "{:?}", run.steps);

    let idle = world.succeeds(pipeline).await;
    let nothing = [(2, "scripted", [0; 4]), (3, "trim", [0; 4])];
    assert_eq!(rows(&idle.steps), nothing, "a run that read nothing says so of each step");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_a_step_drops_are_counted_as_such_and_make_none_for_the_next_one() {
    let world = world().await;
    world.items(1, 10).await;
    let draft = and_then(
        scripted(items("dropping", Mode::Full, 4), json!({"does": "nothing"})),
        3,
        "filter",
        json!({"where": "id > 8"}),
    );
    let pipeline = world.pipeline(&and_then(draft, 4, "trim", json!({"columns": ["name"]}))).await;
    let run = world.succeeds(pipeline).await;
    let expected = [(2, "scripted", [10, 10, 0, 0]), (3, "filter", [10, 2, 0, 8]), (4, "trim", [2, 2, 0, 0])];
    assert_eq!(rows(&run.steps), expected);
    assert_eq!(run.steps[2].blocks, 1, "no block is left of the first two pages");
}

/// Its rows count once, and what was spent on it twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_tried_again_counts_its_rows_once_and_its_calls_each_time() {
    let world = world().await;
    world.items(1, 10).await;
    let options = json!({"does": {"fail_once": ErrorClass::RateLimited.as_str()}, "calls": true});
    let pipeline = world.pipeline(&scripted(items("again", Mode::Full, 20), options)).await;
    let run = world.run(pipeline).await;
    let spent =
        eventually("the failure is noted", || async { Some(world.find(run).await).filter(|run| run.attempts == 1) })
            .await;
    let [step] = &spent.steps[..] else { panic!("one step, not {:?}", spent.steps) };
    assert_eq!((step.rows_in, step.blocks, step.calls_made), (0, 1, 10), "before it is tried again");

    let run = world.succeeded(run).await;
    assert_eq!(rows(&run.steps), [(2, "scripted", [10, 10, 0, 0])]);
    let [step] = &run.steps[..] else { panic!("one step, not {:?}", run.steps) };
    assert_eq!((step.blocks, step.calls_made, step.calls_saved, step.waited_us), (2, 20, 2, 20_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_keeps_what_its_last_batch_spent_and_none_of_that_batchs_rows() {
    let world = world().await;
    world.items(1, 10).await;
    let options = json!({"does": {"fail": ErrorClass::Quota.as_str()}, "calls": true});
    let pipeline = world.pipeline(&scripted(items("fails", Mode::Full, 20), options)).await;
    let run = world.fails(pipeline).await;
    assert_eq!(rows(&run.steps), [(2, "scripted", [0; 4])]);
    assert_eq!((run.steps[0].blocks, run.steps[0].calls_made), (1, 10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_steps_has_none_and_writes_none_and_they_go_with_their_run() {
    let world = world().await;
    world.items(1, 10).await;
    let plain = world.pipeline(&items("plain", Mode::Full, 4)).await;
    assert_eq!(world.succeeds(plain).await.steps, []);
    assert_eq!(world.number("select count(*) from etl.etl_run_steps").await, 0);

    world.sql("delete from etl.etl_runs").await;
    let pipeline = world.pipeline(&scripted(items("steps", Mode::Full, 4), json!({"does": "nothing"}))).await;
    world.succeeds(pipeline).await;
    assert_eq!(world.number("select count(*) from etl.etl_run_steps").await, 1);
    world.sql("delete from etl.etl_runs").await;
    assert_eq!(world.number("select count(*) from etl.etl_run_steps").await, 0);
}
