//! Requesting runs and steering them.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::support::{Api, eventually, expect, expect_problem, messages};

#[tokio::test]
async fn a_run_request_is_accepted_and_repeating_it_finds_the_same_run() {
    let api = Api::start().await;
    api.create_genres("genres").await;

    let first = api.run("genres").await;
    let second = api.run("genres").await;

    assert_eq!((&first["status"], &first["already_active"]), (&json!("RUN_REQUESTED"), &json!(false)));
    assert_eq!((&second["run_id"], &second["already_active"]), (&first["run_id"], &json!(true)));
}

#[tokio::test]
async fn a_run_says_what_each_of_its_steps_did_and_what_would_help() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let id = api.run("genres").await["run_id"].as_str().unwrap().to_owned();
    assert_eq!(api.show(&format!("/runs/{id}")).await["steps"], json!([]));
    let done = format!(
        "insert into etl.etl_run_steps
         values ('{id}', 3, 'http', 4, 1, 1, 0, 0, 90000, 1, 2, 8000000, 'openai', 10),
                ('{id}', 2, 'cast', 2, 5, 1, 3, 1, 5000, 0, 0, 0, null, null);
         update etl.etl_runs
         set status = 'FAILED', started_at = now() - interval '10 s', finished_at = now(), batches = 4
         where id = '{id}'"
    );
    sqlx::raw_sql(AssertSqlSafe(done)).execute(api.db.admin()).await.unwrap();

    let expected = json!([
        {"place": 2, "step": "cast", "rows_in": 5, "rows_out": 1, "rejected": 3, "dropped": 1, "blocks": 2,
         "duration_ms": 5.0, "mean_ms_per_block": 2.5, "calls_made": 0, "calls_saved": 0, "waited_ms": 0.0,
         "waited_for": null},
        {"place": 3, "step": "http", "rows_in": 1, "rows_out": 1, "rejected": 0, "dropped": 0, "blocks": 4,
         "duration_ms": 90.0, "mean_ms_per_block": 22.5, "calls_made": 1, "calls_saved": 2, "waited_ms": 8000.0,
         "waited_for": "openai"},
    ]);
    let advice = json!([
        "most rows were rejected by `cast`: the dead letters have the reasons",
        "the limit `openai` held the run back 80 % of its time: concurrency 2 would do",
    ]);
    let run = api.show(&format!("/runs/{id}")).await;
    assert_eq!((&run["steps"], &run["advice"]), (&expected, &advice));
    let listed = api.show("/pipelines/genres/runs").await;
    assert_eq!(listed["items"][0]["steps"], expected, "and in a list");
}

#[tokio::test]
async fn a_run_has_every_field_of_the_contract() {
    let api = Api::start().await;
    let pipeline = api.create_genres("genres").await;
    let id = api.run("genres").await["run_id"].as_str().unwrap().to_owned();

    let run = api.show(&format!("/runs/{id}")).await;

    let fields = [
        "id",
        "pipeline_id",
        "pipeline",
        "mode",
        "status",
        "trigger",
        "requested_at",
        "started_at",
        "finished_at",
        "duration_ms",
        "rows_read",
        "rows_written",
        "rows_rejected",
        "rows_removed",
        "batches",
        "attempts",
        "error",
        "error_class",
        "checkpoint_from",
        "checkpoint_to",
        "steps",
        "advice",
    ];
    assert_eq!(run.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(fields));
    assert_eq!((&run["pipeline_id"], &run["pipeline"]), (&pipeline["id"], &json!("genres")));
    assert_eq!(
        (&run["status"], &run["trigger"], &run["mode"]),
        (&json!("QUEUED"), &json!("API"), &json!("incremental"))
    );
}

#[tokio::test]
async fn a_finished_run_shows_what_it_did_and_how_long_it_took() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let id = api.run("genres").await["run_id"].as_str().unwrap().to_owned();
    sqlx::query(
        "update etl.etl_runs
         set status = 'FAILED', started_at = now() - interval '2 s', finished_at = now() - interval '0.5 s',
             rows_read = 10, rows_written = 9, rows_rejected = 1, batches = 2, attempts = 3, error = 'broken',
             error_class = 'Fatal', checkpoint_to = '{\"key\": \"k\", \"id\": \"i\"}'",
    )
    .execute(api.db.pool())
    .await
    .unwrap();

    let run = api.show(&format!("/runs/{id}")).await;

    assert_eq!((&run["status"], &run["duration_ms"]), (&json!("FAILED"), &json!(1500)));
    assert_eq!((&run["rows_read"], &run["rows_written"], &run["rows_rejected"]), (&json!(10), &json!(9), &json!(1)));
    assert_eq!((&run["error"], &run["error_class"]), (&json!("broken"), &json!("Fatal")));
    assert_eq!(run["checkpoint_to"], json!({"key": "k", "id": "i"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_run_requests_at_once_end_in_one_run_and_forty_nine_answers_already_active() {
    let api = Api::start().await;
    api.create_genres("genres").await;

    let answers = futures_util::future::join_all((0..50).map(|_| api.run("genres"))).await;

    let runs: BTreeSet<&str> = answers.iter().map(|answer| answer["run_id"].as_str().unwrap()).collect();
    assert_eq!(runs.len(), 1);
    assert_eq!(answers.iter().filter(|answer| answer["already_active"] == true).count(), 49);
    assert_eq!(api.count("select count(*) from etl.etl_runs").await, 1);
    assert_eq!(api.count("select count(*) from apalis.jobs").await, 1);
    assert_eq!(api.count("select count(*) from etl.etl_transitions").await, 1);
}

#[tokio::test]
async fn an_idempotency_key_is_answered_with_its_run_even_after_that_ended() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let with_key =
        |key: &str| expect(api.post("/pipelines/genres/run").header("Idempotency-Key", key), StatusCode::ACCEPTED);

    let first = with_key("monday").await;
    api.simulate_worker("genres", "IDLE", "SUCCESS").await;
    let repeated = with_key("monday").await;
    let other = with_key("tuesday").await;

    assert_eq!((&repeated["run_id"], &repeated["already_active"]), (&first["run_id"], &json!(false)));
    assert_eq!(repeated["status"], "IDLE");
    assert_ne!(other["run_id"], first["run_id"]);
    let long = api.post("/pipelines/genres/run").header("Idempotency-Key", "k".repeat(201));
    let problem = expect_problem(long, 422, "invalid").await;
    assert_eq!(messages(&problem, "Idempotency-Key"), ["takes 1 to 200 characters"]);
}

#[tokio::test]
async fn a_disabled_pipeline_does_not_run() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    expect(api.patch("/pipelines/genres").json(&json!({"enabled": false})), StatusCode::OK).await;

    let problem = expect_problem(api.post("/pipelines/genres/run"), 409, "illegal-state").await;

    assert_eq!(problem["detail"], "pipeline `genres` is disabled: enable it before running it");
}

#[tokio::test]
async fn a_pipeline_pauses_and_the_same_run_resumes() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let problem = expect_problem(api.post("/pipelines/genres/pause"), 409, "illegal-state").await;
    assert_eq!(problem["detail"], "cannot pause a pipeline that is IDLE: it has no run in progress");
    let run = api.run("genres").await;

    for _ in 0..2 {
        let paused = expect(api.post("/pipelines/genres/pause"), StatusCode::ACCEPTED).await;
        assert_eq!(paused, json!({"status": "PAUSE_REQUESTED"}));
    }
    api.simulate_worker("genres", "PAUSED", "PAUSED").await;
    let resumed = api.run("genres").await;

    assert_eq!(resumed, json!({"run_id": run["run_id"], "status": "RUN_REQUESTED", "already_active": false}));
}

#[tokio::test]
async fn cancelling_a_run_cancels_what_the_server_executes_for_it_and_nothing_else() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let run = api.run("genres").await["run_id"].as_str().unwrap().to_owned();
    let asleep = |name: String| {
        let options = api.db.connect_options().application_name(&name);
        tokio::spawn(async move {
            let mut session = PgConnection::connect_with(&options).await?;
            sqlx::query("select pg_sleep(600)").execute(&mut session).await
        })
    };
    let (ours, another) = (asleep(format!("vitrina-worker {run}")), asleep("vitrina-worker".to_owned()));
    let sleeping =
        "select count(*) from pg_stat_activity where datname = current_database() and query like '%pg_sleep(600)'";
    eventually("two sessions asleep", async || {
        let count: i64 = sqlx::query_scalar(sleeping).fetch_one(api.db.pool()).await.unwrap();
        (count >= 2).then_some(())
    })
    .await;

    expect(api.post("/pipelines/genres/cancel"), StatusCode::ACCEPTED).await;

    let error = ours.await.unwrap().expect_err("it was cancelled");
    assert_eq!(error.as_database_error().and_then(|error| error.code()).as_deref(), Some("57014"), "{error}");
    assert!(!another.is_finished());
    another.abort();
}

#[tokio::test]
async fn a_cancelled_run_is_over_and_its_job_is_withdrawn() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    expect_problem(api.post("/pipelines/genres/cancel"), 409, "illegal-state").await;
    let id = api.run("genres").await["run_id"].as_str().unwrap().to_owned();

    let cancelled = expect(api.post("/pipelines/genres/cancel"), StatusCode::ACCEPTED).await;

    assert_eq!(cancelled, json!({"status": "IDLE"}));
    assert_eq!(api.show(&format!("/runs/{id}")).await["status"], "CANCELLED");
    assert_eq!(api.count("select count(*) from apalis.jobs where status = 'Killed'").await, 1);
}

#[tokio::test]
async fn a_reset_forgets_the_checkpoint_unless_a_run_is_unfinished() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    api.run("genres").await;
    let problem = expect_problem(api.post("/pipelines/genres/reset"), 409, "illegal-state").await;
    assert_eq!(problem["detail"], "cannot reset a pipeline that is RUN_REQUESTED: cancel its run first");
    sqlx::query(
        "insert into etl.etl_state (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch)
         select pipeline_id, '1', '1', id, 0 from etl.etl_runs",
    )
    .execute(api.db.pool())
    .await
    .unwrap();
    api.simulate_worker("genres", "FAILED", "FAILED").await;

    let reset = expect(api.post("/pipelines/genres/reset"), StatusCode::ACCEPTED).await;

    assert_eq!(reset, json!({"status": "IDLE"}));
    assert_eq!(api.show("/pipelines/genres/state").await["checkpoint"], Value::Null);
}

#[tokio::test]
async fn an_earlier_run_is_repeated_with_its_inputs() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let first = api.run("genres").await["run_id"].as_str().unwrap().to_owned();
    expect_problem(api.post(&format!("/runs/{first}/again")), 409, "illegal-state").await;
    api.simulate_worker("genres", "IDLE", "SUCCESS").await;

    let again = expect(api.post(&format!("/runs/{first}/again")), StatusCode::ACCEPTED).await;

    assert_ne!(again["run_id"], first.as_str());
    let run = api.show(&format!("/runs/{}", again["run_id"].as_str().unwrap())).await;
    assert_eq!((&run["trigger"], &run["status"]), (&json!("AGAIN"), &json!("QUEUED")));
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_page_by_page() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    api.create_genres("other").await;
    api.run("other").await;
    api.simulate_worker("other", "IDLE", "SUCCESS").await;
    let mut wanted = Vec::new();
    for _ in 0..7 {
        wanted.insert(0, api.run("genres").await["run_id"].clone());
        api.simulate_worker("genres", "IDLE", "SUCCESS").await;
    }
    // Equal times are told apart by id.
    sqlx::query("update etl.etl_runs set requested_at = date_trunc('hour', now())")
        .execute(api.db.pool())
        .await
        .unwrap();

    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api.show(&format!("/pipelines/genres/runs?limit=2{cursor}")).await;
        found.extend(page["items"].as_array().unwrap().iter().map(|run| run["id"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }

    assert_eq!(found, wanted);
    let problem = expect_problem(api.get("/pipelines/genres/runs?cursor=yesterday"), 422, "invalid").await;
    assert_eq!(messages(&problem, "cursor"), ["takes the `next_cursor` of the page before"]);
}

#[tokio::test]
async fn a_run_is_not_repeated_once_its_checkpoint_means_something_else() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let run = api.run("genres").await["run_id"].as_str().unwrap().to_owned();
    api.simulate_worker("genres", "IDLE", "SUCCESS").await;
    let change = json!({"incremental_key": "name", "options": {"key_order": "commit"}});
    expect(api.patch("/pipelines/genres").json(&change), StatusCode::OK).await;
    let problem = expect_problem(api.post(&format!("/runs/{run}/again")), 409, "illegal-state").await;
    assert!(problem["detail"].as_str().unwrap().contains("walked by `modified`, `genre_id`"), "{problem}");
}

#[tokio::test]
async fn a_full_run_is_asked_for_by_a_parameter_and_stands_in_the_run() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let full = expect(api.post("/pipelines/genres/run?full=true"), StatusCode::ACCEPTED).await;
    let run = api.show(&format!("/runs/{}", full["run_id"].as_str().unwrap())).await;
    assert_eq!(
        (&run["mode"], &run["rows_removed"], &run["checkpoint_from"]),
        (&json!("full"), &json!(0), &Value::Null)
    );

    let again = expect(api.post("/pipelines/genres/run?full=true"), StatusCode::ACCEPTED).await;
    assert_eq!((&again["run_id"], &again["already_active"]), (&full["run_id"], &json!(true)));
    expect_problem(api.post("/pipelines/genres/run?full=true&allow_removal=true"), 409, "illegal-state").await;
    let problem = expect_problem(api.post("/pipelines/genres/run?allow_removal=true"), 409, "illegal-state").await;
    assert!(problem["detail"].as_str().unwrap().contains("only a full run removes rows"), "{problem}");
    let problem = expect_problem(api.post("/pipelines/genres/run?full=perhaps&fast=true"), 422, "invalid").await;
    assert_eq!(messages(&problem, "full"), ["takes true or false"]);
    assert_eq!(messages(&problem, "fast"), ["there is no such parameter here"]);

    api.simulate_worker("genres", "IDLE", "SUCCESS").await;
    api.run("genres").await;
    expect_problem(api.post("/pipelines/genres/run?full=true"), 409, "illegal-state").await;
}

#[tokio::test]
async fn a_run_whose_target_is_being_written_is_refused_with_the_name_of_who_writes_it() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    api.create_genres("copy").await;
    api.run("genres").await;
    let problem = expect_problem(api.post("/pipelines/copy/run"), 409, "illegal-state").await;
    assert_eq!(
        problem["detail"],
        "`analytics.genre_dim` is being written by a run of pipeline `genres`, which is QUEUED: try again when it has ended"
    );
    api.simulate_worker("genres", "IDLE", "SUCCESS").await;
    api.run("copy").await;
}

/// A request that waits for a row holds a connection, also after its client disconnected.
#[tokio::test]
async fn commands_that_wait_for_one_pipeline_leave_connections_to_everything_else() {
    let api = Api::start().await;
    let id = api.create_genres("genres").await["id"].as_str().unwrap().to_owned();
    api.run("genres").await;
    api.simulate_worker("genres", "IDLE", "SUCCESS").await;
    let run: String = sqlx::query_scalar("select id::text from etl.etl_runs").fetch_one(api.db.pool()).await.unwrap();
    let mut other = api.db.admin().begin().await.unwrap();
    sqlx::query("select from etl.etl_pipelines for update").execute(&mut *other).await.unwrap();

    let given_up = async |request: reqwest::RequestBuilder| {
        let answer = request.timeout(std::time::Duration::from_millis(200)).send().await;
        assert!(answer.is_err_and(|error| error.is_timeout()), "nothing waits for the row");
    };
    // More of each than there are connections, one after the other: the server has noticed that the client went.
    for _ in 0..9 {
        given_up(api.post("/pipelines/genres/reset")).await;
        given_up(api.delete("/pipelines/genres")).await;
    }
    let paths = ["run", "pause", "cancel", "reset", "preview", "reconcile"];
    let by_name = paths.iter().map(|command| format!("/pipelines/genres/{command}"));
    let by_id = paths.iter().map(|command| format!("/pipelines/{id}/{command}"));
    let again = (0..9).map(|_| format!("/runs/{run}/again"));
    let requests = by_name.chain(by_id).chain(again).map(|path| given_up(api.post(&path)));
    futures_util::future::join_all(requests).await;

    let waiting = "select count(*) from pg_stat_activity
                   where wait_event_type = 'Lock' and application_name = 'vitrina-api' and datname = current_database()";
    let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(api.db.admin()).await.unwrap();
    assert!((1..=3).contains(&waiting), "{waiting} connections wait for one row");
    api.show("/pipelines").await;
    other.rollback().await.unwrap();
}
