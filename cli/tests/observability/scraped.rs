//! A real Prometheus that scrapes a real deployment while pipelines run, fail and lose their workers.

use sqlx::Row;

use crate::{
    configuration::{Expression, expressions},
    prometheus::{self, Prometheus},
    promql::{filled_in, selectors},
    scene::{Scene, eventually},
};

/// Expressions that may have no result, by where they stand or what they ask for, and why.
const MAY_BE_EMPTY: &[(&str, &str)] = &[
    ("rule VitrinaNoSuccess", "every pipeline that runs regularly has just succeeded"),
    ("rule VitrinaCheckpointLag", "no mart is a day behind"),
    ("rule VitrinaRetryStorm", "nothing is retried"),
    ("rule VitrinaDeadLettersGrowing", "no row is put aside"),
    ("rule VitrinaHorizonHeldBack", "no transaction is left open"),
    ("rule VitrinaQuotaUsedUp", "no service wants to be paid"),
    ("rule VitrinaNoWorkers", "there are workers"),
    ("rule VitrinaQueueStuck", "jobs are taken up"),
    ("rule VitrinaApiErrors", "the API makes no errors"),
    ("rule VitrinaDatabaseAway", "the database is there"),
    ("rule VitrinaDown", "the services that are left are up"),
    (r#"vitrina_http_requests_total{status=~"5.."}"#, "the API makes no errors"),
    (r#"vitrina_http_requests_total{route=~".+", status=~"5.."}"#, "the API makes no errors"),
    (r#"vitrina_last_run_end_timestamp_seconds{pipeline=~".+", status="CANCELLED"}"#, "no run was cancelled"),
];

fn may_be_empty(expression: &Expression) -> bool {
    MAY_BE_EMPTY.iter().any(|(sign, _)| expression.place == *sign || expression.text.contains(sign))
}

#[test]
fn nothing_is_excused_that_is_not_asked_for() {
    let filled: Vec<Expression> =
        expressions().into_iter().map(|it| Expression { text: filled_in(&it.text), ..it }).collect();
    for (sign, reason) in MAY_BE_EMPTY {
        assert!(filled.iter().any(|it| it.place == *sign || it.text.contains(sign)), "{sign}: {reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_agrees_with_the_database_and_every_expression_has_a_result() {
    if prometheus::is_left_out() {
        return;
    }
    let mut scene = Scene::start().await;
    let addresses = |services: &[crate::scene::Service]| services.iter().map(|it| it.addr.clone()).collect::<Vec<_>>();
    kill_workers_during_a_run(&mut scene).await;
    let prometheus = Prometheus::start(&addresses(&scene.apis), &addresses(&scene.workers)).await;
    eventually("a first scrape", async || prometheus.value("count(vitrina_workers)").await.filter(|it| *it == 2.0))
        .await;
    scene.ask_in_vain().await;
    scene.preview("genre_dim").await;
    scene.run("doomed").await;
    scene.run("described").await;
    scene.request_run("film_rating_agg").await;
    // Often enough for a habit.
    for _ in 0..5 {
        scene.run("genre_dim").await;
    }
    scene.settled("film_rating_agg").await;

    numbers_agree(&scene, &prometheus).await;
    every_expression_has_a_result(&prometheus).await;
    promtool_is_content(&scene).await;
}

/// Kills the worker that executes a long run, three times.
async fn kill_workers_during_a_run(scene: &mut Scene) {
    scene.request_run("film_dim").await;
    let mut killed = 0;
    for _ in 0..3 {
        scene.progress("film_dim", 3).await;
        killed += usize::from(scene.kill_working_worker().await);
    }
    assert!(killed > 0, "the run was over before anybody could be killed");
    scene.settled("film_dim").await;
}

/// Runs and rows are those of `etl_runs`, once, although two replicas show them and workers were killed.
async fn numbers_agree(scene: &Scene, prometheus: &Prometheus) {
    let totals = sqlx::query(
        "select p.name, r.status, count(*) as runs, sum(r.rows_read)::bigint as rows_read,
                sum(r.rows_written)::bigint as rows_written, sum(r.batches)::bigint as batches
         from etl.etl_runs r join etl.etl_pipelines p on p.id = r.pipeline_id group by p.name, r.status",
    )
    .fetch_all(scene.db.pool())
    .await
    .unwrap();
    assert_eq!(totals.len(), 5, "five pipelines, each of which ended in one way");
    for total in totals {
        let (pipeline, status): (&str, &str) = (total.get("name"), total.get("status"));
        let of = |name: &str, more: &str| format!("max(vitrina_{name}_total{{pipeline=\"{pipeline}\"{more}}})");
        for (expression, wanted) in [
            (of("runs", &format!(", status=\"{status}\"")), total.get::<i64, _>("runs")),
            (of("rows_read", ""), total.get("rows_read")),
            (of("rows_written", ", sink=\"postgres\""), total.get("rows_written")),
            (of("batches", ", result=\"committed\""), total.get("batches")),
        ] {
            eventually(&format!("{expression} {wanted}"), async || {
                prometheus.value(&expression).await.filter(|value| *value == wanted as f64)
            })
            .await;
        }
    }
    let films = prometheus.value("max(vitrina_rows_read_total{pipeline=\"film_dim\"})").await;
    assert_eq!(films, Some(3000.0), "every film was read once, whichever worker died");
}

async fn every_expression_has_a_result(prometheus: &Prometheus) {
    let mut asked = 0;
    for expression in expressions() {
        let whole = Expression { text: filled_in(&expression.text), ..expression.clone() };
        let parts = selectors(&whole.text).into_iter().map(|part| Expression { text: part.text, ..expression.clone() });
        // An alert that is silent must be so because nothing is wrong, and not because it asks for something that is not there.
        for part in parts {
            asked += 1;
            if !MAY_BE_EMPTY.iter().any(|(sign, _)| part.text == *sign) {
                has_result(prometheus, &part).await;
            }
        }
        if may_be_empty(&whole) {
            prometheus.query(&whole.text).await;
        } else {
            has_result(prometheus, &whole).await;
        }
    }
    assert!(asked > 80, "{asked}");
}

async fn has_result(prometheus: &Prometheus, expression: &Expression) {
    let what = format!("a result of {expression:?}");
    eventually(&what, async || (!prometheus.query(&expression.text).await.is_empty()).then_some(())).await;
}

async fn promtool_is_content(scene: &Scene) {
    for service in [&scene.apis[0], &scene.workers[0]] {
        assert_eq!(prometheus::complaints(&scene.metrics(service).await), "");
    }
}
