//! Films into an index: Vitrina beside a bare loop that sends the same bodies, read and assembled beforehand.
//!
//! The loop knows no PostgreSQL, no checkpoint and no retry: it is as fast as the node takes documents.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    Outcome,
    report::{Goal::AtLeast, Report, Unit, say},
    settings::Settings,
    stage::Stage,
};

const INDEX: &str = "bench_films";
const BARE: &str = "bench_bare";
const BATCH: u32 = 10_000;
/// What Vitrina's targets have by default.
const MAX_DOCS: usize = 2_000;
const CONCURRENCY: usize = 2;

/// Not all the films of a large cinema: the node would take minutes.
const TABLE: &str = "
    create table content.bench_film as
    select id as film_id, title, description, type, rating, creation_date, modified
    from content.film_work order by id limit 200000;
    alter table content.bench_film add primary key (film_id), alter column modified set not null;
    create index on content.bench_film (modified, film_id);
    grant select on content.bench_film to vitrina_query;
    vacuum analyze content.bench_film;
";
const QUERY: &str = "select film_id, title, description, type, rating, creation_date, modified from content.bench_film";

/// Measures full and incremental runs beside the loop.
pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    let node = settings
        .elasticsearch_url
        .as_deref()
        .ok_or("no node: run scripts/with-elasticsearch, or leave out the part")?;
    let node = Node { http: reqwest::Client::new(), url: node.to_owned() };
    for statement in TABLE.split_inclusive(';').filter(|statement| !statement.trim().is_empty()) {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut stage.sql).await?;
    }
    stage.api.allow(&format!("es:{INDEX}"), "film_id").await?;
    for mode in ["full", "incremental"] {
        stage.api.create(&pipeline(mode)).await?;
    }
    let rows = read(stage).await?;
    for round in 1..=settings.repeats {
        say(&format!("elasticsearch, round {round} of {}", settings.repeats));
        full(stage, &node, &rows, report).await?;
        incremental(stage, &node, &rows, report).await?;
    }
    node.remove().await?;
    report.ratio("Vitrina: full into an index", "bare: bulk index", Some(AtLeast(0.9)));
    report.ratio("Vitrina: incremental into an index", "bare: bulk update", Some(AtLeast(0.9)));
    Ok(())
}

fn pipeline(mode: &str) -> Value {
    json!({
        "name": format!("bench_index_{mode}"), "mode": mode, "source_query": QUERY, "target_table": format!("es:{INDEX}"),
        "batch_size": BATCH, "incremental_key": "modified", "incremental_id_key": "film_id",
    })
}

/// A document's id and body.
type Row = (String, String);

async fn read(stage: &mut Stage) -> Outcome<Vec<Row>> {
    let statement = format!("select film_id::text, row_to_json(q)::text from ({QUERY}) q order by film_id");
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(statement)).fetch_all(&mut stage.sql).await?)
}

/// Builds an index without refreshing and replicas, then makes it searchable.
async fn full(stage: &mut Stage, node: &Node, rows: &[Row], report: &mut Report) -> Outcome<()> {
    node.remove().await?;
    let done = stage.api.run("bench_index_full").await?;
    speed(report, "Vitrina: full into an index", done.run.rows_read, done.took)?;
    node.create(json!({"number_of_replicas": 0, "refresh_interval": "-1"})).await?;
    let bodies = bodies(rows, |id, row| format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{row}\n"));
    let begun = Instant::now();
    node.send(bodies).await?;
    node.ask(reqwest::Method::POST, &format!("{BARE}/_refresh"), None).await?;
    speed(report, "bare: bulk index", rows.len() as u64, begun.elapsed())
}

/// Upserts into an index that is in use.
async fn incremental(stage: &mut Stage, node: &Node, rows: &[Row], report: &mut Report) -> Outcome<()> {
    node.remove().await?;
    stage.api.reset("bench_index_incremental").await?;
    let done = stage.api.run("bench_index_incremental").await?;
    speed(report, "Vitrina: incremental into an index", done.run.rows_read, done.took)?;
    node.create(json!({"number_of_replicas": 1, "refresh_interval": "1s"})).await?;
    let bodies = bodies(rows, |id, row| {
        format!("{{\"update\":{{\"_id\":\"{id}\"}}}}\n{{\"doc\":{row},\"doc_as_upsert\":true}}\n")
    });
    let begun = Instant::now();
    node.send(bodies).await?;
    speed(report, "bare: bulk update", rows.len() as u64, begun.elapsed())
}

fn bodies(rows: &[Row], lines: impl Fn(&str, &str) -> String) -> VecDeque<String> {
    rows.chunks(MAX_DOCS).map(|chunk| chunk.iter().map(|(id, row)| lines(id, row)).collect()).collect()
}

fn speed(report: &mut Report, name: &str, rows: u64, took: Duration) -> Outcome<()> {
    report.sample(name, Unit::RowsPerSecond, rows as f64 / took.as_secs_f64())
}

/// The node, without a client in between.
#[derive(Clone)]
struct Node {
    http: reqwest::Client,
    url: String,
}

impl Node {
    async fn ask(&self, method: reqwest::Method, path: &str, body: Option<&Value>) -> Outcome<Value> {
        let mut request = self.http.request(method, format!("{}/{path}", self.url));
        if let Some(body) = body {
            request = request.json(body);
        }
        Ok(request.send().await?.error_for_status()?.json().await?)
    }

    async fn remove(&self) -> Outcome<()> {
        let url = format!("{}/_cat/indices/{INDEX}*,{BARE}*?h=index", self.url);
        let found = self.http.get(url).send().await?.error_for_status()?.text().await?;
        for index in found.split_whitespace() {
            self.ask(reqwest::Method::DELETE, index, None).await?;
        }
        Ok(())
    }

    /// An index with the mapping that Vitrina's has.
    async fn create(&self, settings: Value) -> Outcome<()> {
        let found = self.ask(reqwest::Method::GET, &format!("{INDEX}/_mapping"), None).await?;
        let index = found.as_object().and_then(|all| all.values().next()).ok_or("Vitrina made no index")?;
        let body = json!({"settings": settings, "mappings": index["mappings"]});
        self.ask(reqwest::Method::PUT, BARE, Some(&body)).await.map(drop)
    }

    /// Sends the bodies, as many at a time as Vitrina does.
    async fn send(&self, mut bodies: VecDeque<String>) -> Outcome<()> {
        let mut under_way: JoinSet<Outcome<()>> = JoinSet::new();
        while !bodies.is_empty() || !under_way.is_empty() {
            while under_way.len() < CONCURRENCY
                && let Some(body) = bodies.pop_front()
            {
                let node = self.clone();
                under_way.spawn(async move { node.bulk(body).await });
            }
            if let Some(done) = under_way.join_next().await {
                done??;
            }
        }
        Ok(())
    }

    async fn bulk(&self, body: String) -> Outcome<()> {
        let url = format!("{}/{BARE}/_bulk?filter_path=errors", self.url);
        let request = self.http.post(url).header("content-type", "application/x-ndjson").body(body);
        let answer: Value = request.send().await?.error_for_status()?.json().await?;
        if answer["errors"] == false { Ok(()) } else { Err("the node refused a document".into()) }
    }
}
