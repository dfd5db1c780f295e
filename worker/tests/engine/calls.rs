//! The step `http` against a service of this machine: what is asked, what is remembered, and what becomes of rows.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use uuid::Uuid;
use vitrina_shared::domain::{ErrorClass, Mode, OnRowError, PipelineDraft, RunStatus};

use crate::{
    rust_steps::through,
    service::{Answer, Asked, Service},
    support::{ITEMS, World, draft, eventually},
};

pub const MART: &str = "id bigint, name text, modified timestamptz, shout text";
/// What the service makes of an item.
pub const SHOUTED: &str = "select id, name, modified, upper(name) from content.item";

/// Answers with the name in capitals.
pub fn shouts(asked: &Asked, _: usize) -> Answer {
    Answer::of(200, json!({"shout": asked.json()["name"].as_str().map(str::to_uppercase)}))
}

pub async fn world(service: &Service, settings: &[(&str, &str)]) -> World {
    let mut world = World::new().await;
    world.target("shouted", MART, &["id"]).await;
    let hosts = service.address.to_string();
    world.start_worker(&[&[("VITRINA_HTTP_HOSTS", hosts.as_str())], settings].concat());
    world
}

/// A pipeline of items whose names the service shouts.
pub fn shouting(service: &Service, mode: Mode, changes: &Value) -> PipelineDraft {
    let mut options = json!({
        "url": service.url("/shout"),
        "body": "{\"name\": {{ name | tojson }}}",
        "columns": {"shout": {"path": "/shout", "type": "text"}},
    });
    for (name, value) in changes.as_object().unwrap() {
        options[name] = value.clone();
    }
    let name = format!("shouted_{}", mode.as_str());
    through(draft(&name, mode, ITEMS, "analytics.shouted", 40), &[("http", options)])
}

/// The same where rows may be put aside.
pub fn with_letters(draft: PipelineDraft) -> PipelineDraft {
    let mut draft = draft;
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    draft
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_is_asked_for_once_and_again_only_after_a_change() {
    let service = Service::start(shouts).await;
    let world = world(&service, &[]).await;
    world.items(1, 100).await;
    for mode in [Mode::Full, Mode::Incremental] {
        world.sql("truncate analytics.shouted").await;
        service.forget();
        let pipeline = world.pipeline(&shouting(&service, mode, &json!({}))).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_read, run.rows_written), (100, 100), "{mode:?}");
        world.assert_same(SHOUTED, "analytics.shouted").await;
        let mut names: Vec<_> = service.asked().iter().map(|asked| asked.body.clone()).collect();
        names.sort();
        names.dedup();
        assert_eq!((service.asked().len(), names.len()), (100, 100), "{mode:?}");

        service.forget();
        assert_eq!(world.succeeds(pipeline).await.rows_written, 0, "{mode:?}");
        assert_eq!(service.asked().len(), 0, "{mode:?}: nothing changed");
        world.reset(pipeline).await.unwrap();
        assert_eq!(world.succeeds(pipeline).await.rows_written, 0, "{mode:?}: read again");
        assert_eq!(service.asked().len(), 0, "{mode:?}: remembered");

        world.sql("update content.item set name = 'new', modified = now() where id in (3, 4)").await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 2, "{mode:?}");
        assert_eq!(service.asked().len(), 1, "{mode:?}: both ask for the same");
        world.assert_same(SHOUTED, "analytics.shouted").await;
        world.sql("update content.item set name = 'item ' || id, modified = modified + interval '1 ms'").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_thrice_and_what_is_refused_is_put_aside_and_the_refused_is_never_asked_again() {
    let service = Service::start(|asked, before| match asked.json()["name"].as_str() {
        Some("item 1") => Answer::of(503, "not well"),
        Some("item 2") => Answer::of(422, "no such word"),
        Some("item 3") => Answer::of(200, "<html>"),
        Some("item 4") if before < 6 => Answer::of(500, ""),
        Some("item 5") => Answer::of(200, json!({"shout": {"not": "a text"}})),
        _ => shouts(asked, before),
    })
    .await;
    let world = world(&service, &[]).await;
    world.items(1, 8).await;
    let pipeline =
        world.pipeline(&with_letters(shouting(&service, Mode::Incremental, &json!({"concurrency": 8})))).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.rows_rejected, run.attempts), (4, 4, 0));
    let count = |name: &str| service.asked().iter().filter(|asked| asked.json()["name"] == name).count();
    assert_eq!([count("item 1"), count("item 2"), count("item 3"), count("item 5"), count("item 6")], [3, 1, 3, 1, 1]);
    for (id, reason) in [
        (1, "answers 503: not well"),
        (2, "answers 422: no such word"),
        (3, "the answer is no JSON"),
        (5, "column `shout`"),
    ] {
        let sql = format!("select error from etl.etl_dead_letters where key ->> 'id' = '{id}'");
        let error = world.text(&sql).await.unwrap();
        assert!(error.starts_with("step `http` says: ") && error.contains(reason), "{error}");
    }
    let keys = || -> BTreeSet<_> {
        let of = |asked: &Asked| (asked.body.clone(), asked.header("idempotency-key").unwrap().to_owned());
        service.asked().iter().map(of).filter(|(body, _)| body.contains("item 1") || body.contains("item 3")).collect()
    };
    let given_up = keys();
    service.forget();
    world.reset(pipeline).await.unwrap();
    world.succeeds(pipeline).await;
    assert_eq!([count("item 1"), count("item 2"), count("item 3"), count("item 5"), count("item 6")], [3, 0, 3, 0, 0]);
    assert_eq!((keys(), given_up.len()), (given_up, 2), "an input keeps its key, whichever run sends it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_quota_ends_the_run_at_once() {
    let service = Service::start(|_, _| Answer::of(402, "pay first")).await;
    let world = world(&service, &[]).await;
    world.items(1, 20).await;
    let pipeline = world.pipeline(&with_letters(shouting(&service, Mode::Full, &json!({"concurrency": 1})))).await;
    let run = world.fails(pipeline).await;
    assert_eq!(run.error_class, Some(ErrorClass::Quota));
    assert!(run.error.unwrap().contains("answers 402: pay first"));
    assert!(service.asked().len() <= 2, "{}", service.asked().len());
    assert_eq!(world.number("select count(*) from analytics.shouted").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_works_for_a_while_is_polled_and_nothing_is_held_meanwhile() {
    let service = Service::start(|asked, _| match asked.path.as_str() {
        "/shout" => Answer::of(202, json!({"id": asked.json()["name"].as_str().unwrap().trim_start_matches("item ")})),
        "/jobs/3" => Answer::of(200, json!({"state": "failed", "why": "too loud"})),
        "/jobs/4" => Answer::of(200, json!({"state": "on its way"})),
        path => Answer::of(200, json!({"state": "done", "shout": format!("ITEM {}", &path[6..])})),
    })
    .await;
    let world = world(&service, &[]).await;
    world.items(1, 5).await;
    let poll = json!({
        "id": "/id", "url": service.url("/jobs/{{ id }}"), "state": "/state", "done": ["done"], "failed": ["failed"],
        "every_seconds": 2, "deadline_seconds": 5,
    });
    let pipeline = world.pipeline(&with_letters(shouting(&service, Mode::Full, &json!({"poll": poll})))).await;
    let run = world.run(pipeline).await;
    let submitted = "select count(*) from etl.etl_calls where state = 'SUBMITTED'";
    eventually("all submitted and the batch given back", || async {
        let waits = "select count(*) from apalis.jobs where status = 'Pending' and run_at > now()";
        (world.number(submitted).await == 5 && world.number(waits).await == 1).then_some(())
    })
    .await;
    let open =
        "select count(*) from pg_stat_activity where application_name like 'vitrina-worker%' and xact_start is not null
                and datname = current_database()";
    assert_eq!(world.number(open).await, 0, "no transaction is open while the service works");
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_written, run.rows_rejected, run.attempts), (3, 2, 0));
    let submits = service.asked().iter().filter(|asked| asked.path == "/shout").count();
    assert_eq!(submits, 5, "each is submitted once");
    let reasons = "select string_agg(error, ' ' order by key ->> 'id') from etl.etl_dead_letters";
    let reasons = world.text(reasons).await.unwrap();
    assert!(reasons.contains("too loud") && reasons.contains("no result after 5 seconds"), "{reasons}");
}

/// A worker that died with a request on its way: the next attempt sends the same key, by which the service knows the call.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_lost_with_its_worker_is_sent_again_with_the_same_idempotency_key() {
    let service = Service::start(|asked, before| match before {
        0 => Answer { closes: true, after: Duration::from_millis(100), ..Answer::default() },
        _ => shouts(asked, before),
    })
    .await;
    let world = world(&service, &[]).await;
    world.items(1, 1).await;
    let pipeline = world.pipeline(&shouting(&service, Mode::Full, &json!({}))).await;
    world.succeeds(pipeline).await;
    let keys: Vec<_> =
        service.asked().iter().map(|asked| asked.header("idempotency-key").unwrap().to_owned()).collect();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));

    let lost = Uuid::new_v4();
    service.forget();
    world
        .sql(&format!(
            "update etl.etl_calls set state = 'SENDING', answer = null, answered_at = null, idempotency_key = '{lost}',
             leased_until = clock_timestamp() - interval '1 second'; truncate analytics.shouted"
        ))
        .await;
    world.reset(pipeline).await.unwrap();
    world.succeeds(pipeline).await;
    let mut keys: Vec<_> =
        service.asked().iter().map(|asked| asked.header("idempotency-key").unwrap().to_owned()).collect();
    keys.dedup();
    assert_eq!(keys, [lost.to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_rows_are_asked_for_at_once_and_one_that_is_at_fault_is_found() {
    let service = Service::start(|asked, _| {
        let names: Vec<_> =
            asked.json().as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
        if names.iter().any(|name| name == "item 7") {
            return Answer::of(400, "cannot shout that");
        }
        let items: Vec<_> = names.iter().map(|name| json!({"shout": name.to_uppercase()})).collect();
        Answer::of(200, json!({"items": items}))
    })
    .await;
    let world = world(&service, &[]).await;
    world.items(1, 40).await;
    let options =
        json!({"rows_per_call": 10, "input": ["name"], "answers_at": "/items", "body": "{{ rows | tojson }}"});
    let pipeline = world.pipeline(&with_letters(shouting(&service, Mode::Incremental, &options))).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.rows_rejected), (39, 1));
    world.assert_same(&format!("{SHOUTED} where id <> 7"), "analytics.shouted").await;
    assert_eq!(service.asked().len(), 4 + 10, "the rows of one request were asked for one by one");
    service.forget();
    world.sql("update content.item set name = 'new', modified = now() where id = 9").await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 1);
    assert_eq!(service.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entity_is_asked_for_again_when_its_input_changes_and_two_of_it_must_agree() {
    let service = Service::start(shouts).await;
    let world = world(&service, &[]).await;
    world.items(1, 4).await;
    world.sql("update content.item set name = 'item 1' where id = 2").await;
    let entity = json!({"entity": ["id"]});
    let pipeline = world.pipeline(&with_letters(shouting(&service, Mode::Full, &entity))).await;
    world.succeeds(pipeline).await;
    assert_eq!(service.asked().len(), 4, "one call for each entity");
    world.sql("update content.item set name = 'other' where id = 1").await;
    world.succeeds(pipeline).await;
    assert_eq!(service.asked().len(), 5);
    world.sql("update content.item set name = 'item 1' where id = 1").await;
    world.succeeds(pipeline).await;
    assert_eq!(service.asked().len(), 6, "the last input of an entity is remembered");
    assert_eq!(world.number("select count(*) from etl.etl_calls").await, 4);

    let mut draft = with_letters(shouting(&service, Mode::Full, &json!({"entity": ["modified"]})));
    draft.name = "disagreeing".to_owned();
    world.sql("update content.item set modified = '2026-01-01'").await;
    let other = world.target("other", MART, &["id"]);
    other.await;
    draft.target_table = "analytics.other".to_owned();
    let pipeline = world.pipeline(&draft).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.rows_rejected), (2, 2), "the others ask for something else");
}

/// A plan may ask two services about one entity: neither takes the other's call for its own.
#[tokio::test(flavor = "multi_thread")]
async fn two_steps_that_ask_about_one_entity_remember_a_call_each() {
    let service = Service::start(|asked, before| match asked.path.as_str() {
        "/whisper" => Answer::of(200, json!({"whisper": asked.json()["name"].as_str().map(str::to_lowercase)})),
        _ => shouts(asked, before),
    })
    .await;
    let world = world(&service, &[]).await;
    world.items(1, 4).await;
    let step = |path: &str| {
        json!({
            "url": service.url(&format!("/{path}")), "body": "{\"name\": {{ name | tojson }}}", "entity": ["id"],
            "columns": {path: {"path": format!("/{path}"), "type": "text"}},
        })
    };
    world.target("both", &format!("{MART}, whisper text"), &["id"]).await;
    let draft = draft("both", Mode::Full, ITEMS, "analytics.both", 40);
    let pipeline = world.pipeline(&through(draft, &[("http", step("shout")), ("http", step("whisper"))])).await;
    for (asked, why) in [(8, "each step asks about each item"), (8, "and remembers its own answers")] {
        world.succeeds(pipeline).await;
        assert_eq!(service.asked().len(), asked, "{why}");
    }
    world.assert_same("select id, name, modified, upper(name), lower(name) from content.item", "analytics.both").await;
}

/// What became of calls is counted where their answers are noted.
#[tokio::test(flavor = "multi_thread")]
async fn calls_are_counted_by_what_became_of_them() {
    assert!(vitrina_shared::metrics::recorder().is_some());
    let service = Service::start(|asked, before| match (asked.json()["name"].as_str(), before) {
        (Some("item 1"), _) => Answer::of(422, "no such word"),
        (Some("item 2"), _) => Answer::of(503, "not well"),
        (_, 0..3) => Answer::of(429, "").with("retry-after", 1),
        _ => shouts(asked, before),
    })
    .await;
    let world = world(&service, &[]).await;
    world.items(1, 4).await;
    let mut draft = with_letters(shouting(&service, Mode::Full, &json!({"concurrency": 1})));
    draft.name = "counted_calls".to_owned();
    let pipeline = world.pipeline(&draft).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.rows_rejected), (2, 2));
    let shown = vitrina_shared::metrics::render();
    let count = |metric: &str, label: &str| {
        let series = format!("{metric}{{pipeline=\"counted_calls\"{label}}} ");
        let line = shown.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap_or_else(|| panic!("{series}: {shown}")).parse::<u64>().unwrap()
    };
    let calls = |outcome: &str| count("vitrina_calls_total", &format!(",outcome=\"{outcome}\""));
    assert_eq!((calls("done"), calls("refused"), calls("temporary"), calls("failed")), (2, 1, 2, 1));
    assert_eq!((calls("quota"), calls("submitted"), calls("unauthorized")), (0, 0, 0));
    assert!(calls("limited") > 0);
    let asked = u64::try_from(service.asked().len()).unwrap();
    assert_eq!(count("vitrina_call_duration_seconds_count", ""), asked);
}

/// An answer may be paid for: it is noted though the run was cancelled while it was on its way.
#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_a_cancelled_run_is_kept_for_the_next_one() {
    let service = Service::start(|asked, before| shouts(asked, before).after(Duration::from_secs(2))).await;
    let world = world(&service, &[]).await;
    world.items(1, 1).await;
    let pipeline = world.pipeline(&shouting(&service, Mode::Full, &json!({}))).await;
    let run = world.run(pipeline).await;
    eventually("the request", || async { (service.asked().len() == 1).then_some(()) }).await;
    world.cancel(pipeline).await.unwrap();
    assert_eq!(world.ended(run).await.status, RunStatus::Cancelled);
    let done = "select count(*) from etl.etl_calls where state = 'DONE'";
    eventually("the note of the answer", || async { (world.number(done).await == 1).then_some(()) }).await;
    world.succeeds(pipeline).await;
    world.assert_same(SHOUTED, "analytics.shouted").await;
    assert_eq!(service.asked().len(), 1);
}
