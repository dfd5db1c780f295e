//! Runs that are cut into several ranges, which workers walk side by side. Whatever happens to them meanwhile: the checkpoint is
//! never beyond what is written without a gap, and the run ends once, with everything written.

use std::time::Duration;

use proptest::{prelude::*, test_runner::TestRunner};
use vitrina_shared::{
    domain::{Cut, Mode, PipelineId, RunId, RunStatus, Status, Trigger},
    lifecycle::{self, LifecycleError, WantedRun},
};

use crate::support::{ITEMS, RunningWorker, TESTER, World, eventually, items};

/// The key of an item.
fn key(item: i64) -> String {
    format!("2026-01-01 {:02}:{:02}:{:02}+00", item / 3600, item / 60 % 60, item % 60)
}

impl World {
    /// Requests a run that is cut before these items.
    async fn run_cut(&self, pipeline: PipelineId, items: &[i64]) -> Result<RunId, LifecycleError> {
        let cuts: Vec<_> = items.iter().map(|item| Cut::before(&key(*item))).collect();
        self.run_with_cuts(pipeline, &cuts).await
    }

    async fn run_with_cuts(&self, pipeline: PipelineId, cuts: &[Cut]) -> Result<RunId, LifecycleError> {
        let wanted = WantedRun { cuts, ..WantedRun::by(Trigger::Api) };
        Ok(lifecycle::request_run(self.db.pool(), &pipeline.into(), wanted, TESTER).await?.run.id)
    }

    /// Rows up to the checkpoint that are not in the mart as they are in the source.
    async fn gaps(&self) -> i64 {
        self.number(
            "select count(*)
             from content.item i, etl.etl_state s
             where (i.modified < s.checkpoint_key::timestamptz
                    or i.modified = s.checkpoint_key::timestamptz and i.id <= s.checkpoint_id::bigint)
               and not exists (select from analytics.item m where m = row(i.id, i.name, i.modified)::analytics.item)",
        )
        .await
    }

    /// How many ranges the newest run has.
    async fn ranges(&self) -> i64 {
        self.number(
            "select count(*) from etl.etl_run_ranges where run_id = (select max(id::text) from etl.etl_runs)::uuid",
        )
        .await
    }

    /// The run has ended once, and nothing of it is left.
    async fn assert_ended_once(&self, run: RunId) {
        let ends = "select count(*) from etl.etl_transitions where to_status in ('IDLE', 'FAILED') and run_id =";
        assert_eq!(self.number(&format!("{ends} '{run}'")).await, 1, "ends of the run");
        self.assert_no_litter().await;
        let batches = "select (r.batches - sum(g.next_batch))::bigint from etl.etl_runs r
                       join etl.etl_run_ranges g on g.run_id = r.id where r.id =";
        assert_eq!(self.number(&format!("{batches} '{run}' group by r.batches")).await, 0, "batches of no range");
    }

    fn workers(&self, count: usize) -> Vec<RunningWorker> {
        (0..count).map(|_| self.worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.2"), ("VITRINA_CONCURRENCY", "2")])).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_walked_side_by_side_and_leave_the_checkpoint_of_the_last_row() {
    let world = World::new().await;
    world.items(1, 4000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    let run = world.run_cut(pipeline, &[1000, 2000, 3000]).await.unwrap();
    assert_eq!(world.number("select count(*) from apalis.jobs").await, 1, "the first range begins the run");
    let _workers = world.workers(2);
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written), (4000, 4000));
    let walked = "select count(*) from etl.etl_run_ranges where next_batch >= 20 and finished_at is not null";
    assert_eq!(world.number(walked).await, 4);
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(world.checkpoint(pipeline).await, Some((key(4000), Some("4000".to_owned()))));
    assert_eq!(run.checkpoint_to.map(|checkpoint| checkpoint.key), Some(key(4000)));
    world.assert_ended_once(run.id).await;
    world.items(4001, 4100).await;
    assert_eq!(world.succeeds(pipeline).await.rows_read, 100);
}

/// The horizon may be before a cut that was chosen while a transaction was open, and a checkpoint after one.
#[tokio::test(flavor = "multi_thread")]
async fn cuts_that_the_run_does_not_reach_or_cannot_use_are_left_out() {
    let world = World::with_worker().await;
    world.items(1, 300).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    let later = Cut::before("2999-01-01 00:00:00+00");
    let cuts = [Cut::before(&key(100)), Cut::before(&key(200)), later.clone(), Cut::before("2999-02-01 00:00:00+00")];
    let run = world.run_with_cuts(pipeline, &cuts).await.unwrap();
    assert_eq!(world.succeeded(run).await.rows_read, 300);
    assert_eq!(world.ranges().await, 3);
    let bounds = "select count(*) from etl.etl_run_ranges where upper::timestamptz > now()";
    assert_eq!(world.number(bounds).await, 0, "no range is read beyond the horizon");
    world.items(301, 400).await;
    let before = world.checkpoint(pipeline).await;
    let run = world.run_cut(pipeline, &[200, 350]).await.unwrap();
    assert_eq!(world.succeeded(run).await.rows_read, 100, "from {before:?}");
    assert_eq!(world.ranges().await, 1);

    let full = world.pipeline(&items("all", Mode::Full, 50)).await;
    let run = world.run_cut(full, &[100]).await.unwrap();
    assert_eq!(world.succeeded(run).await.rows_read, 400);
    assert_eq!(world.ranges().await, 1, "a full run walks by another key");
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_of_whole_numbers_begin_after_the_last_key_of_the_one_before() {
    let world = World::with_worker().await;
    world.items(1, 400).await;
    let mut draft = items("items", Mode::Incremental, 30);
    draft.incremental_key = Some("id".to_owned());
    draft.incremental_id_key = Some("name".to_owned());
    let pipeline = world.pipeline(&draft).await;
    let cut = |last: i64| Cut { upper: last.to_string(), from: (last + 1).to_string() };
    let run = world.run_with_cuts(pipeline, &[cut(9), cut(100), cut(900)]).await.unwrap();
    assert_eq!(world.succeeded(run).await.rows_read, 400);
    assert_eq!(world.ranges().await, 3);
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(world.checkpoint(pipeline).await.map(|checkpoint| checkpoint.0), Some("400".to_owned()));
}

/// A batch takes as long as the test holds the lock of its last item.
const HELD: &str = "create function analytics.hold() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock_shared(new.id); return new; end';
    create trigger hold before insert on analytics.item for each row when (new.id in (60, 160)) execute function analytics.hold()";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_rests_when_the_last_of_its_ranges_rests_and_goes_on_with_all_of_them() {
    let world = World::new().await;
    world.items(1, 200).await;
    world.sql(HELD).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 10)).await;
    let mut holders = Vec::new();
    for item in [60, 160] {
        let mut holder = world.strangers(1).begin().await.unwrap();
        sqlx::query("select pg_advisory_xact_lock($1)").bind(i64::from(item)).execute(&mut *holder).await.unwrap();
        holders.push(holder);
    }
    let _workers = world.workers(2);
    let run = world.run_cut(pipeline, &[100]).await.unwrap();
    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted and objid in (60, 160)
                   and database = (select oid from pg_database where datname = current_database())";
    eventually("both ranges in a batch", || async { (world.number(waiting).await == 2).then_some(()) }).await;
    world.pause(pipeline).await.unwrap();
    holders.pop().unwrap().rollback().await.unwrap();
    let rests =
        "select count(*) from apalis.jobs j join etl.etl_run_ranges g on g.job_id = j.id where j.status = 'Done'";
    eventually("one range at rest", || async { (world.number(rests).await == 1).then_some(()) }).await;
    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0, "the range that rests needs no job");
    assert_eq!(world.show(pipeline).await.status, Status::PauseRequested);
    assert_eq!(world.find(run).await.status, RunStatus::Running);

    // Withdrawn in between, both go on.
    world.run(pipeline).await;
    let walked = "select count(*) from etl.etl_run_ranges where range_no = 1 and finished_at is not null";
    eventually("the end of the other range", || async { (world.number(walked).await == 1).then_some(()) }).await;
    world.pause(pipeline).await.unwrap();
    holders.pop().unwrap().rollback().await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    assert_eq!((world.find(run).await.status, world.gaps().await), (RunStatus::Paused, 0));

    assert_eq!(world.run(pipeline).await, run);
    assert_eq!(world.succeeded(run).await.rows_read, 200);
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_ended_once(run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_lost_its_job_gets_another_while_the_others_have_theirs() {
    let world = World::new().await;
    world.items(1, 200).await;
    world.sql(HELD).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 10)).await;
    let mut holder = world.strangers(1).begin().await.unwrap();
    sqlx::query("select pg_advisory_xact_lock(60)").execute(&mut *holder).await.unwrap();
    world.sql("create table public.lost (id text);
        create function public.lose() returns trigger language plpgsql security definer as
        'begin if (convert_from(new.job, ''UTF8'')::jsonb ->> ''range'')::int = 1 and not exists (select from public.lost)
         then insert into public.lost values (new.id); return null; end if; return new; end';
        create trigger lose before insert on apalis.jobs for each row execute function public.lose()").await;
    let _workers = world.workers(1);
    let run = world.run_cut(pipeline, &[100]).await.unwrap();
    let walked = "select count(*) from etl.etl_run_ranges where range_no = 1 and finished_at is not null";
    eventually("the end of the range that was lost", || async { (world.number(walked).await == 1).then_some(()) })
        .await;
    assert_eq!(world.number("select count(*) from public.lost").await, 1);
    assert!(world.checkpoint(pipeline).await.unwrap().0 < key(60), "nothing is skipped");
    holder.rollback().await.unwrap();
    world.succeeded(run).await;
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(world.checkpoint(pipeline).await, Some((key(200), Some("200".to_owned()))));
    world.assert_ended_once(run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_fails_ends_the_run_for_all_of_them() {
    let world = World::new().await;
    world.items(1, 4000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 10)).await;
    world.sql("alter table analytics.item add constraint bad check (id <> 3005)").await;
    let _workers = world.workers(2);
    let run = world.run_cut(pipeline, &[1000, 2000, 3000]).await.unwrap();
    let failed = world.ended(run).await;
    assert_eq!((failed.status, failed.attempts), (RunStatus::Failed, 1));
    assert_eq!(world.gaps().await, 0);
    world.assert_ended_once(run).await;
    assert_eq!(world.find(run).await.batches, failed.batches, "nothing is committed afterwards");
    world.sql("alter table analytics.item drop constraint bad").await;
    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[derive(Debug, Clone)]
enum Act {
    Run,
    Pause,
    /// A pause that is withdrawn at once.
    Withdrawn,
    /// The job of some range is lost.
    Lose(usize),
    /// A worker is dropped in the middle of whatever it does, and another one starts.
    Kill,
    /// The sessions of the run are ended.
    CutOff,
    /// Batches fail for so many milliseconds.
    Fail(u64),
    /// Lets things happen for so many milliseconds.
    Wait(u64),
}

fn acts() -> impl Strategy<Value = (Vec<i64>, Vec<Act>)> {
    let act = prop_oneof![
        3 => Just(Act::Run),
        2 => Just(Act::Pause),
        2 => Just(Act::Withdrawn),
        2 => (0..4_usize).prop_map(Act::Lose),
        2 => Just(Act::Kill),
        1 => Just(Act::CutOff),
        1 => (0..40_u64).prop_map(Act::Fail),
        4 => (0..60_u64).prop_map(Act::Wait),
    ];
    let cuts = proptest::collection::btree_set(2..700_i64, 1..5).prop_map(|cuts| cuts.into_iter().collect());
    (cuts, proptest::collection::vec(act, 5..25))
}

impl World {
    async fn act(&self, act: Act, pipeline: PipelineId, cuts: &[i64], workers: &mut Vec<RunningWorker>) {
        match act {
            Act::Run => drop(self.run_cut(pipeline, cuts).await),
            Act::Pause => drop(self.pause(pipeline).await),
            Act::Withdrawn => {
                drop(self.pause(pipeline).await);
                drop(self.run_cut(pipeline, cuts).await);
            }
            Act::Lose(range) => {
                self.sql(&format!(
                    "delete from apalis.jobs where id in (select job_id from etl.etl_run_ranges where range_no = {range})
                     and status in ('Pending', 'Queued', 'Running')"
                ))
                .await;
            }
            Act::Kill => {
                workers.remove(0);
                workers.extend(self.workers(1));
            }
            Act::CutOff => {
                self.sql(
                    "select pg_terminate_backend(pid) from pg_stat_activity
                     where datname = current_database() and application_name like 'vitrina-worker ________-%'",
                )
                .await;
            }
            Act::Fail(milliseconds) => {
                self.sql("alter table analytics.item add constraint bad check (id % 5 <> 3) not valid").await;
                // Not a wait for anything: the schedule of the generated case.
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                self.sql("alter table analytics.item drop constraint bad").await;
            }
            Act::Wait(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        }
    }
}

async fn play(cuts: Vec<i64>, acts: Vec<Act>) {
    let world = World::new().await;
    world.items(1, 600).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 10)).await;
    let mut workers = world.workers(2);
    drop(world.run_cut(pipeline, &cuts).await);
    for act in acts {
        world.act(act, pipeline, &cuts, &mut workers).await;
        assert_eq!(world.gaps().await, 0, "rows before the checkpoint that were not written");
    }
    let run = eventually("the good end of a run", || async {
        drop(world.run_cut(pipeline, &cuts).await);
        assert_eq!(world.gaps().await, 0, "rows before the checkpoint that were not written");
        world.text("select id from etl.etl_runs where status = 'SUCCESS' limit 1").await
    })
    .await;
    world.ended(RunId(run.parse().unwrap())).await;
    world.assert_ended_once(RunId(run.parse().unwrap())).await;
    world.assert_same(ITEMS, "analytics.item").await;
    let checkpoint = world.checkpoint(pipeline).await.unwrap();
    assert_eq!(checkpoint, (key(600), Some("600".to_owned())));
    let ends = "select count(*) from (select from etl.etl_transitions where to_status in ('IDLE', 'FAILED')
                group by run_id having count(*) > 1) as twice";
    assert_eq!(world.number(ends).await, 0, "a run ended twice");
}

#[test]
fn any_interleaving_of_several_ranges_leaves_no_gap_before_the_checkpoint() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config =
        ProptestConfig { cases: 8, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&acts(), |(cuts, acts)| {
        runtime.block_on(play(cuts, acts));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
