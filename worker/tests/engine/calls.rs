//! The step `http` against a service of this machine: what is asked, what is remembered, and what becomes of rows.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use vitrina_shared::{
    domain::{ErrorClass, Mode, OnRowError, PipelineDraft, RunStatus, advice::Facts},
    store::{
        call_keys::{self, Chosen},
        limits::{self, Rate},
    },
};

use crate::{
    rust_steps::through,
    service::{Answer, Asked, Service},
    support::{ITEMS, World, draft, eventually},
};

const MART: &str = "id bigint, name text, modified timestamptz, shout text";
/// What the service makes of an item.
const SHOUTED: &str = "select id, name, modified, upper(name) from content.item";

/// Answers with the name in capitals.
fn shouts(asked: &Asked, _: usize) -> Answer {
    Answer::of(200, json!({"shout": asked.json()["name"].as_str().map(str::to_uppercase)}))
}

async fn world(service: &Service, settings: &[(&str, &str)]) -> World {
    let mut world = World::new().await;
    world.target("shouted", MART, &["id"]).await;
    let hosts = service.address.to_string();
    world.start_worker(&[&[("VITRINA_HTTP_HOSTS", hosts.as_str())], settings].concat());
    world
}

/// A pipeline of items whose names the service shouts.
fn shouting(service: &Service, mode: Mode, changes: &Value) -> PipelineDraft {
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
fn with_letters(draft: PipelineDraft) -> PipelineDraft {
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
    service.forget();
    world.reset(pipeline).await.unwrap();
    world.succeeds(pipeline).await;
    let mut asked: Vec<_> = service.asked().iter().map(|asked| asked.json()["name"].clone()).collect();
    asked.dedup();
    assert_eq!([count("item 1"), count("item 2"), count("item 3"), count("item 5"), count("item 6")], [3, 0, 3, 0, 0]);
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
async fn a_limited_key_rests_and_a_refused_one_is_set_aside_while_others_go_on() {
    let (slow, bad, good) = ("key-that-is-slow-1", "key-that-is-bad-12", "key-that-is-good-1");
    let service = Service::start(move |asked, before| match asked.header("x-key") {
        Some("k key-that-is-slow-1") => Answer::of(429, "slow down").with("retry-after", 600),
        Some("k key-that-is-bad-12") => Answer::of(401, "who are you"),
        Some("k key-that-is-good-1") => shouts(asked, before),
        _ => Answer::of(400, "no key"),
    })
    .await;
    let keys = [slow, bad, good].join(",");
    let world = world(&service, &[("VITRINA_KEYS_SHOUT", &keys)]).await;
    world.items(1, 30).await;
    let options = json!({"keys": {"pool": "SHOUT", "header": "X-Key", "prefix": "k "}});
    let pipeline = world.pipeline(&shouting(&service, Mode::Full, &options)).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.rows_rejected, run.attempts), (30, 0, 0));
    world.assert_same(SHOUTED, "analytics.shouted").await;
    let used = |key: &str| {
        service.asked().iter().filter(|asked| asked.header("x-key").is_some_and(|used| used.ends_with(key))).count()
    };
    assert!(used(slow) <= 4 && used(bad) <= 4, "no more than were under way at once: {} {}", used(slow), used(bad));
    let known = "select count(*) filter (where rests_until > now() + interval '9 minutes') || ' ' || count(*) filter (where refused_at is not null)
                 from etl.etl_call_keys where pool = 'SHOUT'";
    assert_eq!(world.text(known).await.as_deref(), Some("1 1"));
    let shown = "select string_agg(k::text, ' ') from etl.etl_call_keys k";
    assert!(!world.text(shown).await.unwrap().contains("key-that"), "no table has a key");

    world.sql("update etl.etl_call_keys set refused_at = now(), refused_reason = '401'").await;
    world.sql("update content.item set name = 'changed'").await;
    let run = world.fails(pipeline).await;
    assert_eq!(run.error_class, Some(ErrorClass::Quota));
    assert!(run.error.unwrap().contains("accepts none of the keys of VITRINA_KEYS_SHOUT"));
}

/// A call that finds the only usable key locked by another one asks again at once, however long the other keys rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_another_call_is_taking_does_not_count_as_one_that_rests() {
    let world = World::new().await;
    let fingerprints = ["0123456789abcdef", "123456789abcdef0"].map(str::to_owned);
    let mut connection = world.db.pool().acquire().await.unwrap();
    call_keys::introduce(&mut connection, "SHOUT", &fingerprints).await.unwrap();
    call_keys::rest(&mut connection, "SHOUT", &fingerprints[0], Some(Duration::from_secs(600))).await.unwrap();
    let mut other = world.db.pool().begin().await.unwrap();
    let key = Chosen::Key(fingerprints[1].clone());
    assert_eq!(call_keys::choose(&mut other, "SHOUT", &fingerprints).await.unwrap(), key);
    let chosen = call_keys::choose(&mut connection, "SHOUT", &fingerprints).await.unwrap();
    assert_eq!(chosen, Chosen::Resting(Duration::ZERO));
    other.commit().await.unwrap();
    assert_eq!(call_keys::choose(&mut connection, "SHOUT", &fingerprints).await.unwrap(), key);
    call_keys::refuse(&mut connection, "SHOUT", &fingerprints[1], "401").await.unwrap();
    let Chosen::Resting(rests) = call_keys::choose(&mut connection, "SHOUT", &fingerprints).await.unwrap() else {
        panic!("the other key rests");
    };
    assert!((Duration::from_secs(500)..=Duration::from_secs(600)).contains(&rests), "{rests:?}");
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

/// Several workers share a limit: the service sees no more in any second.
#[tokio::test(flavor = "multi_thread")]
async fn no_second_has_more_calls_than_a_limit_allows_over_all_workers() {
    let service = Service::start(|asked, before| shouts(asked, before).after(Duration::from_millis(30))).await;
    let mut world = world(&service, &[]).await;
    let hosts = service.address.to_string();
    for _ in 0..2 {
        world.start_worker(&[("VITRINA_HTTP_HOSTS", &hosts)]);
    }
    let mut connection = world.db.pool().acquire().await.unwrap();
    limits::put(&mut connection, "shouts", Rate { tokens: 20, period_seconds: 1.0, burst: 5 }).await.unwrap();
    let mut runs = Vec::new();
    for group in 0..3 {
        let (table, mut draft) =
            (format!("shouted_{group}"), shouting(&service, Mode::Full, &json!({"limit": "shouts"})));
        world.target(&table, MART, &["id"]).await;
        draft.name = table.clone();
        draft.target_table = format!("analytics.{table}");
        draft.tasks[0].body = format!("select id, name || ' {group}' as name, modified from content.item");
        runs.push(world.pipeline(&draft).await);
    }
    world.items(1, 25).await;
    let mut requested = Vec::new();
    for pipeline in runs {
        requested.push(world.run(pipeline).await);
    }
    for run in requested {
        let run = world.succeeded(run).await;
        assert_eq!((run.rows_written, run.attempts), (25, 0));
        let advice = Facts::of(&run).unwrap().advice();
        assert!(advice[0].starts_with("the limit `shouts` held the run back"), "{advice:?} {:?}", run.steps);
    }
    let asked = service.asked();
    assert_eq!(asked.len(), 75);
    // A request may be on its way for longer than the one after it: 100 ms more than a second are looked at.
    let most = asked.iter().map(|first| {
        let within = |other: &&Asked| other.at >= first.at && other.at < first.at + Duration::from_millis(900);
        asked.iter().filter(within).count()
    });
    assert!(most.max() <= Some(5 + 20), "no second has more than burst and rate");
    let took = asked[74].at - asked[0].at;
    assert!(took >= Duration::from_secs_f64((75.0 - 5.0) / 20.0 - 0.5), "{took:?}: 70 tokens take 3.5 seconds");
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

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_called_is_not_and_the_run_says_so_before_its_first_batch() {
    let other = Service::start(shouts).await;
    let elsewhere = other.url("/shout");
    let service = Service::start(move |asked, before| match asked.path.as_str() {
        "/away" => Answer::of(307, "").with("location", &elsewhere),
        "/round" => Answer::of(307, "").with("location", "/shout"),
        "/ill" => Answer::of(500, ""),
        "/long" => Answer::of(200, json!({"shout": "x".repeat(2000)})),
        _ => shouts(asked, before),
    })
    .await;
    let world = world(&service, &[]).await;
    world.items(1, 2).await;
    let port = service.address.port();
    for (changes, expected) in [
        (json!({"url": other.url("/shout")}), "is not in VITRINA_HTTP_HOSTS"),
        (json!({"url": "http://169.254.169.254/latest"}), "is not in VITRINA_HTTP_HOSTS"),
        (json!({"url": format!("http://localhost:{port}/shout")}), "is not in VITRINA_HTTP_HOSTS"),
        (json!({"url": service.url("/away")}), "leads to another server"),
        (json!({"health": service.url("/ill")}), "the service is not well"),
        (json!({"health": other.url("/")}), "is not in VITRINA_HTTP_HOSTS"),
        (json!({"limit": "nothing"}), "there is no limit `nothing`"),
        (json!({"keys": {"pool": "NONE"}}), "set VITRINA_KEYS_NONE"),
    ] {
        let mut draft = shouting(&service, Mode::Full, &changes);
        draft.name = format!("p{}", Uuid::new_v4().simple());
        let pipeline = world.pipeline(&draft).await;
        let run = world.fails(pipeline).await;
        let error = run.error.unwrap();
        assert!(error.contains(expected), "{changes}: {error}");
        assert_eq!(run.error_class, Some(ErrorClass::Fatal), "{changes}: {error}");
        world.sql(&format!("delete from etl.etl_pipelines where id = '{}'", pipeline)).await;
    }
    assert_eq!(other.asked().len(), 0, "nothing came to the other server");
    let pipeline = world
        .pipeline(&shouting(&service, Mode::Full, &json!({"url": service.url("/round"), "health": service.url("/")})))
        .await;
    world.succeeds(pipeline).await;
    world.assert_same(SHOUTED, "analytics.shouted").await;
    world.sql(&format!("delete from etl.etl_pipelines where id = '{pipeline}'")).await;
    let long = json!({"url": service.url("/long"), "max_answer_bytes": 1000});
    let pipeline = world.pipeline(&with_letters(shouting(&service, Mode::Full, &long))).await;
    world.succeeds(pipeline).await;
    let reason = world.text("select min(error) from etl.etl_dead_letters").await.unwrap();
    assert!(reason.contains("answers more than 1000 bytes"), "{reason}");
}

/// A name may be on the list and yet lead inside.
#[tokio::test(flavor = "multi_thread")]
async fn a_listed_name_that_resolves_to_this_machine_is_not_called() {
    let service = Service::start(shouts).await;
    let mut world = World::new().await;
    world.target("shouted", MART, &["id"]).await;
    world.start_worker(&[("VITRINA_HTTP_HOSTS", "localhost")]);
    world.items(1, 1).await;
    let url = json!({"url": format!("http://localhost:{}/shout", service.address.port())});
    let pipeline = world.pipeline(&with_letters(shouting(&service, Mode::Full, &url))).await;
    world.succeeds(pipeline).await;
    let reason = world.text("select min(error) from etl.etl_dead_letters").await.unwrap();
    assert!(reason.contains("inside of a network"), "{reason}");
    assert_eq!(service.asked().len(), 0);
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
