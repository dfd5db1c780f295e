//! The load that is compared: films into `analytics.film_dim`, by Vitrina and by bare SQL, from the same query. And
//! pipelines of other loads.

use serde_json::{Value, json};

/// The query, with the columns of the mart.
pub const QUERY: &str = "select id as film_id, title, description, type, rating::double precision as rating, \
                         creation_date, modified from content.film_work";
pub const COLUMNS: &str = "film_id, title, description, type, rating, creation_date, modified";
/// What the upsert does with a row that is there: nothing unless it changed, as Vitrina.
pub const ON_CONFLICT: &str = "on conflict (film_id) do update set title = excluded.title, \
    description = excluded.description, type = excluded.type, rating = excluded.rating, \
    creation_date = excluded.creation_date, modified = excluded.modified \
    where (target.title, target.description, target.type, target.rating, target.creation_date, target.modified) \
    is distinct from (excluded.title, excluded.description, excluded.type, excluded.rating, excluded.creation_date, \
    excluded.modified)";

/// A pipeline that loads all films in every run.
pub fn full(name: &str, batch_size: u32) -> Value {
    json!({
        "name": name, "mode": "full", "source_query": QUERY, "target_table": "analytics.film_dim",
        "batch_size": batch_size,
    })
}

/// A pipeline that loads new and changed films.
pub fn incremental(name: &str, batch_size: u32) -> Value {
    by_modified(name, QUERY, "analytics.film_dim", "film_id", batch_size)
}

/// A pipeline that reads a query by `modified` and the column `id`.
pub fn by_modified(name: &str, query: &str, target: &str, id: &str, batch_size: u32) -> Value {
    json!({
        "name": name, "mode": "incremental", "source_query": query, "target_table": target, "batch_size": batch_size,
        "incremental_key": "modified", "incremental_id_key": id,
    })
}

/// The mart of the load through a step: a full pipeline would remove rows of another one's query.
pub const STREAMED_MART: &str = "create table analytics.bench_streamed (like analytics.film_dim including all)";

/// A load of the same films with a step between query and mart: every row passes through the worker.
pub fn through_a_step(name: &str, batch_size: u32) -> Value {
    let mut pipeline = by_modified(name, "", "analytics.bench_streamed", "film_id", batch_size);
    pipeline["source_query"] = Value::Null;
    pipeline["tasks"] = json!([
        {"order_index": 1, "task_type": "SQL", "body": QUERY.replace(" type,", " type as kind,")},
        {"order_index": 2, "task_type": "RUST", "body": "rename", "options": {"columns": {"kind": "type"}}},
    ]);
    pipeline
}
