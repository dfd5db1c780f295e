//! Reads requests: every refusal says what is wrong and what would be right.

mod if_match;

use std::{collections::BTreeMap, fmt::Display, ops::RangeInclusive, str::FromStr};

use salvo::Request;
use serde::de::{DeserializeOwned, IgnoredAny};
use uuid::Uuid;
use vitrina_shared::domain::{PipelineRef, ReportId, RunId, kept_number};

pub use if_match::if_match;

use crate::problem::{ApiError, ApiResult, FieldError, NUL, unreadable};

/// Reads a JSON body. 415 not declared as JSON, 413 too large, 400 not JSON, 422 JSON of another shape.
pub async fn json<T: DeserializeOwned>(req: &mut Request, limit: usize) -> ApiResult<T> {
    let is_json = req.content_type().is_some_and(|mime| {
        mime.type_() == "application"
            && (mime.subtype() == "json" || mime.suffix().is_some_and(|suffix| suffix == "json"))
    });
    if !is_json {
        return Err(ApiError::NotJsonType);
    }
    let body = req.payload_with_max_size(limit).await.map_err(|error| unreadable(&error, limit))?;
    parse(body)
}

/// The same, but an absent body means all defaults.
pub async fn optional_json<T: DeserializeOwned + Default>(req: &mut Request, limit: usize) -> ApiResult<T> {
    let body = req.payload_with_max_size(limit).await.map_err(|error| unreadable(&error, limit))?;
    if body.is_empty() { Ok(T::default()) } else { json(req, limit).await }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> ApiResult<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut deserializer);
    // A wrong field may come before the place where the body is no longer JSON.
    serde_json::from_slice::<IgnoredAny>(body).map_err(|error| ApiError::NotJson(error.to_string()))?;
    if !read.as_ref().is_err_and(|error| error.inner().is_data()) {
        refuse_lost_numbers(body)?;
    }
    read.map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        if inner.is_data() {
            ApiError::invalid(if path == "." { String::new() } else { path }, without_place(&inner))
        } else {
            ApiError::NotJson(inner.to_string())
        }
    })
}

/// Refuses numbers that a field of any shape, such as a step's option, would have without some of their digits.
fn refuse_lost_numbers(body: &[u8]) -> ApiResult<()> {
    let lost = std::str::from_utf8(body).map(kept_number::lost_numbers).unwrap_or_default();
    if lost.is_empty() {
        return Ok(());
    }
    Err(ApiError::Invalid(lost.into_iter().map(|path| FieldError::new(path, kept_number::LOST)).collect()))
}

/// The field's path says where; line and column of the body would only distract.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// The query parameters of a request: each is read once by name; unread ones are refused.
pub struct Query {
    values: BTreeMap<String, String>,
    wrong: Vec<FieldError>,
}

impl Query {
    /// Takes the request's parameters; repeating one is refused, and so is text that PostgreSQL cannot store.
    pub fn of(req: &Request) -> Self {
        let mut wrong = Vec::new();
        let mut values = BTreeMap::new();
        for (name, all) in req.queries().iter_all() {
            let refusal = match &all[..] {
                [value] if value.contains('\0') => NUL,
                [value] => {
                    values.insert(name.clone(), value.clone());
                    continue;
                }
                _ => "give this parameter once",
            };
            wrong.push(FieldError::new(name, refusal));
        }
        Self { values, wrong }
    }

    pub fn take<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        let value = self.values.remove(name)?;
        value.parse().map_err(|error| self.refuse(name, format!("{error}"))).ok()
    }

    pub fn take_text(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }

    pub fn take_bool(&mut self, name: &str) -> Option<bool> {
        match self.values.remove(name)?.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                self.refuse(name, "takes true or false".to_owned());
                None
            }
        }
    }

    pub fn take_cursor<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let cursor = self.values.remove("cursor")?;
        let read = read(&cursor);
        if read.is_none() {
            self.refuse("cursor", "takes the `next_cursor` of the page before".to_owned());
        }
        read
    }

    /// Reads the number of items of a page: default 50, at most 200.
    pub fn take_limit(&mut self) -> i64 {
        self.take_within("limit", 1..=200, 50)
    }

    pub fn take_within<T>(&mut self, name: &str, bounds: RangeInclusive<T>, default: T) -> T
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let Some(value) = self.values.remove(name) else { return default };
        match value.parse() {
            Ok(number) if bounds.contains(&number) => number,
            Ok(_) | Err(_) => {
                self.refuse(name, format!("takes a whole number from {} to {}", bounds.start(), bounds.end()));
                default
            }
        }
    }

    fn refuse(&mut self, name: &str, message: String) {
        self.wrong.push(FieldError::new(name, message));
    }

    /// Refuses unknown parameters, together with all wrong values found before.
    pub fn finish(mut self) -> ApiResult<()> {
        for name in std::mem::take(&mut self.values).into_keys() {
            self.refuse(&name, "there is no such parameter here".to_owned());
        }
        if self.wrong.is_empty() { Ok(()) } else { Err(ApiError::Invalid(self.wrong)) }
    }
}

pub fn pipeline(req: &Request) -> PipelineRef {
    let Ok(pipeline) = req.param::<String>("p").unwrap_or_default().parse();
    pipeline
}

pub fn run(req: &Request) -> ApiResult<RunId> {
    id(req, "run").map(RunId)
}

pub fn report(req: &Request) -> ApiResult<ReportId> {
    id(req, "report").map(ReportId)
}

fn id(req: &Request, of: &str) -> ApiResult<Uuid> {
    let text = req.param::<String>("id").unwrap_or_default();
    Uuid::try_parse(&text).map_err(|_| ApiError::NotFound(format!("there is no {of} `{text}`")))
}

pub fn header<'a>(req: &'a Request, name: &str) -> ApiResult<Option<&'a str>> {
    let Some(value) = req.headers().get(name) else { return Ok(None) };
    value
        .to_str()
        .map(Some)
        .map_err(|_| ApiError::BadRequest(format!("header {name} has characters that are not ASCII")))
}

pub fn idempotency_key(req: &Request) -> ApiResult<Option<String>> {
    let Some(key) = header(req, "idempotency-key")? else { return Ok(None) };
    if (1..=200).contains(&key.len()) {
        Ok(Some(key.to_owned()))
    } else {
        Err(ApiError::invalid("Idempotency-Key", "takes 1 to 200 characters"))
    }
}
