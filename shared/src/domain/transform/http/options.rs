//! The options of `http`, as a plan gives them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::{super::pointer::Wanted, verdict::Rule};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub url: String,
    pub method: Option<Method>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub body: Option<String>,
    #[serde(default = "one")]
    pub rows_per_call: u16,
    /// The columns that a call for several rows is made of.
    #[serde(default)]
    pub input: Vec<String>,
    /// Where the answers of a call for several rows are, one for each row.
    #[serde(default)]
    pub answers_at: String,
    pub columns: BTreeMap<String, Wanted>,
    pub limit: Option<String>,
    pub keys: Option<KeyOptions>,
    #[serde(default = "timeout")]
    pub timeout_seconds: u16,
    #[serde(default = "concurrency")]
    pub concurrency: u16,
    #[serde(default = "max_answer")]
    pub max_answer_bytes: u32,
    #[serde(default = "idempotency_header", deserialize_with = "nullable")]
    pub idempotency_header: Option<String>,
    /// The columns that name what the row is about: one remembered call for each of it.
    #[serde(default)]
    pub entity: Vec<String>,
    pub poll: Option<PollOptions>,
    #[serde(default)]
    pub classes: Vec<Rule>,
    pub health: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Method {
    #[serde(rename = "GET")]
    Get,
    #[serde(rename = "POST")]
    Post,
    #[serde(rename = "PUT")]
    Put,
    #[serde(rename = "PATCH")]
    Patch,
    #[serde(rename = "DELETE")]
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyOptions {
    /// The keys are the value of `VITRINA_KEYS_<POOL>`.
    pub pool: String,
    #[serde(default = "authorization")]
    pub header: String,
    #[serde(default)]
    pub prefix: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PollOptions {
    /// Where the first answer has the id by which it is asked for.
    pub id: String,
    pub url: String,
    #[serde(default = "every")]
    pub every_seconds: u16,
    #[serde(default = "deadline")]
    pub deadline_seconds: u32,
    /// Where an answer says how far it is.
    pub state: String,
    pub done: Vec<String>,
    #[serde(default)]
    pub failed: Vec<String>,
}

fn one() -> u16 {
    1
}

fn timeout() -> u16 {
    30
}

fn concurrency() -> u16 {
    4
}

fn max_answer() -> u32 {
    1024 * 1024
}

fn every() -> u16 {
    5
}

fn deadline() -> u32 {
    360
}

fn authorization() -> String {
    "Authorization".to_owned()
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an option that may be turned off")]
fn idempotency_header() -> Option<String> {
    Some("Idempotency-Key".to_owned())
}

fn nullable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}
