//! What full runs remove, what they must not, and `rows_removed`.

use vitrina_shared::{
    domain::{
        ErrorClass, FullStrategy, MaxRemoved, Mode, OnRowError, PipelineDraft, ReportRequest, ReportStatus, Run,
        report::{Depth, Repair},
    },
    lifecycle,
};

use crate::support::{ITEMS, TESTER, World, draft, items};

/// As many rows of the mart as of the query: those with a refused value count for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn stale_rows_go_though_as_many_rows_were_refused_as_are_stale() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    let pipeline = world.pipeline(&putting_aside(items("items", Mode::Full, 7))).await;
    world.succeeds(pipeline).await;

    // Three rows are gone, three others are refused.
    world.sql("alter table analytics.item add check (name <> 'bad')").await;
    world.sql("delete from content.item where id <= 3; update content.item set name = 'bad' where id > 17").await;
    world.sql("insert into content.item select n, 'bad', now() from generate_series(101, 103) n").await;
    let run = world.succeeds(pipeline).await;

    assert_eq!((run.rows_read, run.rows_rejected, run.rows_removed), (20, 6, 3));
    assert_eq!(
        world.number("select count(*) from analytics.item where id <= 3").await,
        0,
        "stale rows are still there"
    );
    assert_eq!(
        world.number("select count(*) from analytics.item where id > 17").await,
        3,
        "refused rows stay as they were"
    );
    assert_eq!(world.number("select count(*) from analytics.item").await, 17);
}

/// Two keys of the source become one in the mart; a stale row makes the numbers equal.
#[tokio::test(flavor = "multi_thread")]
async fn stale_rows_go_though_two_keys_of_the_source_are_one_in_the_mart() {
    let world = World::with_worker().await;
    world.sql("create table content.price (at numeric not null, name text not null)").await;
    world.sql("insert into content.price values (1.1, 'a'), (1.2, 'b'), (3, 'c')").await;
    world.target("price", "at numeric(10, 0) not null, name text", &["at"]).await;
    world.sql("insert into analytics.price values (99, 'stale')").await;
    let query = "select at, name from content.price";
    let pipeline = world.pipeline(&draft("prices", Mode::Full, query, "analytics.price", 1)).await;
    let run = world.run(pipeline).await;
    let run = world.ended(run).await;
    // Whether such keys are accepted at all is another matter.
    if run.error.is_none() {
        assert_eq!(world.number("select count(*) from analytics.price where at = 99").await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_returns_nothing_empties_no_mart() {
    let world = World::with_worker().await;
    world.items(1, 500).await;
    let swapping = |name: &str| {
        with(items(name, Mode::Full, 100), |draft| {
            draft.options.full_strategy = Some(FullStrategy::Swap);
        })
    };
    for draft in [items("merged", Mode::Full, 100), swapping("swapped")] {
        let name = draft.name.clone();
        let pipeline = world.pipeline(&draft).await;
        world.succeeds(pipeline).await;
        world.sql("create table content.saved as table content.item; truncate content.item").await;

        let run = world.fails(pipeline).await;

        assert_refused(&run, "500 of the 500 rows of `analytics.item` would be removed", &name);
        assert_eq!(world.number("select count(*) from analytics.item").await, 500);
        world.sql("insert into content.item table content.saved; drop table content.saved").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn max_removed_is_a_number_or_a_share_and_can_be_overridden_once() {
    let world = World::with_worker().await;
    world.items(1, 1000).await;
    let number = with(items("number", Mode::Full, 300), |draft| draft.options.max_removed = Some(MaxRemoved::Rows(10)));
    let number = world.pipeline(&number).await;
    let share = with(items("share", Mode::Full, 300), |draft| {
        draft.options.max_removed = Some(MaxRemoved::Share(20_000));
    });
    let share = world.pipeline(&share).await;
    world.succeeds(number).await;

    world.sql("delete from content.item where id <= 10").await;
    assert_eq!(world.succeeds(number).await.rows_removed, 10);
    world.sql("delete from content.item where id <= 30").await;
    let run = world.fails(number).await;
    assert_refused(
        &run,
        "20 of the 990 rows of `analytics.item` would be removed, and options.max_removed allows 10",
        "number",
    );
    let run = world.fails(share).await;
    assert_refused(
        &run,
        "20 of the 990 rows of `analytics.item` would be removed, and options.max_removed allows 2%",
        "share",
    );
    assert_eq!(world.number("select count(*) from analytics.item").await, 990);

    let run = world.run_as(number, false, true).await.unwrap();
    assert_eq!(world.succeeded(run).await.rows_removed, 20);
    world.assert_same(ITEMS, "analytics.item").await;
    let total = "select rows_removed from etl.etl_run_totals t join etl.etl_pipelines p on p.id = t.pipeline_id
                 where p.name = 'number' and t.status = 'SUCCESS'";
    assert_eq!(world.number(total).await, 30);
}

/// A sequence counts what was rolled back too.
#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_is_refused_was_tried_once() {
    let world = World::with_worker().await;
    world.items(1, 1000).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 300)).await;
    world.succeeds(pipeline).await;
    world
        .sql(
            "truncate content.item; create sequence content.removals;
             create function content.count_removal() returns trigger language plpgsql security definer as
             $$ begin perform nextval('content.removals'); return null; end $$;
             create trigger counted after delete on analytics.item for each statement execute function content.count_removal()",
        )
        .await;
    let run = world.fails(pipeline).await;
    assert_refused(&run, "1000 of the 1000 rows of `analytics.item` would be removed", "items");
    assert_eq!(world.number("select last_value from content.removals where is_called").await, 1);
}

/// As many rows of the mart as of the query, and not the same ones.
#[tokio::test(flavor = "multi_thread")]
async fn stale_rows_go_though_a_trigger_left_out_as_many() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    world
        .sql(
            "create function content.leave_out() returns trigger language plpgsql as
             $$ begin if new.id = 5 then return null; end if; return new; end $$;
             create trigger leave_out before insert on analytics.item for each row execute function content.leave_out();
             insert into analytics.item values (99, 'stale', now())",
        )
        .await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 7)).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written, run.rows_removed), (20, 19, 1));
    assert_eq!(world.number("select max(id) from analytics.item").await, 20);
}

/// What was allowed was that run, not another one with its inputs.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_repeated_may_remove_no_more_than_any_other() {
    let world = World::with_worker().await;
    world.items(1, 1000).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 300)).await;
    world.succeeds(pipeline).await;
    let allowed = world.run_as(pipeline, false, true).await.unwrap();
    world.succeeded(allowed).await;
    world.sql("truncate content.item").await;

    let repeated = lifecycle::run_again(world.db.pool(), allowed, TESTER).await.unwrap().run.id;
    let run = world.ended(repeated).await;

    assert_refused(&run, "1000 of the 1000 rows of `analytics.item` would be removed", "items");
    assert_eq!(world.number("select count(*) from analytics.item").await, 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_removes_no_more_rows_than_a_run_may() {
    let world = World::with_worker().await;
    world.items(1, 500).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 100)).await;
    world.succeeds(pipeline).await;
    world.sql("delete from content.item where id > 100").await;

    let asked = world.ask(pipeline, &ReportRequest::Reconcile { depth: Depth::Keys, repair: Repair::Differing }).await;
    let report = world.reported(asked).await;

    assert_eq!((report.status, report.error_class), (ReportStatus::Failed, Some(ErrorClass::Fatal)));
    assert!(report.error.unwrap().contains("400 of the 500 rows of `analytics.item` would be removed"));
    assert_eq!(world.number("select count(*) from analytics.item").await, 500);
}

/// A pipeline that puts rows aside.
fn putting_aside(draft: PipelineDraft) -> PipelineDraft {
    with(draft, |draft| draft.options.on_row_error = Some(OnRowError::DeadLetter))
}

fn with(mut draft: PipelineDraft, change: impl FnOnce(&mut PipelineDraft)) -> PipelineDraft {
    change(&mut draft);
    draft
}

fn assert_refused(run: &Run, numbers: &str, pipeline: &str) {
    let error = run.error.clone().unwrap();
    assert_eq!((run.error_class, run.rows_removed), (Some(ErrorClass::Fatal), 0), "{error}");
    assert!(error.starts_with(numbers), "{error}");
    assert!(error.contains(&format!("`vitrina run {pipeline} --full --allow-removal`")), "{error}");
}
