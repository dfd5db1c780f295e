//! The step `http` and servers that it may not call, or whose answers it may not take.

use serde_json::json;
use uuid::Uuid;
use vitrina_shared::domain::{ErrorClass, Mode};

use crate::{
    calls::{MART, SHOUTED, shouting, shouts, with_letters, world},
    service::{Answer, Service},
    support::World,
};

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
    let world = world(&service, &[("VITRINA_KEYS_OTHER", "0123456789abcdef")]).await;
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
        (json!({"keys": {"pool": "OTHER"}}), "keys of VITRINA_KEYS_OTHER may not be sent to 127.0.0.1"),
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
