//! Films into an index: Vitrina beside a bare loop that sends the same bodies, read and assembled beforehand.
//!
//! The loop knows no PostgreSQL, no checkpoint and no retry. It sends one request after the other, as loops do; and for
//! comparison as many at a time as Vitrina, which is as fast as this node takes documents at all.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    Outcome,
    report::{Goal::AtLeast, Report, say},
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
    let by_key = read(stage, "film_id").await?;
    let mut by_time = read(stage, "modified, film_id").await?;
    by_time.chunks_mut(BATCH as usize).for_each(|page| page.sort_unstable());
    let mut comparison = Comparison { stage, node, by_key, by_time, mappings: Value::Null };
    comparison.warm_up().await?;
    for round in 1..=settings.repeats {
        say(&format!("elasticsearch, round {round} of {}", settings.repeats));
        comparison.compare(&FULL, round, report).await?;
        comparison.compare(&INCREMENTAL, round, report).await?;
    }
    comparison.node.remove().await?;
    for load in [FULL, INCREMENTAL] {
        report.ratio(load.ours, load.one_by_one, Some(AtLeast(0.9)));
        report.ratio(load.ours, load.two_at_a_time, None);
    }
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

async fn read(stage: &mut Stage, order: &str) -> Outcome<Vec<Row>> {
    let statement = format!("select film_id::text, row_to_json(q)::text from ({QUERY}) q order by {order}");
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(statement)).fetch_all(&mut stage.sql).await?)
}

/// A load, and the same done by a loop.
struct Load {
    ours: &'static str,
    one_by_one: &'static str,
    two_at_a_time: &'static str,
    pipeline: &'static str,
    /// Whether the index is built without refreshing and replicas, and made searchable in the end.
    full: bool,
}

const FULL: Load = Load {
    ours: "Vitrina: full into an index",
    one_by_one: "bare: bulk index",
    two_at_a_time: "bare: bulk index, two requests at a time",
    pipeline: "bench_index_full",
    full: true,
};
const INCREMENTAL: Load = Load {
    ours: "Vitrina: incremental into an index",
    one_by_one: "bare: bulk update",
    two_at_a_time: "bare: bulk update, two requests at a time",
    pipeline: "bench_index_incremental",
    full: false,
};

struct Comparison<'a> {
    stage: &'a mut Stage,
    node: Node,
    /// Documents in the order of a full run.
    by_key: Vec<Row>,
    /// In that of an incremental one: page by page, each by key. Ids that come in ascending order are looked up for nothing.
    by_time: Vec<Row>,
    /// Of Vitrina's index; the loop's has the same.
    mappings: Value,
}

impl Comparison<'_> {
    /// The node compiles what it executes often: both sides are measured after everything was done twice.
    async fn warm_up(&mut self) -> Outcome<()> {
        say("elasticsearch, warming up");
        for load in [FULL, INCREMENTAL, FULL, INCREMENTAL] {
            self.load(&load).await?;
            self.mappings = self.node.mappings().await?;
            self.loop_through(&load, CONCURRENCY).await?;
        }
        Ok(())
    }

    /// Measures all, in turns first, each on a node without other indexes.
    async fn compare(&mut self, load: &Load, round: u32, report: &mut Report) -> Outcome<()> {
        let mut sides = [load.ours, load.one_by_one, load.two_at_a_time];
        sides.rotate_left(round as usize % 3);
        for name in sides {
            let took = if name == load.ours {
                self.load(load).await?
            } else {
                self.loop_through(load, if name == load.two_at_a_time { CONCURRENCY } else { 1 }).await?
            };
            report.speed(name, self.by_key.len() as u64, took)?;
        }
        Ok(())
    }

    async fn load(&mut self, load: &Load) -> Outcome<Duration> {
        self.node.remove().await?;
        self.stage.api.reset(load.pipeline).await?;
        let done = self.stage.api.run(load.pipeline).await?;
        if done.run.rows_read == self.by_key.len() as u64 {
            Ok(done.took)
        } else {
            Err("not all rows were read".into())
        }
    }

    async fn loop_through(&mut self, load: &Load, concurrency: usize) -> Outcome<Duration> {
        self.node.remove().await?;
        let (replicas, interval) = if load.full { (0, "-1") } else { (1, "1s") };
        let settings = json!({"number_of_replicas": replicas, "refresh_interval": interval});
        let rows = if load.full { &self.by_key } else { &self.by_time };
        let bodies = bodies(rows, |id, row| {
            if load.full {
                format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{row}\n")
            } else {
                format!("{{\"update\":{{\"_id\":\"{id}\"}}}}\n{{\"doc\":{row},\"doc_as_upsert\":true}}\n")
            }
        });
        // Vitrina makes its index too.
        let begun = Instant::now();
        self.node.create(&json!({"settings": settings, "mappings": self.mappings})).await?;
        self.node.send(bodies, concurrency).await?;
        if load.full {
            self.node.ask(reqwest::Method::POST, &format!("{BARE}/_refresh"), None).await?;
        }
        Ok(begun.elapsed())
    }
}

fn bodies(rows: &[Row], lines: impl Fn(&str, &str) -> String) -> VecDeque<String> {
    rows.chunks(MAX_DOCS).map(|chunk| chunk.iter().map(|(id, row)| lines(id, row)).collect()).collect()
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

    async fn mappings(&self) -> Outcome<Value> {
        let found = self.ask(reqwest::Method::GET, &format!("{INDEX}/_mapping"), None).await?;
        let index = found.as_object().and_then(|all| all.values().next()).ok_or("Vitrina made no index")?;
        Ok(index["mappings"].clone())
    }

    async fn create(&self, body: &Value) -> Outcome<()> {
        self.ask(reqwest::Method::PUT, BARE, Some(body)).await.map(drop)
    }

    /// Sends the bodies, so many at a time.
    async fn send(&self, mut bodies: VecDeque<String>, concurrency: usize) -> Outcome<()> {
        let mut under_way: JoinSet<Outcome<()>> = JoinSet::new();
        while !bodies.is_empty() || !under_way.is_empty() {
            while under_way.len() < concurrency
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
