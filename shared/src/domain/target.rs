//! Where a pipeline writes.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};

/// A target as it is written in configuration: `analytics.<table>` or `es:<index>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TargetName {
    /// A table of the schema `analytics`.
    Mart(String),
    /// An Elasticsearch index.
    Index(String),
}

/// Why a text is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a target: write `analytics.<table>` (lower case letters, digits and `_`) \
     or `es:<index>` (lower case letters, digits, `_`, `-` and `.`)"
)]
pub struct NotATarget(String);

impl FromStr for TargetName {
    type Err = NotATarget;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = match text.split_once(['.', ':']) {
            Some(("analytics", table)) if text.starts_with("analytics.") && is_table(table) => {
                Some(Self::Mart(table.to_owned()))
            }
            Some(("es", index)) if text.starts_with("es:") && is_index(index) => Some(Self::Index(index.to_owned())),
            Some(_) | None => None,
        };
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
            Self::Index(index) => write!(f, "es:{index}"),
        }
    }
}

/// A row of `etl.etl_targets`: one entry of the whitelist.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name, as in [`TargetName`].
    pub target: String,
    /// Columns that identify a row.
    pub key: Vec<String>,
    /// Settings of the target.
    pub options: serde_json::Value,
    /// When it was allowed.
    pub created_at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_reads_back_as_it_was_written() {
        for text in ["analytics.film_dim", "es:film_dim", "es:films-2024.1"] {
            assert_eq!(text.parse::<TargetName>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_two_forms() {
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
