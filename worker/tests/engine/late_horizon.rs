//! What the horizon must see, what it owes, and a clock that goes back.

use std::{
    io::Write as _,
    process::{Child, Command, Stdio},
};

use sqlx::{AssertSqlSafe, PgConnection, Postgres, Transaction, postgres::PgPoolOptions};
use vitrina_shared::{
    domain::{Mode, PipelineId, RunStatus},
    lifecycle,
    store::runs,
};

use crate::support::{TESTER, World, draft, eventually};

const QUERY: &str = "select id, name, modified from content.item";

async fn world() -> (World, PipelineId) {
    let world = World::with_worker().await;
    let pipeline = world.pipeline(&draft("items", Mode::Incremental, QUERY, "analytics.item", 50)).await;
    (world, pipeline)
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(connection).await;
    done.unwrap_or_else(|error| panic!("{error} in {statement}"));
}

impl World {
    async fn insert(&self, id: i64) {
        self.sql(&format!("insert into content.item (id, name) values ({id}, 'n')")).await;
    }

    async fn assert_all_read(&self) {
        self.assert_same(QUERY, "analytics.item").await;
    }

    /// Waits until the transaction has been open for longer than a run has patience with one that only reads.
    async fn is_passed(&self, reader: &mut Transaction<'_, Postgres>) {
        let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut **reader).await.unwrap();
        let old = format!(
            "select count(*) from pg_stat_activity where pid = {pid} and xact_start < clock_timestamp() - interval '5.5 s'"
        );
        eventually("a transaction that is old", || async { (self.number(&old).await > 0).then_some(()) }).await;
    }

    /// Sets the clock that keys come from.
    async fn set_clock_back(&self, by: &str) {
        self.sql(&format!(
            "create or replace function etl.clock() returns timestamptz language sql as
             $$ select clock_timestamp() - interval '{by}' $$"
        ))
        .await;
    }

    async fn rereads(&self) -> i64 {
        self.number("select count(*) from etl.etl_rereads").await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stays_does_not_keep_the_rows_of_another_one_from_being_read_again() {
    let (world, pipeline) = world().await;
    let strangers = world.strangers(3);
    let mut writes_late = strangers.begin().await.unwrap();
    execute(&mut writes_late, "select 1").await;
    world.is_passed(&mut writes_late).await;
    let mut stays = strangers.begin().await.unwrap();
    world.is_passed(&mut stays).await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    assert_eq!(world.number("select count(*) from analytics.item").await, 1, "long readers stop the mart");
    assert_eq!(world.rereads().await, 2);

    execute(&mut writes_late, "insert into content.item (id, name) values (2, 'late')").await;
    world.succeeds(pipeline).await;
    writes_late.commit().await.unwrap();
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
    assert_eq!(world.rereads().await, 1, "the other one is still open");
    stays.rollback().await.unwrap();
    world.succeeds(pipeline).await;
    assert_eq!(world.rereads().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_owed_stays_owed_when_a_run_that_is_run_again_is_cancelled() {
    let (world, pipeline) = world().await;
    world
        .sql(
            "insert into content.item values (1, 'a', now() - interval '2 hours'), (2, 'b', now() - interval '1 hour')",
        )
        .await;
    let first = world.succeeds(pipeline).await;
    world
        .sql(
            "insert into content.item values (3, 'late', now() - interval '90 minutes');
             insert into etl.etl_rereads select id, '0/0', now() - interval '90 minutes' from etl.etl_pipelines",
        )
        .await;
    let strangers = world.strangers(1);
    let mut blocks = strangers.begin().await.unwrap();
    execute(&mut blocks, "lock table content.item in access exclusive mode").await;
    let again = lifecycle::run_again(world.db.pool(), first.id, TESTER).await.unwrap().run.id;
    eventually("a run that has begun", || async {
        (world.find(again).await.status == RunStatus::Running).then_some(())
    })
    .await;
    world.cancel(pipeline).await.unwrap();
    blocks.rollback().await.unwrap();
    assert_eq!(world.ended(again).await.status, RunStatus::Cancelled);
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

/// A session of any kind may write: here one that speaks the protocol of replication.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_a_session_that_is_no_clients_is_waited_for() {
    let (world, pipeline) = world().await;
    let mut other = Psql::start(&format!("{}?replication=database", world.db.owner_url()));
    other.say("begin; insert into content.item (id, name) values (1, 'early');");
    eventually("another kind of backend that writes", || async {
        let writes = "select count(*) from pg_stat_activity where datname = current_database()
                      and backend_type <> 'client backend' and backend_xid is not null";
        (world.number(writes).await > 0).then_some(())
    })
    .await;
    world.insert(2).await;
    world.succeeds(pipeline).await;
    other.say("commit;");
    other.ends();
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

/// A session of `psql`.
struct Psql(Child);

impl Psql {
    fn start(url: &str) -> Self {
        let programs = std::env::var("VITRINA_TEST_PG_BIN").unwrap();
        let mut command = Command::new(format!("{programs}/psql"));
        command.args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", url]).stdin(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn say(&mut self, statements: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{statements}").unwrap();
    }

    fn ends(&mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_whose_start_nobody_can_see_is_read_once_it_has_ended() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    let strangers = world.strangers(2);
    let mut hides = strangers.acquire().await.unwrap();
    execute(&mut hides, "set track_activities = off").await;
    execute(&mut hides, "begin").await;
    execute(&mut hides, "insert into content.item (id, name) values (2, 'early')").await;
    world.insert(3).await;
    world.succeeds(pipeline).await;
    assert_eq!(world.rereads().await, 1);
    execute(&mut hides, "commit").await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
    assert_eq!(world.rereads().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_may_not_see_others_sessions_knows_that_they_have_transactions() {
    let (world, pipeline) = world().await;
    let run = world.succeeds(pipeline).await;
    let strangers = world.strangers(1);
    let mut open = strangers.begin().await.unwrap();
    let transaction: String = sqlx::query_scalar(
        "select virtualtransaction from pg_locks where pid = pg_backend_pid() and locktype = 'virtualxid'",
    )
    .fetch_one(&mut *open)
    .await
    .unwrap();
    // Roles belong to the whole server: this one is never committed.
    let mut tx = world.db.admin().begin().await.unwrap();
    let blind = format!("vitrina_blind_{}", std::process::id());
    execute(
        &mut tx,
        &format!(
            "create role {blind}; grant usage on schema etl to {blind}; grant select on all tables in schema etl to {blind};
             grant execute on all functions in schema etl to {blind}; set local role {blind}"
        ),
    )
    .await;
    let looked = "select upper = any(array[requested_at, clock]), $2 = any(unseen)
                  from etl.read_horizon($1, '5 s'), etl.etl_runs where id = $1";
    let (sees_no_start, sees_it): (bool, bool) =
        sqlx::query_as(looked).bind(run.id).bind(transaction).fetch_one(&mut *tx).await.unwrap();
    assert!(sees_no_start && sees_it);
    tx.rollback().await.unwrap();
}

/// A prepared transaction that somebody forgot, and others that come and go, stop nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_prepared_transaction_stops_nothing_and_loses_nothing() {
    let (world, pipeline) = world().await;
    world.insert(1).await;
    world.succeeds(pipeline).await;
    let name = format!("forgotten_{}", run_number());
    let strangers = world.strangers(1);
    let mut forgets = strangers.acquire().await.unwrap();
    execute(&mut forgets, "begin").await;
    execute(&mut forgets, "insert into content.item (id, name) values (2, 'early')").await;
    execute(&mut forgets, &format!("prepare transaction '{name}'")).await;
    for id in 3..6 {
        world.insert(id).await;
        world.succeeds(pipeline).await;
        assert_eq!(world.number(&format!("select count(*) from analytics.item where id = {id}")).await, 1);
    }
    execute(&mut forgets, &format!("commit prepared '{name}'")).await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

fn run_number() -> u64 {
    rand::random()
}

/// A backend takes its transaction's start before anybody can see it. A row that such a one committed in the meantime has a key
/// just below the bound.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_was_published_after_the_page_was_read_is_read_by_the_next_run() {
    let (world, pipeline) = world().await;
    world.succeeds(pipeline).await;
    world.insert(1).await;
    let strangers = world.strangers(2);
    let mut blocks = strangers.begin().await.unwrap();
    execute(&mut blocks, "lock table content.item in access exclusive mode").await;
    let run = world.run(pipeline).await;
    eventually("a run that has begun", || async { (world.find(run).await.status == RunStatus::Running).then_some(()) })
        .await;
    blocks.rollback().await.unwrap();
    world.succeeded(run).await;
    world
        .sql(
            "insert into content.item
             select 2, 'late', s.checkpoint_key::timestamptz - interval '100 ms' from etl.etl_state s
             where s.checkpoint_key::timestamptz > s.horizon",
        )
        .await;
    assert_eq!(world.number("select count(*) from content.item").await, 2, "the row was written just before the run");
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
}

/// The session of such a one may have gone before the run has ended: that nobody is there says nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_was_published_late_by_a_session_that_has_gone_is_read_by_the_next_run() {
    let (world, pipeline) = world().await;
    world.succeeds(pipeline).await;
    // As the services call themselves: nobody else does anything during the run.
    let services = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(world.db.connect_options().username("vitrina_app").application_name("vitrina-api"))
        .await
        .unwrap();
    world.insert(1).await;
    let run = lifecycle::request_run(&services, &pipeline.into(), None, TESTER).await.unwrap().run.id;
    eventually("the end of the run", || async {
        let mut connection = services.acquire().await.unwrap();
        runs::find(&mut connection, run).await.unwrap().filter(|run| run.status.is_final())
    })
    .await;
    world
        .sql(
            "insert into content.item
             select 2, 'late', s.checkpoint_key::timestamptz - interval '100 ms' from etl.etl_state s",
        )
        .await;
    world.succeeds(pipeline).await;
    world.assert_all_read().await;
    services.close().await;
}

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
