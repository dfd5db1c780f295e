//! Where a pipeline writes.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{IndexOptions, PipelineDraft, Problem, SourceColumn, index_fit};

/// A target as it is written in configuration: `analytics.<table>` or, outside of the database, `<scheme>:<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TargetName {
    Mart(String),
    /// What a sink of this scheme keeps under this name.
    External(&'static str, String),
}

/// A kind of target outside of the database.
pub struct ExternalKind {
    /// What its targets begin with, before the colon.
    pub scheme: &'static str,
    /// How they are written, for messages.
    form: &'static str,
    /// The server's name, as messages begin that quote its words: `<server> answers …`, `<server> refuses …`. Viewers do not see
    /// those words.
    pub server: &'static str,
    is_name: fn(&str) -> bool,
    pub option_problems: fn(&Value) -> Vec<Problem>,
    /// Where a pipeline does not fit such a target, by its options and the columns that arrive there.
    pub mismatches: fn(&PipelineDraft, &Value, &[SourceColumn]) -> Vec<Problem>,
}

pub const ELASTICSEARCH: &str = "es";

/// Every kind of target outside of the database: a sink adds its line here.
#[rustfmt::skip]
const EXTERNAL_KINDS: &[ExternalKind] = &[
    ExternalKind { scheme: ELASTICSEARCH, form: "`es:<index>` (lower case letters, digits, `_`, `-` and `.`)", server: "Elasticsearch",
                   is_name: is_index, option_problems: |options| IndexOptions::parse(options).err().unwrap_or_default(), mismatches: index_fit::mismatches },
    #[cfg(feature = "testing")]
    ExternalKind { scheme: "memory", form: "`memory:<name>`", server: "memory", is_name: is_index, option_problems: |_| Vec::new(), mismatches: |_, _, _| Vec::new() },
];

impl ExternalKind {
    pub fn of(scheme: &str) -> Option<&'static Self> {
        EXTERNAL_KINDS.iter().find(|kind| kind.scheme == scheme)
    }

    /// The kind whose server's words the message quotes.
    pub fn quoted_in(message: &str) -> Option<&'static Self> {
        let quotes = |kind: &&Self| {
            let after_name = message.match_indices(kind.server).map(|(at, name)| &message[at + name.len()..]);
            after_name.into_iter().any(|words| words.starts_with(" answers ") || words.starts_with(" refuses "))
        };
        EXTERNAL_KINDS.iter().find(quotes)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a target: write `analytics.<table>` (lower case letters, digits and `_`) or {forms}", forms = forms())]
pub struct NotATarget(String);

fn forms() -> String {
    EXTERNAL_KINDS.iter().map(|kind| kind.form).collect::<Vec<_>>().join(" or ")
}

impl TargetName {
    pub const MART_SCHEMA: &'static str = "analytics";

    /// Whether rows of this target are compared as the query returns them, inside the database, and not after a plan's steps.
    pub fn is_compared_without_steps(&self) -> bool {
        match self {
            Self::Mart(_) => true,
            Self::External(..) => false,
        }
    }
}

impl FromStr for TargetName {
    type Err = NotATarget;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mart = text.strip_prefix("analytics.").filter(|table| is_table(table));
        let external = || {
            let (scheme, name) = text.split_once(':')?;
            let kind = ExternalKind::of(scheme).filter(|kind| (kind.is_name)(name))?;
            Some(Self::External(kind.scheme, name.to_owned()))
        };
        let name = mart.map(|table| Self::Mart(table.to_owned())).or_else(external);
        name.ok_or_else(|| NotATarget(text.chars().take(200).collect()))
    }
}

fn is_table(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_index(name: &str) -> bool {
    name.len() <= 200
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.'))
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mart(table) => write!(f, "analytics.{table}"),
            Self::External(scheme, name) => write!(f, "{scheme}:{name}"),
        }
    }
}

/// A row of `etl.etl_targets`: one entry of the whitelist.
#[derive(Debug, Clone)]
pub struct Target {
    pub target: String,
    /// Columns that identify a row.
    pub key: Vec<String>,
    pub options: Value,
    pub created_at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_the_words_of_a_server_names_the_kind_of_its_targets() {
        let quoted = |message| ExternalKind::quoted_in(message).map(|kind| kind.scheme);
        assert_eq!(quoted("batch 3: Elasticsearch answers 400: a value"), Some("es"));
        assert_eq!(quoted("Elasticsearch is one, and memory refuses document `1`: a value"), Some("memory"));
        assert_eq!(quoted("what answers may not be Elasticsearch"), None);
    }

    #[test]
    fn a_target_reads_back_as_it_was_written() {
        for text in ["analytics.film_dim", "es:film_dim", "es:films-2024.1"] {
            assert_eq!(text.parse::<TargetName>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_forms() {
        for text in [
            "",
            "film_dim",
            "etl.etl_runs",
            "analytics.",
            "analytics:x",
            "es.x",
            "es:",
            "es:-x",
            "es:UPPER",
            "analytics.film;drop",
            "analytics.a.b",
            "analytics.Film",
            "analytics.\u{445}",
        ] {
            let refusal = text.parse::<TargetName>().expect_err(text);
            assert!(refusal.to_string().contains("analytics.<table>"), "{refusal}");
        }
    }
}
