//! What a row takes of a worker's memory.

use serde_json::{Value, json};
use vitrina_shared::domain::{Mode, OnRowError, Task, TaskKind};

use crate::{
    support::{World, draft},
    worker_process::WorkerProcess,
};

/// The third item has a name of 300 MB.
const LONG: &str =
    "select id, case id when 3 then repeat('x', 300000000) else name end as name, modified from content.item";

/// The most that a process ever had in RAM, in MB.
fn peak(process: &WorkerProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap() / 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_300_mb_does_not_pass_through_the_worker() {
    let world = World::new().await;
    world.items(1, 5).await;
    let step = |order_index, task_type, body: &str, options: Value| Task {
        order_index,
        task_type,
        body: body.to_owned(),
        target_table: None,
        options: options.as_object().unwrap().clone(),
    };
    let mut pipeline = draft("long", Mode::Incremental, "", "analytics.item", 10);
    pipeline.source_query = None;
    pipeline.tasks = vec![
        step(1, TaskKind::Sql, LONG, json!({})),
        step(2, TaskKind::Rust, "mask", json!({"columns": ["name"], "show_last": 1})),
    ];
    pipeline.options.on_row_error = Some(OnRowError::DeadLetter);
    let pipeline = world.pipeline(&pipeline).await;
    let worker = WorkerProcess::start(&world.db.url());
    let run = world.succeeds(pipeline).await;
    let peak = peak(&worker);
    assert_eq!((run.rows_written, run.rows_rejected), (4, 1));
    assert!(peak < 200, "{peak} MB");
}
