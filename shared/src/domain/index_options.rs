//! The settings of an index: the `options` of a target `es:<index>`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Problem, names::named_enum};

named_enum! {
    /// How documents are written in mode `incremental`.
    WriteMode {
        /// Bulk `update` with `doc_as_upsert`: a document that did not change is not written. It has no versions, so that a
        /// late request puts old values over new ones.
        Update = "update",
        /// Bulk `index` with a version: an older row never replaces a newer one.
        Index = "index",
    }
}

named_enum! {
    /// How a column of type `json` or `jsonb` is mapped.
    JsonFields {
        /// Kept in the document, not searched.
        Object = "object",
        /// Searched by its leaves, as keywords. The server must know the type `flattened`.
        Flattened = "flattened",
    }
}

/// Everything that can be decided about an index. Unknown settings are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IndexOptions {
    pub shards: u32,
    pub replicas: u32,
    /// How soon changes can be searched, as Elasticsearch writes durations; `-1` means never by itself.
    pub refresh_interval: String,
    /// Further settings of an index that is created, for instance `analysis`.
    pub settings: Map<String, Value>,
    /// Mapping that takes precedence over the derived one, as `{"properties": {…}}`.
    pub mappings: Map<String, Value>,
    /// How documents are written; `index` by default.
    pub write: Option<WriteMode>,
    pub json: JsonFields,
    /// Size of a request's body before compression. A larger document goes alone.
    pub max_body_bytes: usize,
    pub max_docs: usize,
    /// Requests at a time, for one batch.
    pub concurrency: usize,
    /// How many replaced indexes a full run leaves for a rollback.
    pub keep_old: usize,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            shards: 1,
            replicas: 1,
            refresh_interval: "1s".to_owned(),
            settings: Map::new(),
            mappings: Map::new(),
            write: None,
            json: JsonFields::Object,
            max_body_bytes: 8 * 1024 * 1024,
            max_docs: 2_000,
            concurrency: 2,
            keep_old: 0,
        }
    }
}

impl IndexOptions {
    pub fn parse(options: &Value) -> Result<Self, Vec<Problem>> {
        let parsed: Self = serde_path_to_error::deserialize(options).map_err(|error| {
            let path = error.path().to_string();
            let field = if path == "." { "options".to_owned() } else { format!("options.{path}") };
            vec![Problem::new(field, error.into_inner().to_string())]
        })?;
        let problems = parsed.problems();
        if problems.is_empty() { Ok(parsed) } else { Err(problems) }
    }

    fn problems(&self) -> Vec<Problem> {
        let ranges = [
            ("shards", u64::from(self.shards), 1, 1024),
            ("replicas", u64::from(self.replicas), 0, 32),
            ("max_body_bytes", self.max_body_bytes as u64, 1024, 90 * 1024 * 1024),
            ("max_docs", self.max_docs as u64, 1, 1_000_000),
            ("concurrency", self.concurrency as u64, 1, 64),
            ("keep_old", self.keep_old as u64, 0, 100),
        ];
        let mut problems: Vec<Problem> = ranges
            .into_iter()
            .filter(|(_, value, least, most)| !(least..=most).contains(&value))
            .map(|(name, _, least, most)| {
                Problem::new(format!("options.{name}"), format!("takes a whole number from {least} to {most}"))
            })
            .collect();
        if !is_interval(&self.refresh_interval) {
            let message = "takes a duration such as `1s`, `500ms` or `1m`, or `-1` for never";
            problems.push(Problem::new("options.refresh_interval", message));
        }
        problems.extend(self.mapping_problems());
        problems.extend(self.setting_problems());
        problems
    }

    fn mapping_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.mappings.get("dynamic").is_some_and(|value| value != "strict") {
            let message = "an index is always `strict`: a field without a mapping is an error and not a new field";
            problems.push(Problem::new("options.mappings.dynamic", message));
        }
        match self.mappings.get("properties") {
            None if self.mappings.is_empty() => {}
            None => problems.push(Problem::new("options.mappings", "takes `{\"properties\": {\"<column>\": {…}}}`")),
            Some(Value::Object(fields)) => {
                let wrong = fields.iter().filter(|(_, mapping)| !mapping.is_object());
                problems.extend(wrong.map(|(name, _)| {
                    Problem::new(
                        format!("options.mappings.properties.{name}"),
                        "takes an object such as `{\"type\": \"keyword\"}`",
                    )
                }));
            }
            Some(_) => problems.push(Problem::new("options.mappings.properties", "takes an object")),
        }
        problems
    }

    fn setting_problems(&self) -> Vec<Problem> {
        let own = ["number_of_shards", "number_of_replicas", "refresh_interval", "index"];
        let hints = ["shards", "replicas", "refresh_interval", "settings without the prefix `index`"];
        own.iter()
            .zip(hints)
            .filter(|(name, _)| {
                self.settings.keys().any(|key| key == *name || key.strip_prefix("index.") == Some(name))
            })
            .map(|(name, hint)| Problem::new(format!("options.settings.{name}"), format!("use the option {hint}")))
            .collect()
    }
}

fn is_interval(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    text == "-1" || (digits.parse::<u32>().is_ok() && ["ms", "s", "m", "h"].contains(&unit))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(options: &Value) -> Vec<String> {
        let problems = IndexOptions::parse(options).expect_err(&options.to_string());
        problems.into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn no_options_are_the_defaults() {
        assert_eq!(IndexOptions::parse(&json!({})), Ok(IndexOptions::default()));
    }

    #[test]
    fn every_wrong_option_is_named() {
        let wrong = json!({
            "shards": 0, "replicas": 99, "max_body_bytes": 3, "max_docs": 0, "concurrency": 0, "refresh_interval": "soon",
            "mappings": {"dynamic": true, "properties": {"a": "keyword"}}, "settings": {"index.number_of_shards": 3}
        });
        let expected = [
            "options.shards",
            "options.replicas",
            "options.max_body_bytes",
            "options.max_docs",
            "options.concurrency",
            "options.refresh_interval",
            "options.mappings.dynamic",
            "options.mappings.properties.a",
            "options.settings.number_of_shards",
        ];
        assert_eq!(fields(&wrong), expected);
    }

    #[test]
    fn an_unknown_option_is_refused_with_those_there_are() {
        let problems = IndexOptions::parse(&json!({"shard": 1})).expect_err("there is no such option");
        assert!(problems[0].message.contains("unknown field `shard`, expected one of `shards`"), "{problems:?}");
    }

    #[test]
    fn a_wrong_type_names_its_option() {
        assert_eq!(fields(&json!({"replicas": "two"})), ["options.replicas"]);
        assert_eq!(fields(&json!({"write": "upsert"})), ["options.write"]);
        assert_eq!(fields(&json!(3)), ["options"]);
    }
}
