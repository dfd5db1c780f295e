//! Everything that an index has, read by scrolling, for comparisons.

use std::collections::HashMap;

use bytes::Bytes;
use elasticsearch::http::Method;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    error::{MOST_ANSWERED, SinkError, SinkErrorKind, reason},
    index::Index,
};

/// How long the server keeps its place between two pages.
const KEEP: &str = "5m";
/// Documents of one page, and how many bytes they should have together on the server's disk.
const MOST_DOCUMENTS: u64 = 2_000;
const PAGE_BYTES: u64 = 1024 * 1024;
const WITHOUT_SOURCE: &str =
    "the target does not return its documents whole, only their keys can be compared (an index must keep `_source`)";

/// The documents of an index as of one moment, page by page.
#[derive(Debug)]
pub struct IndexContents<'a> {
    index: &'a Index,
    page: Bytes,
    total: u64,
    seen: u64,
    bodies: bool,
    /// Whether a document came without the body that was asked for.
    lacks_bodies: bool,
}

#[derive(Deserialize)]
struct SearchPage<'a> {
    #[serde(rename = "_scroll_id", default)]
    place: Option<String>,
    #[serde(borrow)]
    hits: Hits<'a>,
}

#[derive(Deserialize)]
struct Hits<'a> {
    #[serde(default)]
    total: Option<Total>,
    #[serde(borrow)]
    hits: Vec<Hit<'a>>,
}

#[derive(Deserialize)]
struct Total {
    value: u64,
}

#[derive(Deserialize)]
struct Hit<'a> {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "_source", borrow, default)]
    body: Option<&'a RawValue>,
    #[serde(default)]
    sort: Vec<Value>,
}

#[derive(Deserialize)]
struct Fetched<'a> {
    #[serde(borrow)]
    docs: Vec<FetchedDocument<'a>>,
}

#[derive(Deserialize)]
struct FetchedDocument<'a> {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "_source", borrow, default)]
    body: Option<&'a RawValue>,
    #[serde(default)]
    found: bool,
    #[serde(default)]
    error: Value,
}

impl Index {
    pub async fn is_there(&self) -> Result<bool, SinkError> {
        Ok(self.serving().await?.is_some())
    }

    /// Begins to read what can be searched now; with `bodies`, or the ids alone.
    pub async fn contents(&self, bodies: bool) -> Result<IndexContents<'_>, SinkError> {
        let path = format!("/{}/_search?scroll={KEEP}&allow_partial_search_results=false", self.name);
        let wanted = json!({
            "size": self.page_size().await?, "sort": ["_doc"], "track_total_hits": true, "_source": bodies,
        });
        let page = self.read(&path, &wanted).await?;
        let total = parse::<SearchPage<'_>>(&page)?.hits.total.map_or(0, |total| total.value);
        Ok(IndexContents { index: self, page, total, seen: 0, bodies, lacks_bodies: false })
    }

    /// As many documents as make a page of bounded size, by the average of those that are there.
    async fn page_size(&self) -> Result<u64, SinkError> {
        let stats = self.client.ask(Method::Get, &format!("/{}/_stats/docs,store", self.name), None).await?;
        let all = &stats["_all"]["primaries"];
        let (documents, bytes) = (all["docs"]["count"].as_u64(), all["store"]["size_in_bytes"].as_u64());
        let average = bytes.unwrap_or(0) / documents.unwrap_or(0).max(1);
        Ok((PAGE_BYTES / average.max(1)).clamp(10, MOST_DOCUMENTS))
    }

    /// The documents with these ids, as they are now, by id; without `bodies` empty ones. How large they are is not known before:
    /// an answer that is too large is asked for in halves, and too many bytes together are refused.
    pub async fn fetch(&self, ids: &[&str], bodies: bool) -> Result<HashMap<String, String>, SinkError> {
        let (mut found, mut portions) = (HashMap::new(), vec![ids]);
        while let Some(portion) = portions.pop() {
            if portion.is_empty() {
                continue;
            }
            let path = format!("/{}/_mget?_source={bodies}", self.name);
            let body = match self.read(&path, &json!({"ids": portion})).await {
                Err(error) if error.kind == SinkErrorKind::TooLarge && portion.len() > 1 => {
                    let (one, other) = portion.split_at(portion.len() / 2);
                    portions.extend([one, other]);
                    continue;
                }
                answer => answer?,
            };
            for document in parse::<Fetched<'_>>(&body)?.docs {
                if !document.error.is_null() {
                    return Err(SinkError::transient(format!("Elasticsearch: {}", reason(&document.error))));
                }
                if document.found {
                    found.insert(document.id, document.body.map_or_else(String::new, |body| body.get().to_owned()));
                }
            }
            if found.values().map(String::len).sum::<usize>() > MOST_ANSWERED {
                return Err(SinkError::too_large());
            }
        }
        Ok(found)
    }

    /// The least or the greatest value of a field as a document has it, in JSON; none where the server cannot tell.
    pub async fn extreme(&self, field: &str, is_time: bool, order: &str) -> Result<Option<String>, SinkError> {
        let by = |name: String, kind: &str| json!({name: {"order": order, "missing": "_last", "unmapped_type": kind}});
        let mut sort = vec![by(field.to_owned(), "keyword")];
        if is_time {
            sort.push(by(format!("{field}.nanos"), "date_nanos"));
        }
        let path = format!("/{}/_search", self.name);
        let body = match self.read(&path, &json!({"size": 1, "sort": sort})).await {
            Ok(body) => body,
            Err(error) if error.kind == SinkErrorKind::BadRequest => return Ok(None),
            Err(error) => return Err(error),
        };
        let page: SearchPage<'_> = parse(&body)?;
        let Some(hit) = page.hits.hits.first().filter(|hit| hit.sort.first().is_some_and(|by| !by.is_null())) else {
            return Ok(None);
        };
        let fields: Option<HashMap<String, &RawValue>> =
            hit.body.and_then(|body| serde_json::from_str(body.get()).ok());
        Ok(fields.and_then(|fields| fields.get(field).map(|value| value.get().to_owned())))
    }

    async fn read(&self, path: &str, body: &Value) -> Result<Bytes, SinkError> {
        let answer = self.client.send(Method::Post, path, Some(body)).await?;
        match answer.status {
            200..=299 => Ok(answer.body),
            status => Err(SinkError::refused(status, &answer.body)),
        }
    }
}

impl IndexContents<'_> {
    /// Gives every document of the next page to `each`. Whether there may be more.
    pub async fn next(&mut self, mut each: impl FnMut(&str, &str)) -> Result<bool, SinkError> {
        let page: SearchPage<'_> = parse(&self.page)?;
        for hit in &page.hits.hits {
            self.lacks_bodies |= self.bodies && hit.body.is_none();
            each(&hit.id, hit.body.map_or("", RawValue::get));
        }
        self.seen += page.hits.hits.len() as u64;
        let Some(place) = page.place.clone() else { return Err(SinkError::transient("Elasticsearch lost its place")) };
        if page.hits.hits.is_empty() {
            self.end(&place).await?;
            return if self.lacks_bodies { Err(SinkError::fatal(WITHOUT_SOURCE)) } else { Ok(false) };
        }
        let next = json!({"scroll": KEEP, "scroll_id": place});
        // The server forgets a scroll that is not continued in time: the comparison begins anew.
        let lost = |error: SinkError| SinkError::transient(error.message);
        self.page = self.index.read("/_search/scroll", &next).await.map_err(lost)?;
        Ok(true)
    }

    /// A page whose answer was lost is skipped by the next one: then they are not all there.
    async fn end(&self, place: &str) -> Result<(), SinkError> {
        // The server would forget it by itself, later.
        let client = &self.index.client;
        client.send(Method::Delete, "/_search/scroll", Some(&json!({"scroll_id": place}))).await?;
        if self.seen == self.total {
            return Ok(());
        }
        let (seen, total) = (self.seen, self.total);
        Err(SinkError::transient(format!("Elasticsearch gave {seen} of {total} documents")))
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a Bytes) -> Result<T, SinkError> {
    serde_json::from_slice(body).map_err(|error| SinkError::foreign(&error))
}
