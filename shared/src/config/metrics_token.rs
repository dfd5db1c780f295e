//! The token of `/metrics`, if one is set.
//!
//! Metrics have the names of pipelines and their numbers of rows, and no value of a row. A token of its own lets Prometheus
//! read them and nothing else. As of other tokens only a hash is kept, and compared in constant time.

use std::fmt;

use subtle::ConstantTimeEq;

use super::env::Env;
use super::tokens::{SHORTEST_SECRET, bearer, hash};

const VARIABLE: &str = "VITRINA_METRICS_TOKEN";

#[derive(Clone)]
pub struct MetricsToken([u8; 32]);

impl MetricsToken {
    /// Reads the token, if one is set. API and worker have the same one: what is wrong with it is reported once.
    pub(super) fn read(env: &mut Env) -> Option<Self> {
        if env.reported(VARIABLE) { None } else { env.parsed(VARIABLE, Self::parse) }
    }

    fn parse(value: &str) -> Result<Self, String> {
        if value.chars().count() < SHORTEST_SECRET {
            return Err(format!("is shorter than {SHORTEST_SECRET} characters"));
        }
        if value.contains(char::is_whitespace) {
            return Err("has white space in it, which no header can carry".to_owned());
        }
        Ok(Self(hash(value)))
    }

    /// Whether the value of `Authorization` holds this token.
    pub fn admits(&self, authorization: Option<&str>) -> bool {
        authorization.and_then(bearer).is_some_and(|secret| hash(secret).ct_eq(&self.0).into())
    }
}

impl fmt::Debug for MetricsToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ApiConfig, WorkerConfig};
    use super::*;

    const TOKEN: &str = "prometheus-secret-1";

    fn read(value: &str) -> Result<(ApiConfig, WorkerConfig), String> {
        Env::from_pairs([(VARIABLE, value)]).read().map_err(|errors| errors.to_string())
    }

    #[test]
    fn api_and_worker_ask_for_the_same_token_and_show_it_nowhere() {
        let (api, worker) = read(TOKEN).expect("a good token");
        assert!(!format!("{api:?}{worker:?}").contains("prometheus"));
        for token in [api.metrics_token, worker.metrics_token] {
            let token = token.expect("it is set");
            assert!(token.admits(Some(&format!("Bearer {TOKEN}"))) && token.admits(Some(&format!("bearer  {TOKEN}"))));
            let wrong = [None, Some(""), Some(TOKEN), Some("Bearer "), Some("Bearer prometheus-secret-2")];
            assert!(wrong.into_iter().all(|header| !token.admits(header)));
            assert!(!token.admits(Some(&format!("Basic {TOKEN}"))));
        }
        let (api, worker) = read(" ").expect("unset");
        assert!(api.metrics_token.is_none() && worker.metrics_token.is_none());
    }

    #[test]
    fn a_wrong_token_is_reported_once_and_not_repeated() {
        for (wrong, sentence) in [
            ("hunter2", "VITRINA_METRICS_TOKEN is shorter than 16 characters."),
            ("hunter2 and something", "VITRINA_METRICS_TOKEN has white space in it, which no header can carry."),
        ] {
            assert_eq!(read(wrong).expect_err(wrong), sentence);
        }
    }
}
