//! A clock that goes back, or is another server's.

use vitrina_shared::domain::Mode;

use crate::support::{World, draft, eventually};

use super::late_horizon::{QUERY, execute, run_number, world};

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_written_while_the_clock_is_behind_the_checkpoint_are_read() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    // As if all of that had happened an hour later, and the clock had gone back then.
    world
        .sql(
            "update content.item set modified = modified + interval '1 hour';
             update analytics.item set modified = modified + interval '1 hour';
             update etl.etl_state set checkpoint_key = (checkpoint_key::timestamptz + interval '1 hour')::text,
                                      horizon = horizon + interval '1 hour'",
        )
        .await;
    for id in 2..12 {
        world.insert(id).await;
    }
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
    world.insert(12).await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_were_written_while_the_clock_was_behind_are_read_when_it_has_caught_up() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    world
        .sql(
            "create or replace function etl.clock() returns timestamptz language sql as
             $$ select clock_timestamp() - interval '3 s' $$;
             insert into content.item select 2, 'late', modified - interval '2 s' from content.item where id = 1",
        )
        .await;
    eventually("a clock that has caught up", || async {
        let caught_up = "select count(*) from etl.etl_state where etl.clock() > horizon + interval '1.1 s'";
        (world.number(caught_up).await > 0).then_some(())
    })
    .await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

/// The clock goes back and forth again while no run looks at it.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_rests_notices_that_the_clock_goes_back() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    world.set_clock_back("60 s").await;
    eventually("a noted step", || async { (world.rereads().await == 1).then_some(()) }).await;
    world.sql("insert into content.item select 2, 'late', modified - interval '30 s' from content.item").await;
    world.set_clock_back("0 s").await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
    assert_eq!(world.rereads().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_the_clock_during_a_first_run_is_told_to_its_pipeline() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    let strangers = world.strangers(1);
    let mut blocks = strangers.begin().await.unwrap();
    execute(&mut blocks, "insert into analytics.item values (1, 'blocks', now())").await;
    let run = world.run(pipeline).await;
    eventually("a page that was read", || async {
        let waits =
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        (world.number(waits).await > 0).then_some(())
    })
    .await;
    world.set_clock_back("60 s").await;
    eventually("a noted step", || async { (world.rereads().await == 1).then_some(()) }).await;
    world.sql("insert into content.item select 2, 'late', modified - interval '30 s' from content.item").await;
    blocks.rollback().await.unwrap();
    world.succeeded(run).await;
    world.set_clock_back("0 s").await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_server_with_a_slower_clock_that_took_over_are_read() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    world
        .sql(
            "update etl.etl_state set server = regexp_replace(server, '^[^ ]+', '0000000A');
             insert into content.item select 2, 'slow', max(modified) - interval '30 minutes' from content.item",
        )
        .await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
    assert_eq!(world.number("select count(*) from etl.etl_state where server = etl.this_server()").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_started_by_a_clock_that_was_behind_is_noticed() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    // The bound was taken an hour after this server was started, by the clock of another life of it.
    world
        .sql(
            "update etl.etl_state
             set server = regexp_replace(server, ' [^ ]+ [^ ]+$', ' 2020-01-01 00:00:00.000000+00'),
                 checkpoint_key = now()::text, horizon = now();
             update content.item set modified = now();
             update analytics.item a set modified = c.modified from content.item c;
             insert into content.item values (2, 'slow', pg_postmaster_start_time())",
        )
        .await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

impl World {
    /// Leaves a prepared transaction for which a run waits a moment between its look at the clock and its beginning.
    async fn prepares(&self) -> String {
        let name = format!("waited_for_{}", run_number());
        let strangers = self.strangers(1);
        let mut session = strangers.acquire().await.unwrap();
        execute(&mut session, "begin").await;
        execute(&mut session, "create table public.something ()").await;
        execute(&mut session, &format!("prepare transaction '{name}'")).await;
        name
    }

    /// Waits until a run has looked at the clock, and waits for that transaction.
    async fn has_looked(&self) {
        let waits = "select count(*) from pg_stat_activity
                     where datname = current_database() and application_name like 'vitrina-worker%'
                       and query like '%virtualtransaction = any($1)%'";
        eventually("a run that has looked at the clock", || async { (self.number(waits).await > 0).then_some(()) })
            .await;
    }

    /// Waits until it is noted that the clock went back by about a minute.
    async fn owes_a_minute(&self) {
        let noted = "select count(*) from etl.etl_rereads
                     where transaction = '' and from_key < clock_timestamp() - interval '40 s'";
        eventually("a noted step", || async { (self.number(noted).await > 0).then_some(()) }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_the_clock_before_a_first_run_begins_is_told_to_its_pipeline() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    let name = world.prepares().await;
    let run = world.run(pipeline).await;
    world.has_looked().await;
    world.set_clock_back("60 s").await;
    world.owes_a_minute().await;
    world.sql(&format!("rollback prepared '{name}'")).await;
    world.succeeded(run).await;
    world.sql("insert into content.item select 2, 'late', modified - interval '30 s' from content.item").await;
    world.set_clock_back("0 s").await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

/// The run reads again because of an earlier step, and does not know of the one that came after its look at the clock.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_step_of_the_clock_before_a_run_begins_is_not_forgotten_with_the_first() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    world.set_clock_back("2 s").await;
    eventually("a noted step", || async { (world.rereads().await == 1).then_some(()) }).await;
    world.set_clock_back("0 s").await;
    let name = world.prepares().await;
    let run = world.run(pipeline).await;
    world.has_looked().await;
    world.set_clock_back("60 s").await;
    world.owes_a_minute().await;
    world.sql(&format!("rollback prepared '{name}'")).await;
    world.succeeded(run).await;
    world.sql("insert into content.item select 2, 'late', modified - interval '30 s' from content.item").await;
    world.set_clock_back("0 s").await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

/// Keys that do not come from the clock have nothing to read again.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_the_clock_before_a_first_run_is_not_kept_for_keys_of_another_kind() {
    let world = World::with_worker().await;
    let mut by_id = draft("items", Mode::Incremental, QUERY, "analytics.item", 50);
    (by_id.incremental_key, by_id.incremental_id_key) = (Some("id".to_owned()), Some("name".to_owned()));
    let pipeline = world.pipeline(&by_id).await;
    let strangers = world.strangers(1);
    let mut writes = strangers.begin().await.unwrap();
    execute(&mut writes, "insert into content.item (id, name) values (1, 'n')").await;
    let run = world.run(pipeline).await;
    world.has_looked().await;
    world.set_clock_back("60 s").await;
    world.owes_a_minute().await;
    writes.commit().await.unwrap();
    world.succeeded(run).await;
    world.succeeds(pipeline).await;
    assert_eq!(world.rereads().await, 0);
    world.assert_all_read().await;
}
