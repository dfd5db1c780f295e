//! Which schemas a source query may read.

use super::env::{Env, FromEnv};
use crate::domain::is_reserved;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceConfig {
    /// The schemas, each once, in the order given: `VITRINA_SOURCE_SCHEMAS`.
    pub schemas: Vec<String>,
}

impl Default for SourceConfig {
    fn default() -> Self {
        Self { schemas: vec!["content".to_owned(), "ugc".to_owned()] }
    }
}

impl FromEnv for SourceConfig {
    fn from_env(env: &mut Env) -> Option<Self> {
        Some(env.parsed("VITRINA_SOURCE_SCHEMAS", parse).unwrap_or_default())
    }
}

fn parse(value: &str) -> Result<SourceConfig, String> {
    let mut schemas: Vec<String> = Vec::new();
    for name in value.split(',').map(str::trim) {
        check(name)?;
        if !schemas.iter().any(|known| known == name) {
            schemas.push(name.to_owned());
        }
    }
    Ok(SourceConfig { schemas })
}

fn check(name: &str) -> Result<(), String> {
    if is_reserved(name) {
        return Err(format!("names the schema {name} which is never a source"));
    }
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let goes_on_well = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if starts_well && goes_on_well && name.len() <= 63 {
        Ok(())
    } else {
        Err(format!(
            "names the schema \"{}\" but takes names of lower-case letters, digits and underscores, \
             separated by commas (default content,ugc)",
            name.escape_default()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<Vec<String>, String> {
        let read = Env::from_pairs([("VITRINA_SOURCE_SCHEMAS", value)]).read::<SourceConfig>();
        read.map(|source| source.schemas).map_err(|errors| errors.to_string())
    }

    #[test]
    fn the_default_is_the_cinema() {
        assert_eq!(read("").expect("default"), ["content", "ugc"]);
    }

    #[test]
    fn schemas_are_listed_once_each_whatever_the_white_space() {
        assert_eq!(read("shop_2 ,content, shop_2").expect("good names"), ["shop_2", "content"]);
    }

    #[test]
    fn our_own_schemas_and_the_catalogue_are_refused() {
        for name in [
            "etl",
            "etl_hook",
            "etl_mart",
            "etl_page",
            "etl_query",
            "etl_swap",
            "apalis",
            "analytics",
            "pg_catalog",
            "information_schema",
            "pg_temp",
            "pg_toast",
        ] {
            let sentence = read(&format!("content,{name}")).expect_err(name);
            assert_eq!(sentence, format!("VITRINA_SOURCE_SCHEMAS names the schema {name} which is never a source."));
        }
    }

    #[test]
    fn what_is_no_plain_identifier_is_refused() {
        let long = "x".repeat(64);
        for name in ["a b", "a;drop", "\"a\"", "Content", "1a", "content,", ",", "контент", "a\nb", &long] {
            assert!(read(name).is_err(), "{name}");
        }
    }
}
