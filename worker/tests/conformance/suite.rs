//! What every sink must do, tried with a real worker.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use vitrina_shared::domain::{
    Mode, OnRowError, PipelineDraft, PipelineId, ReportRequest, RunId, RunStatus,
    report::{Depth, Repair},
};

use crate::world::{RunningWorker, World, draft, eventually};

const TABLE: &str = "
    create table content.thing (id bigint primary key, name text not null, born date not null, modified timestamptz not null);
    create index on content.thing (modified, id);
";
const QUERY: &str = "select id, name, born, modified from content.thing";
/// A page has as many rows.
const PAGE: i32 = 10;
/// The row that no sink takes: no date of a document, and refused by a constraint of the mart.
const BAD: &str = "update content.thing set born = 'infinity' where id = 7";
/// Holds up every batch right before it is committed, while the test has the lock.
const HOLD_COMMITS: &str = "
    create function public.hold() returns trigger language plpgsql security definer as
    $$ begin perform pg_advisory_xact_lock(4711); return new; end $$;
    create trigger hold before update on etl.etl_run_ranges
    for each row when (new.next_batch > old.next_batch) execute function public.hold();
";

/// The names of rows by their ids.
pub type Rows = BTreeMap<i64, String>;

/// A sink on its server, with a target that is on the whitelist.
pub trait Bench: Send + Sync {
    fn world(&self) -> &World;

    fn target(&self) -> String;

    /// A worker that reaches the sink.
    fn worker(&self) -> RunningWorker;

    /// The rows of the target, each once.
    fn rows(&self) -> BoxFuture<'_, Rows>;

    /// Removes row 1 of the target, renames row 2 and adds row 1000, with the key and all columns of row 3.
    fn plant(&self) -> BoxFuture<'_, ()>;

    /// Requests a run and cuts the connection while its first page is being written.
    fn run_and_cut(&self, pipeline: PipelineId) -> BoxFuture<'_, RunId>;

    /// Whether a page with a bad row can be written without it. Otherwise the whole run fails.
    fn puts_aside(&self) -> bool {
        true
    }
}

/// Makes the source in a new database.
pub async fn world() -> World {
    let world = World::new().await;
    world.sql(TABLE).await;
    world
}

/// Tries everything with a sink. `open` makes it anew for every part; nothing where its server was not wanted.
pub async fn exercise<B: Bench, F: Future<Output = Option<B>>>(mode: Mode, open: impl Fn() -> F) {
    macro_rules! try_each {
        ($($part:ident),*) => {$(
            let Some(bench) = open().await else { return };
            add(bench.world(), 1, 30).await;
            $part(&Trial { bench: &bench, mode }).await;
        )*};
    }
    try_each!(
        a_finished_run_equals_the_source,
        a_repeated_page_adds_nothing,
        a_bad_row_is_named,
        a_cut_connection_is_transient,
        a_crash_before_the_commit_repeats,
        a_comparison_finds_a_planted_difference_and_a_repair_mends_it
    );
}

struct Trial<'a> {
    bench: &'a dyn Bench,
    mode: Mode,
}

async fn add(world: &World, from: i64, to: i64) {
    world
        .sql(&format!(
            "insert into content.thing
             select n, 'thing ' || n, '2000-01-01', '2026-01-01'::timestamptz + n * interval '1 s'
             from generate_series({from}, {to}) n"
        ))
        .await;
}

impl Trial<'_> {
    fn world(&self) -> &World {
        self.bench.world()
    }

    fn draft(&self) -> PipelineDraft {
        draft("things", self.mode, QUERY, &self.bench.target(), PAGE)
    }

    async fn pipeline(&self) -> PipelineId {
        self.world().pipeline(&self.draft()).await
    }

    /// The target has the rows of the source, and no others.
    async fn assert_same(&self) {
        let source = "select coalesce(json_object_agg(id, name), '{}') from content.thing";
        let source: Rows = serde_json::from_str(&self.world().text(source).await.unwrap()).unwrap();
        assert_eq!(self.bench.rows().await, source, "{}", self.bench.target());
    }

    async fn reconcile(&self, pipeline: PipelineId, repair: Repair) -> Value {
        self.world().report(pipeline, &ReportRequest::Reconcile { depth: Depth::Rows, repair }).await
    }
}

async fn a_finished_run_equals_the_source(trial: &Trial<'_>) {
    let (world, _worker) = (trial.world(), trial.bench.worker());
    let pipeline = trial.pipeline().await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written, run.batches >= 3), (30, 30, true));
    trial.assert_same().await;
    add(world, 31, 35).await;
    world.sql("update content.thing set name = 'other', modified = '2026-02-01' where id % 10 = 0").await;
    if trial.mode == Mode::Full {
        world.sql("delete from content.thing where id in (4, 5)").await;
    }
    world.succeeds(pipeline).await;
    trial.assert_same().await;
    world.assert_no_litter().await;
}

async fn a_repeated_page_adds_nothing(trial: &Trial<'_>) {
    let (world, _worker) = (trial.world(), trial.bench.worker());
    let pipeline = trial.pipeline().await;
    world.succeeds(pipeline).await;
    if trial.mode == Mode::Incremental {
        world.reset(pipeline).await.unwrap();
    }
    let again = world.succeeds(pipeline).await;
    assert_eq!((again.rows_read, again.rows_removed), (30, 0));
    trial.assert_same().await;
}

async fn a_bad_row_is_named(trial: &Trial<'_>) {
    let (world, _worker) = (trial.world(), trial.bench.worker());
    world.sql(BAD).await;
    let mut draft = trial.draft();
    if trial.bench.puts_aside() {
        draft.options.on_row_error = Some(OnRowError::DeadLetter);
        draft.options.max_rejects = Some(3);
    }
    let pipeline = world.pipeline(&draft).await;
    let run = world.run(pipeline).await;
    let run = world.ended(run).await;
    if !trial.bench.puts_aside() {
        assert_eq!(run.status, RunStatus::Failed);
        assert!(run.error.as_deref().is_some_and(|error| error.contains("born")), "{:?}", run.error);
        assert_eq!(trial.bench.rows().await, Rows::new(), "all at once or not at all");
        return;
    }
    assert_eq!((run.status, run.rows_rejected, run.rows_written), (RunStatus::Success, 1, 29), "{:?}", run.error);
    let letter = world.text("select key from etl.etl_dead_letters").await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&letter).unwrap(), json!({"id": 7}));
    let rows = trial.bench.rows().await;
    assert_eq!((rows.len(), rows.contains_key(&7)), (29, false));
    world.sql("update content.thing set born = '2000-01-01' where id = 7").await;
    let replay = world.report(pipeline, &ReportRequest::Replay { ids: None }).await;
    assert_eq!((&replay["written"], &replay["left"]), (&json!(1), &json!(0)), "{replay}");
    trial.assert_same().await;
}

async fn a_cut_connection_is_transient(trial: &Trial<'_>) {
    let (world, _worker) = (trial.world(), trial.bench.worker());
    let pipeline = trial.pipeline().await;
    let run = trial.bench.run_and_cut(pipeline).await;
    let run = world.succeeded(run).await;
    assert_eq!(run.rows_read, 30);
    trial.assert_same().await;
}

/// A page may be durable in the sink before its batch is: the next worker writes it again.
async fn a_crash_before_the_commit_repeats(trial: &Trial<'_>) {
    let world = trial.world();
    world.sql(HOLD_COMMITS).await;
    let mut holding = world.db.admin().begin().await.unwrap();
    sqlx::raw_sql("select pg_advisory_xact_lock(4711)").execute(&mut *holding).await.unwrap();
    let pipeline = trial.pipeline().await;
    let worker = trial.bench.worker();
    let run = world.run(pipeline).await;
    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())";
    eventually("a batch right before its commit", || async { (world.number(waiting).await > 0).then_some(()) }).await;
    drop(worker);
    world
        .sql(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and application_name like 'vitrina-worker%'",
        )
        .await;
    let gone = || async { (world.number(waiting).await == 0).then_some(()) };
    eventually("the end of the worker's sessions", gone).await;
    assert_eq!(world.find(run).await.batches, 0, "nothing was committed");
    holding.rollback().await.unwrap();
    let _next = trial.bench.worker();
    let run = world.succeeded(run).await;
    assert_eq!(run.rows_read, 30);
    trial.assert_same().await;
}

async fn a_comparison_finds_a_planted_difference_and_a_repair_mends_it(trial: &Trial<'_>) {
    let (world, _worker) = (trial.world(), trial.bench.worker());
    let pipeline = trial.pipeline().await;
    world.succeeds(pipeline).await;
    assert_eq!(trial.reconcile(pipeline, Repair::Nothing).await["verdict"], "match");
    trial.bench.plant().await;
    let found = trial.reconcile(pipeline, Repair::Nothing).await;
    let numbers = (&found["missing"], &found["different"], &found["extra"]);
    assert_eq!((numbers, &found["verdict"]), ((&json!(1), &json!(1), &json!(1)), &json!("drift")), "{found}");
    let kinds: Vec<_> =
        found["sample"].as_array().unwrap().iter().map(|row| (&row["kind"], &row["key"]["id"])).collect();
    for difference in [("missing", "1"), ("different", "2"), ("extra", "1000")] {
        assert!(kinds.contains(&(&json!(difference.0), &json!(difference.1))), "{difference:?} in {kinds:?}");
    }
    let repaired = trial.reconcile(pipeline, Repair::All).await;
    assert_eq!(repaired["repaired"], json!({"written": 2, "removed": 1}), "{repaired}");
    assert_eq!(trial.reconcile(pipeline, Repair::Nothing).await["verdict"], "match");
    trial.assert_same().await;
}
