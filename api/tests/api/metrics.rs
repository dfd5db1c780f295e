//! The deployment's metrics at `/metrics` agree with the database, in every API process and after every crash.

use std::collections::BTreeMap;

use reqwest::{Method, StatusCode};
use serde_json::json;
use vitrina_shared::{metrics::CATALOG, testing::TestDatabase};

use crate::{
    service::behind_a_proxy,
    support::{Api, eventually, expect, expect_problem, genres, problem},
};

/// All samples of `/metrics`, by name and labels.
async fn scrape(api: &Api) -> BTreeMap<String, f64> {
    let text = api.raw(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    let samples = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    samples
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
        })
        .collect()
}

/// Waits until `/metrics` shows this value: an answer is given again for a second.
async fn shows(api: &Api, series: &str, value: f64) {
    eventually(&format!("{series} {value}"), async || {
        scrape(api).await.get(series).filter(|it| **it == value).map(drop)
    })
    .await;
}

/// Runs a pipeline as a worker would, with these rows.
async fn ended(api: &Api, pipeline: &str, status: &str, rows: i64) {
    api.run(pipeline).await;
    sqlx::query(
        "update etl.etl_runs r set rows_read = $2, rows_written = $2 - 1, rows_rejected = 1, batches = 3, attempts = 2
         from etl.etl_pipelines p where p.id = r.pipeline_id and p.name = $1 and r.status = 'QUEUED'",
    )
    .bind(pipeline)
    .bind(rows)
    .execute(api.db.pool())
    .await
    .unwrap();
    api.simulate_worker(pipeline, if status == "FAILED" { "FAILED" } else { "IDLE" }, status).await;
}

#[tokio::test]
async fn a_new_pipeline_has_all_its_counters_at_zero() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    shows(&api, "vitrina_rows_read_total{pipeline=\"genres\"}", 0.0).await;
    let samples = scrape(&api).await;
    for status in ["SUCCESS", "FAILED", "CANCELLED"] {
        let series = format!("vitrina_runs_total{{pipeline=\"genres\",mode=\"incremental\",status=\"{status}\"}}");
        assert_eq!(samples.get(&series), Some(&0.0), "{series}");
    }
    for series in [
        "vitrina_rows_written_total{pipeline=\"genres\",sink=\"postgres\"}",
        "vitrina_rows_rejected_total{pipeline=\"genres\"}",
        "vitrina_rows_removed_total{pipeline=\"genres\"}",
        "vitrina_batches_total{pipeline=\"genres\",result=\"failed\"}",
        "vitrina_run_duration_seconds_count{pipeline=\"genres\"}",
        "vitrina_pipeline_status{pipeline=\"genres\",status=\"FAILED\"}",
    ] {
        assert_eq!(samples.get(series), Some(&0.0), "{series}");
    }
    assert_eq!(samples["vitrina_pipeline_status{pipeline=\"genres\",status=\"IDLE\"}"], 1.0);
    assert!(!samples.contains_key("vitrina_checkpoint_lag_seconds{pipeline=\"genres\"}"), "it never ran");
}

#[tokio::test]
async fn counters_are_what_etl_runs_says_and_never_go_back() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    ended(&api, "genres", "SUCCESS", 100).await;
    ended(&api, "genres", "FAILED", 20).await;
    api.run("genres").await;
    expect(api.post("/pipelines/genres/cancel"), StatusCode::ACCEPTED).await;
    // One that is under way counts with what it has done so far.
    api.run("genres").await;
    sqlx::query("update etl.etl_runs set rows_read = 5, batches = 1 where status = 'QUEUED'")
        .execute(api.db.pool())
        .await
        .unwrap();

    shows(&api, "vitrina_rows_read_total{pipeline=\"genres\"}", 125.0).await;
    let before = scrape(&api).await;
    for (status, runs) in [("SUCCESS", 1.0), ("FAILED", 1.0), ("CANCELLED", 1.0)] {
        let series = format!("vitrina_runs_total{{pipeline=\"genres\",mode=\"incremental\",status=\"{status}\"}}");
        assert_eq!(before[&series], runs, "{series}");
    }
    assert_eq!(before["vitrina_rows_written_total{pipeline=\"genres\",sink=\"postgres\"}"], 118.0);
    assert_eq!(before["vitrina_rows_rejected_total{pipeline=\"genres\"}"], 2.0);
    assert_eq!(before["vitrina_batches_total{pipeline=\"genres\",result=\"committed\"}"], 7.0);
    assert_eq!(before["vitrina_batches_total{pipeline=\"genres\",result=\"failed\"}"], 4.0);
    assert_eq!(before["vitrina_run_duration_seconds_count{pipeline=\"genres\"}"], 2.0, "the cancelled one never began");
    let pending = api.count("select count(*) from apalis.jobs where status = 'Pending'").await;
    assert_eq!(before["vitrina_queue_jobs{state=\"pending\"}"], pending as f64);
    let sum: i64 = api.count("select sum(rows_read)::bigint from etl.etl_runs").await;
    assert_eq!(before["vitrina_rows_read_total{pipeline=\"genres\"}"], sum as f64);

    sqlx::query("delete from etl.etl_runs where finished_at is not null").execute(api.db.admin()).await.unwrap();
    api.simulate_worker("genres", "IDLE", "SUCCESS").await;
    let success = "vitrina_runs_total{pipeline=\"genres\",mode=\"incremental\",status=\"SUCCESS\"}";
    shows(&api, success, 2.0).await;
    let after = scrape(&api).await;
    let counters = before.iter().filter(|(series, _)| series.contains("_total{pipeline"));
    for (series, value) in counters {
        assert!(after[series] >= *value, "{series} went from {value} to {}", after[series]);
    }
    assert_eq!(after["vitrina_rows_read_total{pipeline=\"genres\"}"], 125.0);
}

#[tokio::test]
async fn a_removed_pipeline_s_series_go_away_and_a_renamed_one_takes_its_along() {
    let api = Api::start().await;
    api.create_genres("before").await;
    api.create_genres("removed").await;
    ended(&api, "before", "SUCCESS", 7).await;
    shows(&api, "vitrina_rows_read_total{pipeline=\"before\"}", 7.0).await;
    // What a worker of this process recorded of it goes along.
    metrics::counter!(vitrina_shared::metrics::RETRIES, "pipeline" => "removed", "class" => "Transient").increment(1);

    expect(api.patch("/pipelines/before").json(&json!({"name": "after"})), StatusCode::OK).await;
    assert_eq!(api.delete("/pipelines/removed").send().await.unwrap().status(), StatusCode::NO_CONTENT);

    shows(&api, "vitrina_rows_read_total{pipeline=\"after\"}", 7.0).await;
    let gone: Vec<_> = scrape(&api)
        .await
        .into_keys()
        .filter(|series| series.contains("pipeline=\"before\"") || series.contains("pipeline=\"removed\""))
        .collect();
    assert_eq!(gone, Vec::<String>::new());
}

#[tokio::test]
async fn the_lag_is_counted_from_what_was_read_and_not_from_the_last_row() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    // The last row is old, the run that found nothing newer is not.
    sqlx::query(
        "insert into etl.etl_state (pipeline_id, checkpoint_key, run_id, batch)
         select id, '2020-01-01 00:00:00+00', gen_random_uuid(), 1 from etl.etl_pipelines",
    )
    .execute(api.db.pool())
    .await
    .unwrap();
    let lag = "vitrina_checkpoint_lag_seconds{pipeline=\"genres\"}";
    eventually("a lag of years", async || scrape(&api).await.get(lag).filter(|lag| **lag > 1e8).map(drop)).await;

    ended(&api, "genres", "SUCCESS", 0).await;
    sqlx::query("update etl.etl_run_totals set last_upper = (now() - interval '1 hour')::text")
        .execute(api.db.pool())
        .await
        .unwrap();
    eventually("an hour", async || scrape(&api).await.get(lag).filter(|lag| (3600.0..3700.0).contains(*lag)).map(drop))
        .await;
}

#[tokio::test]
async fn what_holds_the_horizon_back_is_seen() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let horizon = "vitrina_horizon_lag_seconds{pipeline=\"genres\"}";
    let mut writer = api.db.admin().begin().await.unwrap();
    sqlx::query("insert into content.genre (id, name) values (gen_random_uuid(), 'Noir')")
        .execute(&mut *writer)
        .await
        .unwrap();
    eventually("a horizon", async || scrape(&api).await.get(horizon).filter(|lag| **lag > 0.0).map(drop)).await;
    writer.rollback().await.unwrap();
    shows(&api, horizon, 0.0).await;
}

#[tokio::test]
async fn dead_letters_are_counted_while_they_are_open() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let open = "vitrina_open_dead_letters{pipeline=\"genres\"}";
    assert_eq!(scrape(&api).await[open], 0.0);
    sqlx::query(
        "insert into etl.etl_dead_letters (pipeline_id, run_id, batch, key, row, error, error_class, replayed_at)
         select p.id, gen_random_uuid(), 0, jsonb_build_object('genre_id', n), '{}', 'too long', 'Row',
                case when n = 1 then now() end
         from etl.etl_pipelines p, generate_series(1, 4) as n",
    )
    .execute(api.db.pool())
    .await
    .unwrap();
    shows(&api, open, 3.0).await;
    sqlx::query("update etl.etl_dead_letters set replayed_at = now()").execute(api.db.pool()).await.unwrap();
    shows(&api, open, 0.0).await;
}

#[tokio::test]
async fn what_is_usual_is_known_after_some_successes_and_only_while_enabled() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let usual = "vitrina_usual_interval_seconds{pipeline=\"genres\"}";
    for _ in 0..3 {
        ended(&api, "genres", "SUCCESS", 1).await;
    }
    assert!(!scrape(&api).await.contains_key(usual), "two gaps are not yet a habit");
    sqlx::query("update etl.etl_run_totals set gaps = '{10, 4000, 3600, 3500}'").execute(api.db.pool()).await.unwrap();
    shows(&api, usual, 3600.0).await;
    expect(api.patch("/pipelines/genres").json(&json!({"enabled": false})), StatusCode::OK).await;
    eventually("silence", async || (!scrape(&api).await.contains_key(usual)).then_some(())).await;
}

#[tokio::test]
async fn every_replica_shows_the_same() {
    let first = Api::start().await;
    first.create_genres("genres").await;
    ended(&first, "genres", "SUCCESS", 9).await;
    let url = first.db.url();
    let second = Api::start_at(TestDatabase::create().await, &url, &[]).await;
    for api in [&first, &second] {
        shows(api, "vitrina_rows_read_total{pipeline=\"genres\"}", 9.0).await;
    }
}

#[tokio::test]
async fn without_the_database_the_process_is_still_seen() {
    let (api, proxy) = behind_a_proxy().await;
    shows(&api, "vitrina_database_up", 1.0).await;
    proxy.cut();
    shows(&api, "vitrina_database_up", 0.0).await;
    let samples = scrape(&api).await;
    assert!(samples.contains_key("process_resident_memory_bytes") && !samples.contains_key("vitrina_workers"));
}

#[tokio::test]
async fn keys_are_counted_by_what_became_of_them() {
    let api = Api::start().await;
    sqlx::raw_sql(
        "insert into etl.etl_pool_keys (pool, fingerprint, rests_until, refused_at) values
         ('TEXTS', '0123456789abcdef', null, null), ('TEXTS', '123456789abcdef0', now() - interval '1 s', null),
         ('TEXTS', '23456789abcdef01', now() + interval '1 hour', null), ('TEXTS', '3456789abcdef012', null, now())",
    )
    .execute(api.db.admin())
    .await
    .unwrap();
    for (state, keys) in [("ready", 2.0), ("resting", 1.0), ("refused", 1.0)] {
        shows(&api, &format!("vitrina_keys{{pool=\"TEXTS\",state=\"{state}\"}}"), keys).await;
    }
    expect(api.delete("/limits/keys/TEXTS"), StatusCode::OK).await;
    shows(&api, "vitrina_keys{pool=\"TEXTS\",state=\"refused\"}", 0.0).await;
}

#[tokio::test]
async fn every_metric_of_the_api_is_in_the_catalog_with_its_labels() {
    let api = Api::start().await;
    api.create(&genres("genres")).await;
    ended(&api, "genres", "SUCCESS", 1).await;
    shows(&api, "vitrina_rows_read_total{pipeline=\"genres\"}", 1.0).await;
    let series = scrape(&api).await;
    for name in series.keys() {
        let (name, labels) = name.split_once('{').unwrap_or((name, "}"));
        let bare = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let metric = CATALOG.iter().find(|metric| metric.name == bare).unwrap_or_else(|| panic!("{name} is not known"));
        let labels: Vec<_> =
            labels.trim_end_matches('}').split("\",").filter_map(|label| label.split('=').next()).collect();
        let labels: Vec<_> = labels.into_iter().filter(|label| !label.is_empty() && *label != "le").collect();
        assert_eq!(labels, metric.labels, "{name}");
    }
}

#[tokio::test]
async fn with_a_token_of_their_own_metrics_are_shown_to_its_bearer_only() {
    let tokens = ("VITRINA_TOKENS", "anna:admin:anna-secret-12345");
    let api = Api::start_with(&[("VITRINA_METRICS_TOKEN", "prometheus-secret-1"), tokens]).await;
    for path in ["/metrics", "/api/v1/metrics"] {
        let response = api.raw(Method::GET, path).send().await.unwrap();
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        let problem = problem(response, 401, "unauthorized").await;
        assert!(problem["detail"].as_str().unwrap().contains("VITRINA_METRICS_TOKEN"), "{problem}");
        for wrong in ["anna-secret-12345", "prometheus-secret-2", ""] {
            let request = api.raw(Method::GET, path).bearer_auth(wrong);
            expect_problem(request, 401, "unauthorized").await;
        }
        let response = api.raw(Method::GET, path).bearer_auth("prometheus-secret-1").send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert!(response.text().await.unwrap().contains("vitrina_build_info"));
    }
    // It is for nothing else.
    expect_problem(api.get("/pipelines").bearer_auth("prometheus-secret-1"), 401, "unauthorized").await;
    expect(api.get("/health"), StatusCode::OK).await;
}

#[tokio::test]
async fn what_a_pipeline_will_read_again_is_seen() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    shows(&api, "vitrina_rereads{pipeline=\"genres\"}", 0.0).await;
    sqlx::query(
        "insert into etl.etl_rereads (pipeline_id, transaction, from_key)
         select id, n || '/1', now() - n * interval '1 hour' from etl.etl_pipelines, generate_series(1, 2) n",
    )
    .execute(api.db.pool())
    .await
    .unwrap();
    shows(&api, "vitrina_rereads{pipeline=\"genres\"}", 2.0).await;
    let age = "vitrina_reread_age_seconds{pipeline=\"genres\"}";
    eventually("two hours", async || {
        scrape(&api).await.get(age).filter(|age| (7200.0..7300.0).contains(*age)).map(drop)
    })
    .await;
}
