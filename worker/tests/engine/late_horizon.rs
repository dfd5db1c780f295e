//! What the horizon must see, and what it owes.

use std::{
    io::Write as _,
    process::{Child, Command, Stdio},
};

use sqlx::{AssertSqlSafe, PgConnection, postgres::PgPoolOptions};
use vitrina_shared::{
    domain::{Mode, PipelineId, RunStatus, Trigger},
    lifecycle::{self, WantedRun},
    store::runs,
};

use crate::support::{TESTER, World, draft, eventually};

pub const QUERY: &str = "select id, name, modified from content.item";

pub async fn world() -> (World, PipelineId) {
    let world = World::with_worker().await;
    let pipeline = world.pipeline(&draft("items", Mode::Incremental, QUERY, "analytics.item", 50)).await;
    (world, pipeline)
}

pub async fn execute(connection: &mut PgConnection, statement: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(connection).await;
    done.unwrap_or_else(|error| panic!("{error} in {statement}"));
}

impl World {
    pub async fn insert(&self, id: i64) {
        self.sql(&format!("insert into content.item (id, name) values ({id}, 'n')")).await;
    }

    pub async fn assert_all_read(&self) {
        self.assert_same(QUERY, "analytics.item").await;
    }

    /// Waits until the transaction has been open for longer than a run has patience with one that only reads.
    pub async fn is_passed(&self, reader: &mut PgConnection) {
        let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(reader).await.unwrap();
        let old = format!(
            "select count(*) from pg_stat_activity where pid = {pid} and xact_start < clock_timestamp() - interval '5.5 s'"
        );
        eventually("a transaction that is old", || async { (self.number(&old).await > 0).then_some(()) }).await;
    }

    /// Sets the clock that keys come from.
    pub async fn set_clock_back(&self, by: &str) {
        self.sql(&format!(
            "create or replace function etl.clock() returns timestamptz language sql as
             $$ select clock_timestamp() - interval '{by}' $$"
        ))
        .await;
    }

    pub async fn rereads(&self) -> i64 {
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

/// A forgotten prepared transaction, and others that come and go, stop nothing.
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

pub fn run_number() -> u64 {
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

/// The session of such a one may have gone before the run has ended: its absence says nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_was_published_late_by_a_session_that_has_gone_is_read_by_the_next_run() {
    let (world, pipeline) = world().await;
    world.succeeds(pipeline).await;
    // As the services call themselves: no other program does anything during the run.
    let services = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(world.db.connect_options().username("vitrina_app").application_name("vitrina-api"))
        .await
        .unwrap();
    world.insert(1).await;
    let run =
        lifecycle::request_run(&services, &pipeline.into(), WantedRun::by(Trigger::Api), TESTER).await.unwrap().run.id;
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
