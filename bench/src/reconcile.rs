//! One changed, one missing and one extra film among all of them: found, named and repaired by Vitrina, beside a
//! comparison of the two tables by bare SQL.

use std::time::Instant;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::{
    Outcome,
    films::{self, COLUMNS, QUERY},
    report::{Goal::Below, Report, Unit},
    settings::Settings,
    stage::Stage,
};

/// Works whatever the mart's rows are.
const DRIFT: &[&str] = &[
    "update analytics.film_dim set title = title || '?' where film_id = (
         select film_id from analytics.film_dim order by film_id limit 1)",
    "delete from analytics.film_dim where film_id = (select film_id from analytics.film_dim order by film_id desc limit 1)",
    "insert into analytics.film_dim select gen_random_uuid(), title, description, type, rating, creation_date, modified
     from analytics.film_dim limit 1",
    "vacuum analyze analytics.film_dim",
    "checkpoint",
];

pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    stage.worker = stage.program.start_worker().await?;
    stage.api.create(&films::full("reconciled", 10_000)).await?;
    stage.api.run("reconciled").await?;
    let names = [
        "Vitrina: reconcile rows, nothing differs",
        "Vitrina: reconcile rows, three differ",
        "Vitrina: reconcile keys",
        "Vitrina: reconcile counts",
        "bare: except all, both ways",
        "bare: full join",
    ];
    let [matching, drifting, keys, counts, except, join] = names;
    for _ in 0..settings.repeats {
        stage.execute(&["vacuum analyze", "checkpoint"]).await?;
        let found = timed(stage, report, matching, &json!({"depth": "rows"})).await?;
        expect(&found, "match", [0, 0, 0])?;
        timed(stage, report, keys, &json!({"depth": "keys"})).await?;
        timed(stage, report, counts, &json!({"depth": "counts"})).await?;
        bare(&mut stage.sql, report, except, &except_all()).await?;
        bare(&mut stage.sql, report, join, &full_join()).await?;
        stage.execute(DRIFT).await?;
        let found = timed(stage, report, drifting, &json!({"depth": "rows"})).await?;
        expect(&found, "drift", [1, 1, 1])?;
        let repaired = stage.api.reconcile("reconciled", &json!({"depth": "rows", "repair": true})).await?;
        if repaired["repaired"] != json!({"written": 2, "removed": 1}) {
            return Err(format!("not repaired: {repaired}").into());
        }
        expect(&stage.api.reconcile("reconciled", &json!({"depth": "rows"})).await?, "match", [0, 0, 0])?;
    }
    for measured in [matching, drifting] {
        report.ratio(measured, except, Some(Below(2.0)));
        report.ratio(measured, join, Some(Below(2.0)));
    }
    let memory = "worker's memory after reconciling";
    report.sample(memory, Unit::Mebibytes, stage.worker.peak_memory()?)?;
    report.goal(memory, Below(100.0));
    Ok(())
}

async fn timed(stage: &Stage, report: &mut Report, name: &str, body: &Value) -> Outcome<Value> {
    let start = Instant::now();
    let found = stage.api.reconcile("reconciled", body).await?;
    report.duration(name, start.elapsed())?;
    Ok(found)
}

async fn bare(sql: &mut PgConnection, report: &mut Report, name: &str, statement: &str) -> Outcome<()> {
    let start = Instant::now();
    let differing: i64 = sqlx::query_scalar(AssertSqlSafe(statement.to_owned())).fetch_one(sql).await?;
    report.duration(name, start.elapsed())?;
    if differing == 0 { Ok(()) } else { Err("source and mart differ".into()) }
}

fn expect(found: &Value, verdict: &str, differences: [i64; 3]) -> Outcome<()> {
    let counted = ["missing", "extra", "different"].map(|kind| found[kind].as_i64().unwrap_or(-1));
    let named = found["sample"].as_array().map_or(0, Vec::len) as i64;
    if found["verdict"] == verdict && counted == differences && named == differences.iter().sum::<i64>() {
        return Ok(());
    }
    Err(format!("expected {verdict} with {differences:?}: {found}").into())
}

fn except_all() -> String {
    format!(
        "select (select count(*) from ({QUERY} except all select {COLUMNS} from analytics.film_dim) as missing)
              + (select count(*) from (select {COLUMNS} from analytics.film_dim except all {QUERY}) as extra)"
    )
}

fn full_join() -> String {
    let names: Vec<_> = COLUMNS.split(", ").collect();
    let row = |relation: &str| names.iter().map(|name| format!("{relation}.{name}")).collect::<Vec<_>>().join(", ");
    format!(
        "select count(*) from ({QUERY}) as s full join analytics.film_dim as t on t.film_id = s.film_id
         where ({}) is distinct from ({})",
        row("s"),
        row("t"),
    )
}
