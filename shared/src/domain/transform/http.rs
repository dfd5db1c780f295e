//! `http`: asks a service about rows and puts what it answers into columns. Here is what the step declares, how a request is
//! made of a row, and what an answer means; the worker sends requests (`worker/src/step/http.rs`).

mod options;
mod request;
mod schema;
mod template;
mod verdict;

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use url::Url;

pub use self::{
    options::Method,
    request::{Origin, Poll, Request, Templates},
    template::Template,
    verdict::{Class, Rule, classify},
};
use self::{
    options::{KeyOptions, Options},
    schema::schema,
};
use super::{
    Configured, Extracted, SourceColumn, Transform, TransformKind, column,
    hash::check_pool,
    options as read,
    pointer::{self, extracted},
    some_columns,
};
use crate::domain::bounds::names_problem;

pub(super) const KIND: TransformKind = TransformKind {
    name: "http",
    description: "Asks a service about each row, within limits, and puts fields of the answer into columns",
    schema,
    configure,
};

pub const MAX_ANSWER_BYTES: u32 = 16 * 1024 * 1024;
const TIMEOUT_SECONDS: RangeInclusive<u16> = 1..=120;
const CONCURRENCY: RangeInclusive<u16> = 1..=64;
const ROWS_PER_CALL: RangeInclusive<u16> = 1..=500;
const EVERY_SECONDS: RangeInclusive<u16> = 1..=600;
const DEADLINE_SECONDS: RangeInclusive<u32> = 1..=86_400;
const MAX_HEADERS: usize = 32;
const MAX_RULES: usize = 32;

/// A checked step.
#[derive(Debug, Clone)]
pub struct Http {
    pub templates: Templates,
    pub rows_per_call: usize,
    /// Where the answers of a call for several rows are.
    answers_at: Vec<String>,
    pub columns: Vec<Extracted>,
    pub limit: Option<String>,
    pub keys: Option<KeyUse>,
    pub timeout_seconds: u16,
    pub concurrency: usize,
    pub max_answer_bytes: usize,
    pub idempotency_header: Option<String>,
    pub entity: Vec<String>,
    pub poll: Option<Poll>,
    pub classes: Vec<Rule>,
    pub health: Option<Url>,
}

/// How a key is sent.
#[derive(Debug, Clone)]
pub struct KeyUse {
    pub pool: String,
    pub header: String,
    pub prefix: String,
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    Ok(Configured::Worker(Box::new(Http::of(given)?)))
}

impl Http {
    /// Checks options.
    pub fn of(given: &Map<String, Value>) -> Result<Self, String> {
        let options: Options = read(given)?;
        some_columns(options.columns.keys())?;
        check_sizes(&options)?;
        let templates = Templates::of(&options)?;
        let poll = options.poll.as_ref().map(Poll::of).transpose()?;
        if poll.is_some() && options.rows_per_call > 1 {
            return Err("poll: goes with one row per call".to_owned());
        }
        check_names(&options, &templates)?;
        for (place, rule) in options.classes.iter().enumerate() {
            rule.check().map_err(|refusal| format!("classes.{place}: {refusal}"))?;
        }
        let health = options.health.as_deref().map(|health| Origin::of(health).map(|(_, url)| url)).transpose();
        Ok(Self {
            rows_per_call: usize::from(options.rows_per_call),
            answers_at: path_or_whole(&options.answers_at).map_err(|refusal| format!("answers_at: {refusal}"))?,
            columns: extracted(options.columns)?,
            limit: options.limit,
            keys: options.keys.map(KeyUse::of).transpose()?,
            timeout_seconds: options.timeout_seconds,
            concurrency: usize::from(options.concurrency),
            max_answer_bytes: usize::try_from(options.max_answer_bytes).unwrap_or(usize::MAX),
            idempotency_header: options.idempotency_header,
            entity: options.entity,
            classes: options.classes,
            health: health.map_err(|refusal| format!("health: {refusal}"))?,
            templates,
            poll,
        })
    }
}

impl Http {
    /// The answers of a call for several rows. An answer that cannot be read has none.
    pub fn answers_in<'a>(&self, document: &'a str) -> Option<&'a str> {
        pointer::find(document, &self.answers_at).ok()?
    }
}

impl KeyUse {
    fn of(KeyOptions { pool, header, prefix }: KeyOptions) -> Result<Self, String> {
        check_pool(&pool).map_err(|refusal| format!("keys.{refusal}"))?;
        request::check_header(&header).map_err(|refusal| format!("keys.header: {refusal}"))?;
        if prefix.len() > 100 || !prefix.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err("keys.prefix: takes up to 100 printable characters of ASCII".to_owned());
        }
        Ok(Self { pool, header, prefix })
    }
}

fn check_sizes(options: &Options) -> Result<(), String> {
    within("rows_per_call", options.rows_per_call, &ROWS_PER_CALL)?;
    within("timeout_seconds", options.timeout_seconds, &TIMEOUT_SECONDS)?;
    within("concurrency", options.concurrency, &CONCURRENCY)?;
    within("max_answer_bytes", options.max_answer_bytes, &(1..=MAX_ANSWER_BYTES))?;
    if let Some(poll) = &options.poll {
        within("poll.every_seconds", poll.every_seconds, &EVERY_SECONDS)?;
        within("poll.deadline_seconds", poll.deadline_seconds, &DEADLINE_SECONDS)?;
    }
    for (name, found, most) in
        [("headers", options.headers.len(), MAX_HEADERS), ("classes", options.classes.len(), MAX_RULES)]
    {
        if found > most {
            return Err(format!("{name}: has {found}, at most {most} are allowed"));
        }
    }
    Ok(())
}

fn within<N: PartialOrd + std::fmt::Display>(name: &str, found: N, range: &RangeInclusive<N>) -> Result<(), String> {
    if range.contains(&found) { Ok(()) } else { Err(format!("{name}: takes {} to {}", range.start(), range.end())) }
}

fn check_names(options: &Options, templates: &Templates) -> Result<(), String> {
    for (name, columns) in [("entity", &options.entity), ("input", &options.input)] {
        names_problem(columns.iter()).map_or(Ok(()), |refusal| Err(format!("{name}: {refusal}")))?;
    }
    if let Some(limit) = &options.limit {
        check_limit(limit).map_err(|refusal| format!("limit: {refusal}"))?;
    }
    if let Some(header) = &options.idempotency_header {
        request::check_header(header).map_err(|refusal| format!("idempotency_header: {refusal}"))?;
    }
    match (options.rows_per_call > 1, options.input.is_empty()) {
        (true, true) => {
            Err("input: name the columns that `rows` in the templates has, of which a call is made".to_owned())
        }
        (false, false) => Err("input: goes with rows_per_call above 1".to_owned()),
        (true, false) if !templates.take("rows") => {
            Err("body: a call for several rows takes them as `rows`".to_owned())
        }
        (true | false, _) => Ok(()),
    }
}

/// Whether a limit can have this name.
pub fn check_limit(name: &str) -> Result<(), String> {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if begins && name.len() <= 63 && name.bytes().all(is_inner) {
        return Ok(());
    }
    Err("a name of 1 to 63 letters, digits, `_`, `.` and `-` that begins with a letter".to_owned())
}

/// A pointer; an empty one is of the whole document.
fn path_or_whole(pointer: &str) -> Result<Vec<String>, String> {
    if pointer.is_empty() { Ok(Vec::new()) } else { pointer::path(pointer) }
}

impl Transform for Http {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        let poll = self.poll.iter().flat_map(Poll::columns);
        let used: Vec<_> = self.templates.columns().chain(poll).chain(&self.entity).cloned().collect();
        for name in used {
            column(columns, &name)?;
        }
        for found in &self.columns {
            let made = SourceColumn::made(&found.name, found.made);
            match columns.iter_mut().find(|column| column.name == found.name) {
                Some(column) => *column = made,
                None => columns.push(made),
            }
        }
        Ok(())
    }

    fn touches(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    fn is_pure(&self) -> bool {
        false
    }

    /// Calls are remembered.
    fn repeats(&self) -> bool {
        true
    }

    fn entity(&self) -> &[String] {
        &self.entity
    }

    fn concurrency(&self) -> Option<usize> {
        Some(self.concurrency)
    }
}

#[cfg(test)]
mod tests;
