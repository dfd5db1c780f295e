//! One unfinished run per target, and checkpoints that only the runs of their own epoch move.

use vitrina_shared::{
    definitions::{self, OnCheckpoint},
    domain::{
        Mode, PipelineDraft, PipelineId, ReportRequest, ReportStatus, RunId, RunStatus, Status,
        report::{self, Depth, Repair},
    },
    lifecycle::{self, LifecycleError},
};

use crate::support::{ITEMS, TESTER, World, draft, eventually, items};

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_on_a_target_is_refused_until_the_first_one_has_ended() {
    let mut world = World::new().await;
    world.items(1, 100).await;
    let first = world.pipeline(&items("first", Mode::Full, 10)).await;
    let second = world.pipeline(&items("second", Mode::Incremental, 10)).await;
    world.run(first).await;

    let refusal = world.try_run(second).await.unwrap_err();
    assert!(matches!(refusal, LifecycleError::TargetBusy { .. }), "{refusal}");
    assert_eq!(
        refusal.to_string(),
        "`analytics.item` is being written by a run of pipeline `first`, which is QUEUED: try again when it has ended"
    );
    assert_eq!(world.show(second).await.status, Status::Idle);

    // A run that rests holds what it has gathered: it counts, and the sentence says how to go on.
    world.pause(first).await.unwrap();
    world.start_worker(&[]);
    world.reaches(first, Status::Paused).await;
    let refusal = world.try_run(second).await.unwrap_err().to_string();
    assert!(refusal.contains("which is PAUSED: let it go on (`vitrina run first`), or cancel it"), "{refusal}");

    // The database itself refuses it.
    let copied = sqlx::query(
        "insert into etl.etl_runs (id, pipeline_id, mode, trigger, requested_by, correlation_id, inputs)
         select gen_random_uuid(), $1, mode, trigger, requested_by, correlation_id, inputs from etl.etl_runs",
    )
    .bind(second)
    .execute(world.db.admin())
    .await;
    assert!(copied.unwrap_err().to_string().contains("etl_runs_one_per_target_idx"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_is_set_by_hand_waits_for_the_target() {
    let mut world = World::new().await;
    world.items(1, 100).await;
    let first = world.pipeline(&items("first", Mode::Incremental, 10)).await;
    let second = world.pipeline(&items("second", Mode::Incremental, 10)).await;
    let run = world.run(first).await;
    world.sql("update etl.etl_pipelines set status = 'RUN_REQUESTED' where name = 'second'").await;
    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0);
    assert_eq!(world.number("select count(*) from etl.etl_runs").await, 1);

    world.start_worker(&[]);

    world.succeeded(run).await;
    eventually("the run of the second pipeline", || async {
        let ended = "select count(*) from etl.etl_runs r join etl.etl_pipelines p on p.id = r.pipeline_id
                     where p.name = 'second' and r.status = 'SUCCESS'";
        (world.number(ended).await == 1).then_some(())
    })
    .await;
    assert_eq!(world.show(second).await.status, Status::Idle);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_waits_for_the_run_of_another_pipeline_on_its_target() {
    let mut world = World::new().await;
    world.items(1, 100).await;
    let first = world.pipeline(&items("first", Mode::Incremental, 10)).await;
    let second = world.pipeline(&items("second", Mode::Incremental, 10)).await;
    world.run(first).await;
    world.pause(first).await.unwrap();
    world.start_worker(&[]);
    world.reaches(first, Status::Paused).await;
    let request = ReportRequest::Reconcile { depth: report::Depth::Rows, repair: report::Repair::Differing };

    let asked = world.ask(second, &request).await;
    let report = world.reported(asked).await;

    assert_eq!(report.status, ReportStatus::Failed);
    assert!(report.error.unwrap().contains("the run of pipeline `first`, which writes the same target, is paused"));
    world.cancel(first).await.unwrap();
    world.report(second, &request).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_another_pipeline_on_the_target_are_extra_and_the_comparison_says_whose() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    let of = |name: &str, condition: &str| {
        draft(name, Mode::Incremental, &format!("{ITEMS} where {condition}"), "analytics.item", 30)
    };
    let lower = world.pipeline(&of("lower", "id <= 10")).await;
    let upper = world.pipeline(&of("upper", "id > 10")).await;
    world.succeeds(lower).await;
    for (depth, both, note) in
        [(Depth::Rows, false, None), (Depth::Counts, true, Some("upper")), (Depth::Keys, true, Some("upper"))]
    {
        if both {
            world.succeeds(upper).await;
        }
        let found = world.report(lower, &ReportRequest::Reconcile { depth, repair: Repair::Nothing }).await;
        let told = note.map(|other| {
            format!("pipeline `{other}` writes this target too: rows that only it writes count as extra here")
        });
        assert_eq!(found["note"].as_str(), told.as_deref(), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_not_repeated_into_another_target_or_with_another_query() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    world.target("copy", "id bigint, name text, modified timestamptz", &["id"]).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 30)).await;
    let first = world.succeeds(pipeline).await.id;
    world.items(101, 200).await;
    let second = world.succeeds(pipeline).await.id;
    change(&world, pipeline, |draft| draft.target_table = "analytics.copy".to_owned()).await;
    assert_eq!(world.checkpoint(pipeline).await, None);

    for run in [first, second] {
        let refusal = again(&world, run).await.unwrap_err();
        assert!(matches!(refusal, LifecycleError::ChangedSince { .. }), "{refusal}");
        assert!(refusal.to_string().contains("had another target"), "{refusal}");
    }
    assert_eq!(world.succeeds(pipeline).await.rows_written, 200);
    world.assert_same(ITEMS, "analytics.copy").await;

    change(&world, pipeline, |draft| draft.source_query = Some(format!("{ITEMS} where id > 0"))).await;
    let refusal = again(&world, second).await.unwrap_err().to_string();
    assert!(refusal.contains("another target and another query or transforms"), "{refusal}");
}

/// The mart was emptied, and the checkpoint forgotten for that: a run of before must not put it back.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_repeated_after_a_reset_leaves_the_checkpoint_alone() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 30)).await;
    world.succeeds(pipeline).await;
    world.items(101, 150).await;
    let second = world.succeeds(pipeline).await.id;
    world.sql("delete from analytics.item").await;
    world.reset(pipeline).await.unwrap();

    let repeated = again(&world, second).await.unwrap();
    assert_eq!(world.succeeded(repeated).await.rows_written, 50);

    assert_eq!(world.checkpoint(pipeline).await, None);
    assert_eq!(world.succeeds(pipeline).await.rows_written, 100);
    world.assert_same(ITEMS, "analytics.item").await;

    // In the epoch of now it moves the checkpoint as ever.
    world.items(151, 160).await;
    let last = world.succeeds(pipeline).await;
    let repeated = again(&world, last.id).await.unwrap();
    world.succeeded(repeated).await;
    assert_eq!(world.checkpoint(pipeline).await.map(|(_, id)| id), Some(Some("160".to_owned())));
}

/// The status was set by hand, so that a reset was possible under a paused run.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_run_that_goes_on_after_a_reset_leaves_the_checkpoint_alone() {
    let mut world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 5)).await;
    world.sql("create function public.slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.02); return null; end'").await;
    world
        .sql("create trigger slow after insert on analytics.item for each statement execute function public.slow()")
        .await;
    world.start_worker(&[]);
    let run = world.run(pipeline).await;
    eventually("a batch", || async { (world.find(run).await.batches > 1).then_some(()) }).await;
    world.pause(pipeline).await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    world.sql("delete from analytics.item; update etl.etl_pipelines set status = 'IDLE'").await;
    world.reset(pipeline).await.unwrap();

    assert_eq!(world.run(pipeline).await, run);
    assert_eq!(world.ended(run).await.status, RunStatus::Success);

    assert_eq!(world.checkpoint(pipeline).await, None);
    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_is_refused_where_another_pipeline_s_rows_would_go() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let odd = format!("{ITEMS} where id % 2 = 1");
    let even = format!("{ITEMS} where id % 2 = 0");
    let odd = world.pipeline(&draft("odd", Mode::Incremental, &odd, "analytics.item", 30)).await;
    let even = world.pipeline(&draft("even", Mode::Incremental, &even, "analytics.item", 30)).await;
    for pipeline in [odd, even] {
        world.succeeds(pipeline).await;
    }
    world.assert_same(ITEMS, "analytics.item").await;

    let refusal = world.run_as(odd, true, false).await.unwrap_err();
    assert!(matches!(refusal, LifecycleError::SharedTarget { .. }), "{refusal}");
    assert!(
        refusal.to_string().starts_with("pipeline `even` writes `analytics.item` too, by another query"),
        "{refusal}"
    );

    let mut connection = world.db.pool().acquire().await.unwrap();
    let mut problem = async |draft: &PipelineDraft| {
        let found = definitions::sharing_problem(&mut connection, draft, None).await.unwrap();
        found.map(|problem| (problem.field, problem.message))
    };
    let (field, message) = problem(&items("all", Mode::Full, 10)).await.unwrap();
    assert_eq!(field, "target_table");
    assert!(message.contains("its runs would remove the rows of"), "{message}");
    assert_eq!(problem(&PipelineDraft { enabled: false, ..items("all", Mode::Full, 10) }).await, None);
    assert_eq!(problem(&items("third", Mode::Incremental, 10)).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_is_refused_where_another_pipeline_s_rows_would_go() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let half = |name: &str, n: i64| {
        draft(name, Mode::Incremental, &format!("{ITEMS} where id % 2 = {n}"), "analytics.item", 30)
    };
    let odd = world.pipeline(&half("odd", 1)).await;
    let even = world.pipeline(&half("even", 0)).await;
    for pipeline in [odd, even] {
        world.succeeds(pipeline).await;
    }

    let asked = world.ask(odd, &ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All }).await;
    let report = world.reported(asked).await;

    assert_eq!(report.status, ReportStatus::Failed);
    let error = report.error.unwrap();
    assert!(error.starts_with("pipeline `even` writes `analytics.item` too, by another query"), "{error}");
    world.assert_same(ITEMS, "analytics.item").await;
}

/// No pipeline loses its rows for good: its next run brings them back.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_is_enabled_again_reads_what_others_removed_meanwhile() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let few = draft("few", Mode::Incremental, &format!("{ITEMS} where id <= 10"), "analytics.item", 30);
    let few = world.pipeline(&few).await;
    let rest =
        world.pipeline(&draft("rest", Mode::Full, &format!("{ITEMS} where id > 10"), "analytics.item", 30)).await;
    for by_repair in [false, true] {
        change(&world, rest, |draft| draft.enabled = false).await;
        change(&world, few, |draft| draft.enabled = true).await;
        world.succeeds(few).await;
        assert_eq!(world.number("select count(*) from analytics.item where id <= 10").await, 10, "{by_repair}");
        change(&world, few, |draft| draft.enabled = false).await;
        change(&world, rest, |draft| draft.enabled = true).await;
        if by_repair {
            let repair = ReportRequest::Reconcile { depth: Depth::Keys, repair: Repair::All };
            assert_eq!(world.report(rest, &repair).await["repaired"]["removed"], 10);
        } else {
            assert_eq!(world.succeeds(rest).await.rows_removed, 10);
        }
        assert_eq!(world.checkpoint(few).await, None);
    }
    change(&world, few, |draft| draft.enabled = true).await;
    world.succeeds(few).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_and_its_partition_are_one_target_to_a_full_run() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    world
        .sql(
            "create table analytics.whole (id bigint primary key, name text, modified timestamptz) partition by range (id);
             create table analytics.part partition of analytics.whole for values from (1) to (11);
             create table analytics.other partition of analytics.whole for values from (11) to (21);
             insert into etl.etl_targets (target, key)
             values ('analytics.whole', '{id}'), ('analytics.part', '{id}'), ('analytics.other', '{id}')",
        )
        .await;
    let on = |name: &str, mode, target: &str, condition: &str| {
        draft(name, mode, &format!("{ITEMS} where {condition}"), target, 30)
    };
    let part = world.pipeline(&on("part", Mode::Incremental, "analytics.part", "id <= 10")).await;
    let whole = on("whole", Mode::Incremental, "analytics.whole", "id > 10");
    let whole = world.pipeline(&whole).await;
    let mut connection = world.db.pool().acquire().await.unwrap();
    let mut is_refused = async |draft: &PipelineDraft| {
        definitions::sharing_problem(&mut connection, draft, None).await.unwrap().is_some()
    };
    assert!(is_refused(&on("all", Mode::Full, "analytics.whole", "id > 10")).await);
    assert!(is_refused(&on("some", Mode::Full, "analytics.part", "id < 5")).await);
    assert!(is_refused(&on("some", Mode::Full, "analytics.other", "id > 15")).await, "`whole` has rows there");
    for pipeline in [part, whole] {
        world.succeeds(pipeline).await;
    }
    let refusal = world.run_as(whole, true, false).await.unwrap_err();
    assert!(matches!(refusal, LifecycleError::SharedTarget { .. }), "{refusal}");

    // Two partitions have no row in common.
    change(&world, whole, |draft| draft.target_table = "analytics.other".to_owned()).await;
    world.succeeds_in_full(whole).await;
    world.assert_same(ITEMS, "analytics.whole").await;
}

async fn again(world: &World, run: RunId) -> Result<RunId, LifecycleError> {
    Ok(lifecycle::run_again(world.db.pool(), run, TESTER).await?.run.id)
}

async fn change(world: &World, pipeline: PipelineId, edit: impl FnOnce(&mut PipelineDraft)) {
    let stored = world.show(pipeline).await;
    let mut draft = stored.draft;
    edit(&mut draft);
    definitions::change(world.db.pool(), pipeline, stored.version, &draft, OnCheckpoint::Keep, TESTER).await.unwrap();
}
