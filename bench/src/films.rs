//! The load that is compared: films into `analytics.film_dim`, by Vitrina and by bare SQL, from the same query.

use serde_json::{Value, json};

/// The query, with the columns of the mart.
pub const QUERY: &str = "select id as film_id, title, description, type, rating::double precision as rating, \
                         creation_date, modified from content.film_work";
/// The mart's columns.
pub const COLUMNS: &str = "film_id, title, description, type, rating, creation_date, modified";
/// What the upsert does with a row that is there: nothing unless it changed, as Vitrina.
pub const ON_CONFLICT: &str = "on conflict (film_id) do update set title = excluded.title, \
    description = excluded.description, type = excluded.type, rating = excluded.rating, \
    creation_date = excluded.creation_date, modified = excluded.modified \
    where (target.title, target.description, target.type, target.rating, target.creation_date, target.modified) \
    is distinct from (excluded.title, excluded.description, excluded.type, excluded.rating, excluded.creation_date, \
    excluded.modified)";

/// The name of a pipeline.
pub fn name(mode: &str, batch_size: u32) -> String {
    format!("films_{mode}_{batch_size}")
}

/// A pipeline that loads all films.
pub fn pipeline(mode: &str, batch_size: u32) -> Value {
    let mut pipeline = json!({
        "name": name(mode, batch_size),
        "mode": mode,
        "source_query": QUERY,
        "target_table": "analytics.film_dim",
        "batch_size": batch_size,
    });
    if mode == "incremental" {
        pipeline["incremental_key"] = "modified".into();
        pipeline["incremental_id_key"] = "film_id".into();
    }
    pipeline
}
