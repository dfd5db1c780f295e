//! Everything that an index has, for whoever wants to compare it.

use elasticsearch::http::Method;
use serde_json::{Value, json};

use super::{error::SinkError, index::Index};

/// Documents of one answer.
const PAGE: usize = 2_000;
/// How long the server keeps its place between two answers.
const KEEP: &str = "1m";

impl Index {
    /// Gives every document with its id to `each`, as of now. Returns how many there are.
    pub async fn contents(&self, mut each: impl FnMut(&str, &Value)) -> Result<u64, SinkError> {
        self.refresh(&self.name).await?;
        let first = format!("/{}/_search?scroll={KEEP}&size={PAGE}&sort=_doc", self.name);
        let mut page = self.client.ask(Method::Post, &first, None).await?;
        let mut count = 0;
        loop {
            let hits = page["hits"]["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
            for hit in hits {
                each(hit["_id"].as_str().unwrap_or_default(), &hit["_source"]);
            }
            count += hits.len() as u64;
            let place = page["_scroll_id"].clone();
            if hits.is_empty() {
                // The server would forget it by itself, later.
                self.client.send(Method::Delete, "/_search/scroll", Some(&json!({"scroll_id": place}))).await?;
                return Ok(count);
            }
            let next = json!({"scroll": KEEP, "scroll_id": place});
            page = self.client.ask(Method::Post, "/_search/scroll", Some(&next)).await?;
        }
    }
}
