//! A database and workers of its own for every test, and the words tests are written in.

use std::{future::Future, time::Duration};

use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{DatabaseConfig, Env, SourceConfig, WorkerConfig},
    definitions,
    domain::{
        KeyOrder, Mode, Pipeline, PipelineDraft, PipelineId, PipelineOptions, Report, ReportId, ReportRequest,
        ReportStatus, Run, RunId, RunStatus, Status, Task, TaskKind, Trigger,
    },
    lifecycle::{self, Cause, LifecycleError, WantedRun},
    reports,
    store::{self, pipelines, runs},
    testing::TestDatabase,
};
use vitrina_worker::{Worker, step::StepRegistry};

pub const TESTER: Cause<'static> = Cause { actor: "tester", correlation_id: "test" };
/// Nothing takes longer, unless it is broken. The machine may be busy.
pub const SOON: Duration = Duration::from_secs(60);

/// The tables most tests read and write.
const TABLES: &str = r"
    create schema content;
    create schema ugc;
    grant usage on schema content, ugc to vitrina_query, vitrina_mart;
    alter default privileges in schema content grant select on tables to vitrina_query;
    alter default privileges in schema ugc grant select on tables to vitrina_query;
    create table content.item (
        id bigint primary key,
        name text not null,
        modified timestamptz not null default now()
    );
    create index on content.item (modified, id);
    create table analytics.item (
        id bigint primary key,
        name text not null,
        modified timestamptz not null
    );
    insert into etl.etl_targets (target, key) values ('analytics.item', '{id}');
";

/// What the pipeline of items reads.
pub const ITEMS: &str = "select id, name, modified from content.item";

/// The directory of the steps in Python that tests use.
pub const STEPS_IN_PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engine/python");

/// A database with source tables, and the workers that a test started.
pub struct World {
    workers: Vec<RunningWorker>,
    /// What workers have that are started from now on.
    pub steps: StepRegistry,
    /// Dropped after the workers were told to stop.
    pub db: TestDatabase,
}

/// A worker within the test's process.
pub struct RunningWorker {
    pub stop: CancellationToken,
    pub task: JoinHandle<()>,
}

impl RunningWorker {
    /// Waits until it has stopped by itself.
    pub async fn ended(mut self) {
        tokio::time::timeout(SOON, &mut self.task).await.expect("the worker did not stop").unwrap();
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

impl World {
    /// A database with the tables of items, and no worker.
    pub async fn new() -> Self {
        Self::of(TestDatabase::create().await).await
    }

    /// The same on a server of the test's own.
    pub async fn on(server: &str) -> Self {
        Self::of(TestDatabase::create_on(server.parse().unwrap()).await).await
    }

    async fn of(db: TestDatabase) -> Self {
        sqlx::raw_sql(TABLES).execute(db.admin()).await.unwrap();
        Self { workers: Vec::new(), steps: StepRegistry::default(), db }
    }

    /// The same with one worker.
    pub async fn with_worker() -> Self {
        let mut world = Self::new().await;
        world.start_worker(&[]);
        world
    }

    /// Starts a worker with further settings.
    pub fn start_worker(&mut self, settings: &[(&str, &str)]) {
        let worker = self.worker(settings);
        self.workers.push(worker);
    }

    /// A worker that the caller keeps.
    pub fn worker(&self, settings: &[(&str, &str)]) -> RunningWorker {
        self.worker_with(settings, |worker| worker)
    }

    /// The same, with something added to it.
    pub fn worker_with(&self, settings: &[(&str, &str)], add: impl FnOnce(Worker) -> Worker) -> RunningWorker {
        let url = self.db.url();
        let base =
            [("DATABASE_URL", url.as_str()), ("VITRINA_POLL_SECONDS", "60"), ("VITRINA_HEARTBEAT_SECONDS", "0.5")];
        let (config, database, source): (WorkerConfig, DatabaseConfig, SourceConfig) =
            Env::from_pairs(base.iter().chain(settings).copied()).read().unwrap();
        let stop = CancellationToken::new();
        let worker = Worker::new(config, &database, &source, stop.clone()).with_steps(self.steps.clone());
        let worker = add(worker);
        RunningWorker { stop, task: tokio::spawn(worker.run()) }
    }

    /// Stops the world's own workers and waits for their end.
    pub async fn stop_workers(&mut self) {
        for worker in self.workers.drain(..) {
            worker.stop.cancel();
            worker.ended().await;
        }
    }

    /// Executes statements as the superuser.
    pub async fn sql(&self, statements: &str) {
        let done = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(self.db.admin()).await;
        done.unwrap_or_else(|error| panic!("{error} in {statements}"));
    }

    /// Fills the items `from..=to`, a second apart.
    pub async fn items(&self, from: i64, to: i64) {
        self.sql(&format!(
            "insert into content.item select n, 'item ' || n, '2026-01-01'::timestamptz + n * interval '1 s'
             from generate_series({from}, {to}) n"
        ))
        .await;
    }

    /// Makes a mart and puts it on the whitelist.
    pub async fn target(&self, table: &str, columns: &str, key: &[&str]) {
        let key = key.join(",");
        self.sql(&format!(
            "create table analytics.{table} ({columns}, unique ({key}));
             insert into etl.etl_targets (target, key) values ('analytics.{table}', '{{{key}}}')"
        ))
        .await;
    }

    /// Stores a pipeline.
    pub async fn pipeline(&self, draft: &PipelineDraft) -> PipelineId {
        definitions::create(self.db.pool(), draft).await.unwrap().id
    }

    /// The value of one column of one row, as a number.
    pub async fn number(&self, sql: &str) -> i64 {
        let value = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(self.db.admin()).await;
        value.unwrap_or_else(|error| panic!("{error} in {sql}"))
    }

    /// The value of one column of one row, as text; nothing where there is none.
    pub async fn text(&self, sql: &str) -> Option<String> {
        let sql = format!("select (select t from ({sql}) as q (t))::text");
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(self.db.admin()).await.unwrap()
    }

    /// Requests a run.
    pub async fn run(&self, pipeline: PipelineId) -> RunId {
        self.try_run(pipeline).await.unwrap()
    }

    pub async fn try_run(&self, pipeline: PipelineId) -> Result<RunId, LifecycleError> {
        Ok(lifecycle::request_run(self.db.pool(), &pipeline.into(), WantedRun::by(Trigger::Api), TESTER).await?.run.id)
    }

    /// Requests a run of a kind.
    pub async fn run_as(&self, pipeline: PipelineId, full: bool, allow_removal: bool) -> Result<RunId, LifecycleError> {
        let wanted = WantedRun { full, allow_removal, ..WantedRun::by(Trigger::Api) };
        Ok(lifecycle::request_run(self.db.pool(), &pipeline.into(), wanted, TESTER).await?.run.id)
    }

    /// Runs the pipeline in full, to its good end.
    pub async fn succeeds_in_full(&self, pipeline: PipelineId) -> Run {
        let run = self.run_as(pipeline, true, false).await.unwrap();
        self.succeeded(run).await
    }

    /// The key and id of a pipeline's checkpoint.
    pub async fn checkpoint(&self, pipeline: PipelineId) -> Option<(String, Option<String>)> {
        let mut connection = self.db.pool().acquire().await.unwrap();
        let state = store::state::find(&mut connection, pipeline).await.unwrap();
        state.map(|state| (state.checkpoint.key, state.checkpoint.id))
    }

    pub async fn pause(&self, pipeline: PipelineId) -> Result<Status, LifecycleError> {
        lifecycle::request_pause(self.db.pool(), &pipeline.into(), TESTER).await
    }

    pub async fn cancel(&self, pipeline: PipelineId) -> Result<Status, LifecycleError> {
        Ok(lifecycle::cancel(self.db.pool(), &pipeline.into(), TESTER).await?.status)
    }

    pub async fn reset(&self, pipeline: PipelineId) -> Result<Status, LifecycleError> {
        lifecycle::reset(self.db.pool(), &pipeline.into(), TESTER).await
    }

    pub async fn find(&self, run: RunId) -> Run {
        let mut connection = self.db.pool().acquire().await.unwrap();
        runs::find(&mut connection, run).await.unwrap().unwrap()
    }

    pub async fn show(&self, pipeline: PipelineId) -> Pipeline {
        let mut connection = self.db.pool().acquire().await.unwrap();
        pipelines::find(&mut connection, &pipeline.into()).await.unwrap().unwrap()
    }

    /// Asks for a report.
    pub async fn ask(&self, pipeline: PipelineId, request: &ReportRequest) -> ReportId {
        reports::request(self.db.pool(), &pipeline.into(), request, TESTER).await.unwrap()
    }

    pub async fn find_report(&self, report: ReportId) -> Report {
        let mut connection = self.db.pool().acquire().await.unwrap();
        store::reports::find(&mut connection, report).await.unwrap().unwrap()
    }

    /// Waits until the report has ended, however it did.
    pub async fn reported(&self, report: ReportId) -> Report {
        eventually(&format!("the end of report {report}"), || async {
            Some(self.find_report(report).await).filter(|report| report.status.is_final())
        })
        .await
    }

    /// Has a report made and returns its result.
    pub async fn report(&self, pipeline: PipelineId, request: &ReportRequest) -> Value {
        let report = self.ask(pipeline, request).await;
        self.result(report).await
    }

    /// Waits for the result of a report.
    pub async fn result(&self, report: ReportId) -> Value {
        let report = self.reported(report).await;
        assert_eq!(report.status, ReportStatus::Done, "{:?}: {:?}", report.error_class, report.error);
        serde_json::from_str(report.result.unwrap().get()).unwrap()
    }

    /// Waits until the run has ended, however it did.
    pub async fn ended(&self, run: RunId) -> Run {
        eventually(&format!("the end of run {run}"), || async {
            Some(self.find(run).await).filter(|run| run.status.is_final())
        })
        .await
    }

    /// Waits until the pipeline stands here.
    pub async fn reaches(&self, pipeline: PipelineId, status: Status) {
        eventually(&format!("{status}"), || async { (self.show(pipeline).await.status == status).then_some(()) }).await;
    }

    /// Runs the pipeline to its good end.
    pub async fn succeeds(&self, pipeline: PipelineId) -> Run {
        let run = self.run(pipeline).await;
        self.succeeded(run).await
    }

    /// Waits for the good end of a run.
    pub async fn succeeded(&self, run: RunId) -> Run {
        let run = self.ended(run).await;
        assert_eq!(run.status, RunStatus::Success, "{:?}: {:?}", run.error_class, run.error);
        assert_eq!(self.show(run.pipeline_id).await.status, Status::Idle);
        run
    }

    /// Runs the pipeline to its bad end.
    pub async fn fails(&self, pipeline: PipelineId) -> Run {
        let run = self.run(pipeline).await;
        let run = self.ended(run).await;
        assert_eq!(run.status, RunStatus::Failed);
        assert_eq!(self.show(pipeline).await.status, Status::Failed);
        run
    }

    /// Compares row by row, duplicates included.
    pub async fn assert_same(&self, query: &str, table: &str) {
        let (missing, surplus) = self.differences(query, table).await;
        assert_eq!((missing, surplus), (0, 0), "rows missing from and too many in {table}");
    }

    /// Rows that the mart lacks, and rows that it has too many.
    pub async fn differences(&self, query: &str, table: &str) -> (i64, i64) {
        let missing = format!("select count(*) from (({query}) except all (select * from {table})) d");
        let surplus = format!("select count(*) from ((select * from {table}) except all ({query})) d");
        (self.number(&missing).await, self.number(&surplus).await)
    }

    /// No job of the queue is waiting or held.
    pub async fn assert_no_litter(&self) {
        eventually("an empty queue", || async {
            let jobs = self.number("select count(*) from apalis.jobs where status in ('Pending', 'Queued', 'Running')");
            (jobs.await == 0).then_some(())
        })
        .await;
        let ranges = "select count(*) from etl.etl_run_ranges g join etl.etl_runs r on r.id = g.run_id
                      where r.status = 'SUCCESS' and g.finished_at is null";
        assert_eq!(self.number(ranges).await, 0, "a finished run has an open range");
    }

    /// A pool of another program, whose transactions Vitrina does not know.
    pub fn strangers(&self, connections: u32) -> PgPool {
        let options = self.db.connect_options().username("postgres").application_name("a stranger");
        PgPoolOptions::new().max_connections(connections).connect_lazy_with(options)
    }
}

/// The pipeline of items.
pub fn items(name: &str, mode: Mode, batch_size: i32) -> PipelineDraft {
    draft(name, mode, ITEMS, "analytics.item", batch_size)
}

/// A pipeline that walks by `modified` and `id`.
pub fn draft(name: &str, mode: Mode, query: &str, target: &str, batch_size: i32) -> PipelineDraft {
    let incremental = mode == Mode::Incremental;
    PipelineDraft {
        name: name.to_owned(),
        description: String::new(),
        kind: TaskKind::Sql,
        mode,
        source_query: Some(query.to_owned()),
        target_table: target.to_owned(),
        batch_size,
        incremental_key: incremental.then(|| "modified".to_owned()),
        incremental_id_key: incremental.then(|| "id".to_owned()),
        enabled: true,
        // Says nothing new of keys that come from the clock.
        options: PipelineOptions { key_order: incremental.then_some(KeyOrder::Commit), ..PipelineOptions::default() },
        tasks: Vec::new(),
    }
}

/// The pipeline with this step in Python after its query.
pub fn in_python(draft: PipelineDraft, step: &str, options: Value) -> PipelineDraft {
    let Value::Object(options) = options else { panic!("options are an object") };
    let task = |order_index, task_type, body: &str, options| Task {
        order_index,
        task_type,
        body: body.to_owned(),
        target_table: None,
        options,
    };
    let query = draft.source_query.clone().unwrap();
    let reader = task(1, TaskKind::Sql, &query, serde_json::Map::new());
    let tasks = vec![reader, task(2, TaskKind::Python, step, options)];
    PipelineDraft { kind: TaskKind::Python, source_query: None, tasks, ..draft }
}

/// Asks again and again until the answer is there.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, ask: impl FnMut() -> F) -> T {
    eventually_within(SOON, what, ask).await
}

/// The same with a deadline of its own.
pub async fn eventually_within<T, F: Future<Output = Option<T>>>(
    limit: Duration,
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(limit, asking).await.unwrap_or_else(|_| panic!("{what} did not happen within {limit:?}"))
}
