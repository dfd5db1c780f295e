//! Functions of the database that are called with what happens to a run: once, in its transaction, or not at all.

use serde_json::json;
use vitrina_shared::{
    definitions::{allow_function, revoke_function},
    domain::{
        ErrorClass, HookEvent, Hooks, Mode, OnRowError, PipelineDraft, Run, RunStatus, Status,
        error_class::without_values,
    },
};

use crate::{
    bounds::masked,
    support::{ITEMS, World, draft, eventually, items},
};

/// `shop.note` keeps every call; `shop.fail` keeps it too and then fails with the code and message that `shop.fault` has, or not.
const SHOP: &str = "
    create schema shop;
    create table shop.calls (id bigint generated always as identity, event jsonb not null);
    create table shop.fault (state text, message text, times int);
    create sequence shop.tries;
    create function shop.note(event jsonb) returns void language sql security definer
        as 'insert into shop.calls (event) values (event)';
    create function shop.fail(event jsonb) returns void language plpgsql security definer as $$
        declare
            fault record;
        begin
            insert into shop.calls (event) values (event || '{\"failed\": true}');
            select * into fault from shop.fault;
            if nextval('shop.tries') <= fault.times then
                raise exception using errcode = fault.state, message = fault.message;
            end if;
        end $$;";

async fn allow(world: &World, names: &[&str]) {
    let mut owner = world.db.admin().acquire().await.unwrap();
    for name in names {
        allow_function(&mut owner, name).await.unwrap();
    }
}

/// A world with the shop, whose `shop.fail` fails so often.
async fn shop(state: &str, times: i64) -> World {
    let world = World::with_worker().await;
    world.sql(SHOP).await;
    world.sql(&format!("insert into shop.fault values ('{state}', 'secret \"words\"', {times})")).await;
    allow(&world, &["shop.note", "shop.fail"]).await;
    world
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn noting_everything() -> Hooks {
    let note = || names(&["shop.note"]);
    Hooks { before_run: note(), after_batch: note(), on_success: note(), on_failure: note(), on_row_rejected: note() }
}

fn with_hooks(mut draft: PipelineDraft, hooks: Hooks) -> PipelineDraft {
    draft.options.hooks = hooks;
    draft
}

/// The hooks that note everything, and then a failing one for this event.
fn failing(event: HookEvent) -> Hooks {
    let mut hooks = noting_everything();
    let names = match event {
        HookEvent::BeforeRun => &mut hooks.before_run,
        HookEvent::AfterBatch => &mut hooks.after_batch,
        HookEvent::OnSuccess => &mut hooks.on_success,
        HookEvent::OnFailure => &mut hooks.on_failure,
        HookEvent::OnRowRejected => &mut hooks.on_row_rejected,
    };
    names.push("shop.fail".to_owned());
    hooks
}

/// The events of the run in the order of the calls.
async fn events(world: &World, run: &Run) -> String {
    let calls = format!(
        "select string_agg(event ->> 'event', ' ' order by id) from shop.calls where event ->> 'run_id' = '{}'",
        run.id
    );
    world.text(&calls).await.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_of_a_run_is_told_once_with_what_the_run_has_done_by_then() {
    let world = shop("P0001", 0).await;
    world.items(1, 10).await;
    for (name, mode) in [("incremental", Mode::Incremental), ("full", Mode::Full)] {
        let pipeline = world.pipeline(&with_hooks(items(name, mode, 4), noting_everything())).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!(events(&world, &run).await, "before_run after_batch after_batch after_batch on_success", "{name}");
        let told = format!(
            "select string_agg(concat_ws(' ', event ->> 'status', event ->> 'batch', event ->> 'rows_read', event ->> 'batches'), ', ' order by id)
             from shop.calls where event ->> 'pipeline_id' = '{pipeline}' and event ->> 'pipeline' = '{name}' and event ->> 'mode' = '{name}'"
        );
        let expected = "RUNNING 0 0, RUNNING 0 4 1, RUNNING 1 8 2, RUNNING 2 10 3, SUCCESS 10 3";
        assert_eq!(world.text(&told).await.as_deref(), Some(expected), "{name}");
    }
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_pass_through_a_worker_have_their_hooks_too() {
    let world = shop("P0001", 0).await;
    world.items(1, 10).await;
    let draft = masked(items("masked", Mode::Incremental, 4));
    let pipeline = world.pipeline(&with_hooks(draft, noting_everything())).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!(events(&world, &run).await, "before_run after_batch after_batch after_batch on_success");
    assert_eq!(run.rows_written, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_after_a_pause_has_begun_before() {
    let world = shop("P0001", 0).await;
    world.items(1, 40).await;
    let query = "select i.id, i.name, i.modified from content.item i
                 where (select count(*) from generate_series(1, 30000) g where g <> i.id) > 0";
    let draft = draft("paused", Mode::Incremental, query, "analytics.item", 4);
    let pipeline = world.pipeline(&with_hooks(draft, noting_everything())).await;
    let run = world.run(pipeline).await;
    eventually("a batch", || async { (world.find(run).await.batches > 0).then_some(()) }).await;
    world.pause(pipeline).await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    assert_eq!(world.run(pipeline).await, run);
    let run = world.succeeded(run).await;
    let all = events(&world, &run).await;
    let batches = usize::try_from(run.batches).unwrap();
    assert_eq!(all, format!("before_run{} on_success", " after_batch".repeat(batches)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_is_told_once_after_its_attempts_and_a_cancelled_one_never() {
    let world = shop("P0001", 0).await;
    world.items(1, 10).await;
    world
        .sql(
            "create function analytics.stumble() returns trigger language plpgsql as $$
             begin raise exception using errcode = '40001', message = 'could not serialize access'; end $$;
             create trigger stumble before insert on analytics.item for each statement execute function analytics.stumble()",
        )
        .await;
    let pipeline = world.pipeline(&with_hooks(items("items", Mode::Incremental, 4), noting_everything())).await;
    let run = world.fails(pipeline).await;
    assert_eq!((run.attempts, events(&world, &run).await.as_str()), (4, "before_run on_failure"));
    let told = "select concat_ws(' ', event ->> 'status', event ->> 'error_class', event ->> 'error') from shop.calls
                where event ->> 'event' = 'on_failure'";
    let expected = "FAILED Transient could not serialize access (SQLSTATE 40001)";
    assert_eq!(world.text(told).await.as_deref(), Some(expected));

    let run = world.run(pipeline).await;
    eventually("an attempt", || async { (world.find(run).await.attempts > 0).then_some(()) }).await;
    world.cancel(pipeline).await.unwrap();
    let run = world.ended(run).await;
    assert_eq!((run.status, events(&world, &run).await.as_str()), (RunStatus::Cancelled, "before_run"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_before_the_end_undoes_its_event_and_fails_the_run() {
    for (event, written, called) in [
        (HookEvent::BeforeRun, 0, "on_failure"),
        (HookEvent::AfterBatch, 0, "before_run on_failure"),
        // The rows stay, and what hooks of the success did before that one is undone.
        (HookEvent::OnSuccess, 10, "before_run after_batch after_batch after_batch on_failure"),
    ] {
        let world = shop("P0001", 1).await;
        world.items(1, 10).await;
        let pipeline = world.pipeline(&with_hooks(items("items", Mode::Full, 4), failing(event))).await;
        let run = world.fails(pipeline).await;
        let error = run.error.clone().unwrap();
        assert_eq!(error, format!("hook `shop.fail` of {event} says: secret \"words\" (SQLSTATE P0001)"));
        assert_eq!(without_values(&error), format!("hook `shop.fail` of {event} says: … (SQLSTATE P0001)"));
        assert_eq!((run.error_class, run.attempts), (Some(ErrorClass::Fatal), 1), "{event}");
        assert_eq!(events(&world, &run).await, called, "{event}");
        assert_eq!(world.number("select count(*) from analytics.item").await, written, "{event}");
        world.assert_no_litter().await;
        // The hook fails no more.
        let run = world.succeeds(pipeline).await;
        assert!(events(&world, &run).await.ends_with("on_success"), "{event}");
        world.assert_same(ITEMS, "analytics.item").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_whose_success_is_refused_keeps_what_it_swept_and_swapped() {
    for strategy in ["merge", "swap"] {
        let world = shop("23505", 1).await;
        world.items(1, 10).await;
        world.sql("insert into analytics.item values (99, 'stale', now())").await;
        let mut draft = with_hooks(items(strategy, Mode::Full, 4), failing(HookEvent::OnSuccess));
        draft.options.full_strategy = Some(strategy.parse().unwrap());
        let run = world.fails(world.pipeline(&draft).await).await;
        assert!(run.error.unwrap().starts_with("hook `shop.fail` of on_success"), "{strategy}");
        assert_eq!(run.rows_removed, 1, "{strategy}");
        world.assert_same(ITEMS, "analytics.item").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_of_a_failed_run_that_fails_is_noted_and_the_others_are_called() {
    let world = shop("P0001", 9).await;
    let mut hooks = noting_everything();
    hooks.on_failure = names(&["shop.fail", "shop.note"]);
    let draft =
        draft("brittle", Mode::Full, "select id / 0 as id, name, modified from content.item", "analytics.item", 4);
    world.items(1, 10).await;
    let run = world.fails(world.pipeline(&with_hooks(draft, hooks)).await).await;
    let error = run.error.clone().unwrap();
    let (first, said) = error.split_once('\n').unwrap();
    assert_eq!(first, "division by zero (SQLSTATE 22012)");
    assert_eq!(said, "hook `shop.fail` of on_failure says: secret \"words\" (SQLSTATE P0001)");
    assert_eq!(without_values(&error), "…; hook `shop.fail` of on_failure says: … (SQLSTATE P0001)");
    assert_eq!(events(&world, &run).await, "on_failure", "it failed before it began");
    let reason = "select reason from etl.etl_transitions where to_status = 'FAILED'";
    assert_eq!(world.text(reason).await.as_deref(), Some(first));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hook_keeps_a_failed_run_from_its_end() {
    for (body, expected) in [
        ("perform pg_sleep(600)", "canceling statement due to statement timeout (SQLSTATE 57014)"),
        ("insert into shop.children values (1)", "(SQLSTATE 23503)"),
        ("execute 'prepare planted as select 1'", "(SQLSTATE VT006)"),
        (
            "perform set_config('search_path', 'shop', false)",
            "changed its session: settings or prepared statements (SQLSTATE VT006)",
        ),
    ] {
        let world = World::new().await;
        let name = world.text("select current_database()").await.unwrap();
        world
            .sql(&format!(
                "create schema shop; create table shop.parents (id int primary key);
                 create table shop.children (parent int references shop.parents deferrable initially deferred);
                 create function shop.stay(event jsonb) returns void language plpgsql security definer
                     as $$ begin {body}; end $$;
                 alter role vitrina_app in database {name} set statement_timeout = '2s'"
            ))
            .await;
        allow(&world, &["shop.stay"]).await;
        let _worker = world.worker(&[]);
        world.items(1, 10).await;
        let draft =
            draft("brittle", Mode::Full, "select id / 0 as id, name, modified from content.item", "analytics.item", 4);
        let hooks = Hooks { on_failure: names(&["shop.stay"]), ..Hooks::default() };
        let run = world.fails(world.pipeline(&with_hooks(draft, hooks)).await).await;
        let error = run.error.unwrap();
        assert!(error.starts_with("division by zero") && error.ends_with(expected), "{body}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_for_a_while_repeats_its_event_and_is_told_once() {
    for event in [HookEvent::AfterBatch, HookEvent::OnSuccess] {
        let world = shop("40001", 1).await;
        world.items(1, 10).await;
        let mut hooks = noting_everything();
        match event {
            HookEvent::AfterBatch => hooks.after_batch = names(&["shop.fail"]),
            HookEvent::BeforeRun | HookEvent::OnSuccess | HookEvent::OnFailure | HookEvent::OnRowRejected => {
                hooks.on_success = names(&["shop.fail"]);
            }
        }
        let pipeline = world.pipeline(&with_hooks(items("items", Mode::Incremental, 4), hooks)).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!(run.attempts, 1, "{event}");
        assert_eq!(events(&world, &run).await, "before_run after_batch after_batch after_batch on_success", "{event}");
        world.assert_same(ITEMS, "analytics.item").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_put_aside_is_told_when_its_letter_is_opened_and_not_again_while_it_is_open() {
    let world = shop("P0001", 0).await;
    world.items(1, 10).await;
    world.target("strict", "id bigint, name varchar(10), modified timestamptz", &["id"]).await;
    let long = "update content.item set name = 'much too long a name', modified = now() where id in (3, 7)";
    world.sql(long).await;
    let mut draft = with_hooks(draft("strict", Mode::Incremental, ITEMS, "analytics.strict", 50), noting_everything());
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    let pipeline = world.pipeline(&draft).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!(events(&world, &run).await, "before_run on_row_rejected on_row_rejected after_batch on_success");
    let told = "select string_agg(concat_ws(' ', event -> 'row' ->> 'id', event -> 'row' ->> 'name', event ->> 'batch'), ', ' order by id)
                from shop.calls where event ->> 'event' = 'on_row_rejected' and event ->> 'reason' like 'value too long%'";
    let expected = "3 much too long a name 0, 7 much too long a name 0";
    assert_eq!(world.text(told).await.as_deref(), Some(expected));
    let rejected = "select event ->> 'rows_rejected' from shop.calls where event ->> 'event' = 'after_batch'";
    assert_eq!(world.text(rejected).await.as_deref(), Some("2"));

    world.sql(long).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_rejected, events(&world, &run).await.as_str()), (2, "before_run after_batch on_success"));

    // Once its letter is closed, the row is new.
    world.sql("update etl.etl_dead_letters set replayed_at = now() where key = '{\"id\": 7}'").await;
    world.sql(long).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!(events(&world, &run).await, "before_run on_row_rejected after_batch on_success");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_for_a_rejected_row_fails_the_run_and_keeps_no_letter() {
    let world = shop("P0001", 9).await;
    world.items(1, 10).await;
    world.target("strict", "id bigint, name varchar(3), modified timestamptz", &["id"]).await;
    let mut draft =
        with_hooks(draft("strict", Mode::Full, ITEMS, "analytics.strict", 50), failing(HookEvent::OnRowRejected));
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    let run = world.fails(world.pipeline(&draft).await).await;
    assert!(run.error.clone().unwrap().starts_with("hook `shop.fail` of on_row_rejected says: "), "{:?}", run.error);
    assert_eq!(events(&world, &run).await, "before_run on_failure");
    assert_eq!(world.number("select count(*) from etl.etl_dead_letters").await, 0);
    assert_eq!(world.number("select count(*) from analytics.strict").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_left_the_list_fails_the_next_run_before_it_reads() {
    let world = shop("P0001", 0).await;
    world.items(1, 10).await;
    let hooks = Hooks { on_failure: names(&["shop.note"]), after_batch: names(&["shop.fail"]), ..Hooks::default() };
    let pipeline = world.pipeline(&with_hooks(items("items", Mode::Full, 4), hooks)).await;
    world.succeeds(pipeline).await;
    revoke_function(&mut world.db.admin().acquire().await.unwrap(), "shop.fail").await.unwrap();
    let run = world.fails(pipeline).await;
    let error = run.error.clone().unwrap();
    assert!(error.starts_with("options.hooks.after_batch[0]: `shop.fail` is not on the list"), "{error}");
    assert!(error.contains("vitrina hooks allow shop.fail"), "{error}");
    assert_eq!((run.rows_read, events(&world, &run).await.as_str()), (0, "on_failure"));
    let shown = json!(
        world
            .text("select event - 'run_id' - 'pipeline_id' from shop.calls where event ->> 'event' = 'on_failure'")
            .await
    );
    assert!(shown.to_string().contains("Fatal"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_no_worker_survives_is_told_as_failed() {
    let mut world = World::new().await;
    world.sql(SHOP).await;
    allow(&world, &["shop.note"]).await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&with_hooks(items("items", Mode::Full, 4), noting_everything())).await;
    let run = world.run(pipeline).await;
    world
        .sql(
            "insert into apalis.workers (id, worker_type, storage_name, started_at, last_seen)
             values ('gone', 'vitrina:batches', 'test', now(), now() - interval '1 minute');
             update apalis.jobs set status = 'Running', lock_by = 'gone', lock_at = now(), attempts = max_attempts - 1",
        )
        .await;
    world.start_worker(&[]);
    let run = world.ended(run).await;
    assert_eq!(run.error.as_deref(), Some("every worker that took this batch died"));
    assert_eq!(events(&world, &run).await, "on_failure");
}
