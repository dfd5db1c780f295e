//! What ended long ago is removed, and nothing that is needed.

use vitrina_shared::domain::{Mode, ReportRequest};

use crate::support::{ITEMS, World, eventually, items};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_removes_runs_reports_and_entries_of_the_log_from_long_ago() {
    let mut world = World::with_worker().await;
    world.items(1, 3).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 10)).await;
    let delivered = world.succeeds(pipeline).await.id;
    for _ in 0..3 {
        world.succeeds(pipeline).await;
    }
    let report = world.ask(pipeline, &ReportRequest::preview(1)).await;
    world.reported(report).await;
    world.stop_workers().await;
    // What was written within the last second is read again: then a later run delivers rows, and has the checkpoint.
    world.sql(&format!("update etl.etl_runs set rows_read = 0 where id <> '{delivered}'")).await;
    world.sql(&format!("update etl.etl_state set run_id = '{delivered}'")).await;
    world
        .sql(
            "update etl.etl_runs set requested_at = requested_at - interval '40 days',
                                     finished_at = finished_at - interval '40 days';
             update etl.etl_reports set finished_at = finished_at - interval '5 days'",
        )
        .await;
    let aged = "update etl.etl_transitions set at = at - interval '20 days'";
    sqlx::query(aged).execute(world.db.admin()).await.unwrap();

    world.start_worker(&[
        ("VITRINA_RUNS_KEPT_DAYS", "30"),
        ("VITRINA_REPORTS_KEPT_DAYS", "4"),
        ("VITRINA_TRANSITIONS_KEPT_DAYS", "10"),
    ]);
    let left = "select (select count(*) from etl.etl_runs) * 100 + (select count(*) from etl.etl_reports) * 10
                       + (select count(*) from etl.etl_transitions)";
    eventually("two runs, no report and the last entry of the log", || async {
        (world.number(left).await == 201).then_some(())
    })
    .await;
    assert_eq!(world.find(delivered).await.rows_read, 3, "the run that the checkpoint belongs to");
    world.items(4, 5).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 2);
    world.assert_same(ITEMS, "analytics.item").await;
}
