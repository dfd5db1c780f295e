//! Keys and limits of the step `http`: which key a request takes, and how many there are in a second.

use std::time::Duration;

use serde_json::json;
use vitrina_shared::{
    domain::{ErrorClass, Mode, advice::Facts},
    store::{
        limits::{self, Rate},
        pool_keys::{self, Chosen},
    },
};

use crate::{
    calls::{MART, SHOUTED, shouting, shouts, with_letters, world},
    service::{Answer, Asked, Service},
    support::World,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_limited_key_rests_and_a_refused_one_is_set_aside_while_others_go_on() {
    let (slow, bad, good) = ("key-that-is-slow-1", "key-that-is-bad-12", "key-that-is-good-1");
    let service = Service::start(move |asked, before| match asked.header("x-key") {
        Some("k key-that-is-slow-1") => Answer::of(429, "slow down").with("retry-after", 600),
        Some("k key-that-is-bad-12") => Answer::of(401, "who are you"),
        Some("k key-that-is-good-1") if asked.json()["name"] == "item 30" => {
            Answer::of(422, "not with key-that-is-good-1 and key-that-is-slow-1")
        }
        Some("k key-that-is-good-1") => shouts(asked, before),
        _ => Answer::of(400, "no key"),
    })
    .await;
    let keys = [slow, bad, good].join(",");
    let receivers = format!("SHOUT={}", service.address);
    let settings = [("VITRINA_KEYS_SHOUT", keys.as_str()), ("VITRINA_HTTP_KEYS", receivers.as_str())];
    let world = world(&service, &settings).await;
    world.items(1, 30).await;
    let options = json!({"keys": {"pool": "SHOUT", "header": "X-Key", "prefix": "k "}});
    let pipeline = world.pipeline(&with_letters(shouting(&service, Mode::Full, &options))).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.rows_rejected, run.attempts), (29, 1, 0));
    world.assert_same(&format!("{SHOUTED} where id < 30"), "analytics.shouted").await;
    let reason = world.text("select min(error) from etl.etl_dead_letters").await.unwrap();
    assert!(reason.contains("answers 422: not with *** and ***"), "no key of the pool is in it: {reason}");
    let used = |key: &str| {
        service.asked().iter().filter(|asked| asked.header("x-key").is_some_and(|used| used.ends_with(key))).count()
    };
    assert!(used(slow) <= 4 && used(bad) <= 4, "no more than were under way at once: {} {}", used(slow), used(bad));
    let known = "select count(*) filter (where rests_until > now() + interval '9 minutes') || ' ' || count(*) filter (where refused_at is not null)
                 from etl.etl_pool_keys where pool = 'SHOUT'";
    assert_eq!(world.text(known).await.as_deref(), Some("1 1"));
    let shown = "select string_agg(k::text, ' ') from etl.etl_pool_keys k";
    assert!(!world.text(shown).await.unwrap().contains("key-that"), "no table has a key");

    world.sql("update etl.etl_pool_keys set refused_at = now(), refused_reason = '401'").await;
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
    pool_keys::introduce(&mut connection, "SHOUT", &fingerprints).await.unwrap();
    pool_keys::rest(&mut connection, "SHOUT", &fingerprints[0], Some(Duration::from_secs(600))).await.unwrap();
    let mut other = world.db.pool().begin().await.unwrap();
    let key = Chosen::Key(fingerprints[1].clone());
    assert_eq!(pool_keys::choose(&mut other, "SHOUT", &fingerprints).await.unwrap(), key);
    let chosen = pool_keys::choose(&mut connection, "SHOUT", &fingerprints).await.unwrap();
    assert_eq!(chosen, Chosen::Resting(Duration::ZERO));
    other.commit().await.unwrap();
    assert_eq!(pool_keys::choose(&mut connection, "SHOUT", &fingerprints).await.unwrap(), key);
    pool_keys::refuse(&mut connection, "SHOUT", &fingerprints[1], "401").await.unwrap();
    let Chosen::Resting(rests) = pool_keys::choose(&mut connection, "SHOUT", &fingerprints).await.unwrap() else {
        panic!("the other key rests");
    };
    assert!((Duration::from_secs(500)..=Duration::from_secs(600)).contains(&rests), "{rests:?}");
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
    // A request may be on its way for half a second longer than the one after it, on a busy machine.
    let most = asked.iter().map(|first| {
        let within = |other: &&Asked| other.at >= first.at && other.at < first.at + Duration::from_millis(500);
        asked.iter().filter(within).count()
    });
    assert!(most.max() <= Some(5 + 20), "no second has more than burst and rate");
    let took = asked[74].at - asked[0].at;
    assert!(took >= Duration::from_secs_f64((75.0 - 5.0) / 20.0 - 0.5), "{took:?}: 70 tokens take 3.5 seconds");
}
