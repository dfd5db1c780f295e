//! Indexes that the demo fills besides, where there is an Elasticsearch, and their check.

use std::collections::HashMap;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool};
use vitrina_shared::{config::ElasticsearchConfig, domain::IndexOptions, process::Failure};
use vitrina_worker::elasticsearch::{Client, Index};

/// Their targets and pipelines. A pipeline is called after its mart in the database, with this before the name.
pub(super) const PIPELINES: &str = include_str!("../../../../demo/elasticsearch.yaml");
const PREFIX: &str = "es_";

/// The mart whose rows a pipeline brings into an index; nothing for other pipelines.
pub(super) fn mart_of(pipeline: &str) -> Option<&str> {
    pipeline.strip_prefix(PREFIX)
}

/// Compares an index with the mart of the same name, which was compared with its source: every document, every field that
/// both have.
pub(super) async fn compare(config: &ElasticsearchConfig, owner: &PgPool, mart: &str) -> Result<Value, Failure> {
    let statement = format!("select film_id::text, row_to_json(m)::text from analytics.{mart} m");
    let rows: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(statement)).fetch_all(owner).await?;
    let mut rows: HashMap<String, String> = rows.into_iter().collect();
    let (mut extra, mut different) = (0, 0);
    let index = Index::new(Client::new(config)?, mart, IndexOptions::default());
    index
        .contents(|id, document| match rows.remove(id) {
            Some(row) if agree(&serde_json::from_str(&row).unwrap_or_default(), document) => {}
            Some(_) => different += 1,
            None => extra += 1,
        })
        .await?;
    let missing = rows.len();
    let verdict = if extra + different + missing == 0 { "match" } else { "drift" };
    Ok(json!({"verdict": verdict, "missing": missing, "extra": extra, "different": different}))
}

fn agree(row: &Value, document: &Value) -> bool {
    let same = |one: &Value, other: &Value| match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    };
    document
        .as_object()
        .is_some_and(|fields| fields.iter().all(|(name, value)| row.get(name).is_none_or(|own| same(own, value))))
}
