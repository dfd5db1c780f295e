//! The stream of events: in order, none lost, none twice.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};
use vitrina_shared::{
    domain::Trigger,
    lifecycle::{self, Cause, WantedRun},
    progress::{self, Progress},
};

use crate::support::{Api, Event, SOON, eventually, expect, expect_problem, within};

const TEST: Cause<'static> = Cause { actor: "test", correlation_id: "test" };

/// Logs this many transitions at once, each with a long reason.
pub async fn log_many(api: &Api, count: i32, reason: usize) {
    sqlx::query(
        "insert into etl.etl_transitions (pipeline_id, pipeline, from_status, to_status, actor, reason)
         select p.id, p.name, 'IDLE', 'IDLE', 'test', repeat('x', $2)
         from etl.etl_pipelines p, generate_series(1, $1)",
    )
    .bind(count)
    .bind(i32::try_from(reason).unwrap())
    .execute(api.db.pool())
    .await
    .unwrap();
}

/// Runs and cancels once, without the API: two transitions.
pub async fn two_transitions(api: &Api, pipeline: &str) {
    let Ok(pipeline) = pipeline.parse();
    lifecycle::request_run(api.db.pool(), &pipeline, WantedRun::by(Trigger::Api), TEST).await.unwrap();
    lifecycle::cancel(api.db.pool(), &pipeline, TEST).await.unwrap();
}

fn ids(events: &[(i64, Value)]) -> Vec<i64> {
    events.iter().map(|(id, _)| *id).collect()
}

pub async fn logged(api: &Api) -> Vec<i64> {
    sqlx::query_scalar("select id from etl.etl_transitions order by id").fetch_all(api.db.pool()).await.unwrap()
}

#[tokio::test]
async fn a_stream_shows_every_transition_as_it_happens() {
    let api = Api::start().await;
    let pipeline = api.create_genres("genres").await;
    let mut events = api.events("", None).await;

    let request = api.post("/pipelines/genres/run").header("X-Request-Id", "request-7");
    let run = expect(request, StatusCode::ACCEPTED).await;
    let (id, data) = events.transition().await;

    assert_eq!(data["at"].as_str().map(|_| id), Some(id));
    let expected = json!({
        "id": id,
        "pipeline_id": pipeline["id"],
        "pipeline": "genres",
        "run_id": run["run_id"],
        "from": "IDLE",
        "to": "RUN_REQUESTED",
        "actor": "local",
        "reason": "run requested",
        "correlation_id": "request-7",
        "at": data["at"],
    });
    assert_eq!(data, expected);
    expect(api.post("/pipelines/genres/pause"), StatusCode::ACCEPTED).await;
    expect(api.post("/pipelines/genres/cancel"), StatusCode::ACCEPTED).await;
    let rest = events.transitions(2).await;
    assert_eq!((&rest[0].1["to"], &rest[1].1["to"]), (&json!("PAUSE_REQUESTED"), &json!("IDLE")));
}

#[tokio::test]
async fn a_transition_is_shown_at_once_and_not_at_the_next_look() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let mut events = api.events("", None).await;
    two_transitions(&api, "genres").await;
    events.transitions(2).await;

    let start = Instant::now();
    api.run("genres").await;
    events.transition().await;

    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_stream_resumes_after_the_last_event_that_its_client_saw() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    for _ in 0..3 {
        two_transitions(&api, "genres").await;
    }
    let all = logged(&api).await;

    assert_eq!(ids(&api.events("", Some(0)).await.transitions(6).await), all);
    assert_eq!(ids(&api.events("", Some(all[2])).await.transitions(3).await), all[3..]);

    let mut from_now = api.events("", None).await;
    two_transitions(&api, "genres").await;
    assert_eq!(ids(&from_now.transitions(2).await), logged(&api).await[6..]);
}

#[tokio::test]
async fn a_stream_of_one_pipeline_shows_no_other() {
    let api = Api::start().await;
    let quiet = api.create_genres("quiet").await;
    api.create_genres("loud").await;
    let mut by_name = api.events("?pipeline=quiet", None).await;
    let mut by_id = api.events(&format!("?pipeline={}", quiet["id"].as_str().unwrap()), None).await;

    two_transitions(&api, "loud").await;
    two_transitions(&api, "quiet").await;

    for events in [&mut by_name, &mut by_id] {
        for (_, data) in events.transitions(2).await {
            assert_eq!(data["pipeline"], "quiet");
        }
    }
}

#[tokio::test]
async fn progress_is_shown_to_streams_of_the_pipeline_and_is_not_repeated() {
    let api = Api::start().await;
    let quiet = api.create_genres("quiet").await;
    let loud = api.create_genres("loud").await;
    let (mut all, mut only) = (api.events("", None).await, api.events("?pipeline=quiet", None).await);
    // The listener is there once a transition came through.
    two_transitions(&api, "quiet").await;
    all.transitions(2).await;
    only.transitions(2).await;

    announce(&api, &loud, 1).await;
    announce(&api, &quiet, 2).await;

    assert_eq!(all.progress().await["rows_read"], 1);
    assert_eq!(all.progress().await["rows_read"], 2);
    let shown = only.progress().await;
    assert_eq!((&shown["pipeline"], &shown["rows_read"]), (&quiet["name"], &json!(2)));
    assert_eq!((&shown["rows_total"], &shown["eta_seconds"]), (&json!(100), &json!(9.8)));
    two_transitions(&api, "quiet").await;
    assert_eq!(ids(&only.transitions(2).await), logged(&api).await[2..]);
}

/// Tells of progress, as a worker does.
async fn announce(api: &Api, pipeline: &Value, rows_read: i64) {
    let progress = Progress {
        pipeline_id: pipeline["id"].as_str().unwrap().parse().unwrap(),
        pipeline: pipeline["name"].as_str().unwrap().to_owned(),
        run_id: uuid::Uuid::nil(),
        rows_read,
        rows_written: 0,
        rows_total: Some(100),
        rows_per_second: Some(10.0),
        eta_seconds: Some((100 - rows_read) as f64 / 10.0),
    };
    progress::announce(&mut api.db.pool().acquire().await.unwrap(), &progress).await.unwrap();
}

#[tokio::test]
async fn a_wrong_request_for_events_is_refused() {
    let api = Api::start().await;
    expect_problem(api.get("/events?pipeline=nobody"), 404, "not-found").await;
    expect_problem(api.get("/events?pipelines=x"), 422, "invalid").await;
    for id in ["x", "-1", "1.5", "99999999999999999999"] {
        expect_problem(api.get("/events").header("Last-Event-ID", id), 422, "invalid").await;
    }
}

#[tokio::test]
async fn nothing_is_lost_or_repeated_when_the_listener_s_connection_is_killed() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let mut events = api.events("", Some(0)).await;
    for round in 0..5 {
        let killed = eventually("the listener's connection", async || {
            let killed: i64 = sqlx::query_scalar(
                "select count(*) from (
                     select pg_terminate_backend(pid) from pg_stat_activity
                     where application_name = 'vitrina-api-events' and datname = current_database()
                 ) k",
            )
            .fetch_one(api.db.admin())
            .await
            .unwrap();
            (killed > 0).then_some(killed)
        })
        .await;
        assert_eq!(killed, 1, "round {round}");
        // While no client listens.
        two_transitions(&api, "genres").await;
    }

    let seen = events.transitions(10).await;

    assert_eq!(ids(&seen), logged(&api).await);
    two_transitions(&api, "genres").await;
    assert_eq!(ids(&events.transitions(2).await), logged(&api).await[10..]);
}

#[tokio::test]
async fn nothing_is_lost_or_repeated_when_every_connection_of_the_api_is_killed() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let mut events = api.events("", Some(0)).await;
    for _ in 0..5 {
        sqlx::query(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where application_name ~ '^vitrina-api' and datname = current_database()",
        )
        .execute(api.db.admin())
        .await
        .unwrap();
        two_transitions(&api, "genres").await;
    }
    assert_eq!(ids(&events.transitions(10).await), logged(&api).await);
}

#[tokio::test]
async fn a_slow_client_gets_everything_when_it_reads_at_last() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let mut slow = api.events("", Some(0)).await;
    let mut quick = api.events("", Some(0)).await;
    for _ in 0..10 {
        log_many(&api, 250, 8_000).await;
    }

    // 20 MB: far more than the sockets between us hold.
    let all = logged(&api).await;
    assert_eq!(ids(&within(SOON * 2, quick.transitions(2500)).await), all);
    assert_eq!(ids(&within(SOON * 2, slow.transitions(2500)).await), all);
}

#[tokio::test]
async fn a_quiet_stream_is_kept_alive_by_comments() {
    let api = Api::start().await;
    let mut events = api.events("", None).await;
    assert_eq!(events.next().await, Some(Event::Comment), "the greeting");
    assert_eq!(within(Duration::from_secs(15), events.next()).await, Some(Event::Comment));
}

#[tokio::test]
async fn streams_end_when_the_server_stops() {
    let mut api = Api::start().await;
    api.create_genres("genres").await;
    let mut events = api.events("", None).await;
    api.run("genres").await;
    events.transition().await;
    let start = Instant::now();

    api.stop();

    assert_eq!(within(SOON, events.next()).await, None);
    api.ended().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_stream_ends_at_once_however_much_of_the_log_is_left() {
    let mut api = Api::start().await;
    api.create_genres("genres").await;
    log_many(&api, 10_000, 1_000).await;
    let mut events = api.events("", Some(0)).await;
    events.transitions(10).await;
    let start = Instant::now();

    api.stop();
    within(SOON, async { while events.next().await.is_some() {} }).await;

    api.ended().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_client_that_reads_nothing_does_not_keep_the_server_from_stopping() {
    let mut api = Api::start().await;
    api.create_genres("genres").await;
    let _unread = api.events("", Some(0)).await;
    for _ in 0..10 {
        log_many(&api, 250, 8_000).await;
    }
    let start = Instant::now();

    api.stop();

    api.ended().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_stream_may_begin_with_the_newest_and_end_with_the_log() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    api.create_genres("others").await;
    for _ in 0..3 {
        two_transitions(&api, "genres").await;
    }
    two_transitions(&api, "others").await;
    let all = logged(&api).await;
    for (query, expected) in [
        ("?last=3&follow=false", &all[5..]),
        ("?last=2&follow=false&pipeline=genres", &all[4..6]),
        ("?last=10000&follow=false", &all[..]),
        ("?follow=false", &[]),
    ] {
        let mut events = api.events(query, None).await;
        let mut seen = Vec::new();
        while let Some(event) = within(SOON, events.next()).await {
            if let Event::Transition(id, _) = event {
                seen.push(id);
            }
        }
        assert_eq!(seen, expected, "{query}");
    }
    expect_problem(api.get("/events?last=-1"), 422, "invalid").await;
}

#[tokio::test]
async fn a_stream_tells_from_the_start_where_to_resume() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    two_transitions(&api, "genres").await;
    let newest = logged(&api).await.pop().unwrap();
    let mut answer = api.get("/events").send().await.unwrap();
    let first = within(SOON, answer.chunk()).await.unwrap().unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    assert!(first.lines().any(|line| line.replace(' ', "") == format!("id:{newest}")), "{first}");
}
