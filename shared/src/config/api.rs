//! Settings of the API.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::env::{Env, FromEnv};
use super::metrics_token::MetricsToken;
use super::tokens::Tokens;

#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Where the API listens: `VITRINA_ADDR`. Loopback, unless there are tokens.
    pub addr: SocketAddr,
    /// Callers and their roles: `VITRINA_TOKENS`.
    pub tokens: Tokens,
    /// What `/metrics` asks for, if anything: `VITRINA_METRICS_TOKEN`.
    pub metrics_token: Option<MetricsToken>,
    /// Whether viewers see values of rows in errors, dead letters and reports: `VITRINA_VIEWERS_SEE_VALUES`.
    pub viewers_see_values: bool,
    /// How long a request may take: `VITRINA_REQUEST_TIMEOUT_SECONDS`.
    pub request_timeout: Duration,
    /// How large a request's body may be: `VITRINA_MAX_BODY_BYTES`.
    pub max_body_bytes: usize,
    /// How many requests are worked on at once: `VITRINA_MAX_IN_FLIGHT`.
    pub max_in_flight: usize,
    /// How many event streams are open at once: `VITRINA_MAX_EVENT_STREAMS`.
    pub max_event_streams: usize,
    /// Whether an admin may have marts created: `VITRINA_CREATE_TARGETS`.
    pub create_targets: bool,
}

impl FromEnv for ApiConfig {
    fn from_env(env: &mut Env) -> Option<Self> {
        let addr = env.parsed("VITRINA_ADDR", |value| parse_addr(value, "127.0.0.1:8080"));
        let tokens = env.parsed("VITRINA_TOKENS", Tokens::parse).unwrap_or_default();
        let config = Self {
            addr: addr.unwrap_or((Ipv4Addr::LOCALHOST, 8080).into()),
            tokens,
            metrics_token: MetricsToken::read(env),
            viewers_see_values: env.parsed("VITRINA_VIEWERS_SEE_VALUES", parse_bool).unwrap_or(false),
            request_timeout: env.seconds("VITRINA_REQUEST_TIMEOUT_SECONDS", 10.0, 0.1..=600.0),
            max_body_bytes: env.number("VITRINA_MAX_BODY_BYTES", 1 << 20, 1 << 10..=1 << 30),
            max_in_flight: env.number("VITRINA_MAX_IN_FLIGHT", 256, 1..=65_536),
            max_event_streams: env.number("VITRINA_MAX_EVENT_STREAMS", 256, 1..=65_536),
            create_targets: env.parsed("VITRINA_CREATE_TARGETS", parse_bool).unwrap_or(false),
        };
        config.refuse_to_be_open_to_the_world(env);
        Some(config)
    }
}

impl ApiConfig {
    fn refuse_to_be_open_to_the_world(&self, env: &mut Env) {
        let loopback = self.addr.ip().to_canonical().is_loopback();
        if !loopback && self.tokens.is_empty() && !env.reported("VITRINA_TOKENS") {
            let sentence = "would let anyone in: set VITRINA_TOKENS, or listen on a loopback address such as 127.0.0.1";
            env.report("VITRINA_ADDR", format_args!("is {} which {sentence}", self.addr));
        }
    }
}

/// Parses an address to listen on, `localhost` included.
pub(super) fn parse_addr(value: &str, default: &str) -> Result<SocketAddr, String> {
    let numeric = match value.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => value.to_owned(),
    };
    numeric.parse().map_err(|_| format!("is \"{value}\" but takes an IP address and a port (default {default})"))
}

fn parse_bool(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("is \"{value}\" but takes true or false (default false)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ApiConfig, String> {
        Env::from_pairs(pairs.iter().copied()).read().map_err(|errors| errors.to_string())
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let api = read(&[]).expect("defaults");
        assert_eq!(api.addr.to_string(), "127.0.0.1:8080");
        assert!(api.tokens.is_empty());
        assert_eq!(api.request_timeout, Duration::from_secs(10));
        assert_eq!(api.max_body_bytes, 1_048_576);
        assert_eq!((api.max_in_flight, api.max_event_streams), (256, 256));
        assert!(!api.create_targets && !api.viewers_see_values && api.metrics_token.is_none());
    }

    #[test]
    fn what_is_off_is_switched_on_by_true_and_nothing_else() {
        assert!(read(&[("VITRINA_VIEWERS_SEE_VALUES", "true")]).expect("true").viewers_see_values);
        assert!(read(&[("VITRINA_VIEWERS_SEE_VALUES", "1")]).expect_err("1").contains("takes true or false"));
        assert!(read(&[("VITRINA_CREATE_TARGETS", "true")]).expect("true").create_targets);
        let sentence = read(&[("VITRINA_CREATE_TARGETS", "yes")]).expect_err("yes");
        assert_eq!(sentence, "VITRINA_CREATE_TARGETS is \"yes\" but takes true or false (default false).");
    }

    #[test]
    fn without_tokens_only_loopback_is_listened_on() {
        for addr in ["127.0.0.1:0", "127.8.8.8:80", "[::1]:8080", "[::ffff:127.0.0.1]:80", "localhost:8080"] {
            assert!(read(&[("VITRINA_ADDR", addr)]).is_ok(), "{addr}");
        }
        for addr in ["0.0.0.0:8080", "[::]:8080", "192.168.1.5:8080"] {
            let sentence = read(&[("VITRINA_ADDR", addr)]).expect_err(addr);
            assert!(sentence.starts_with(&format!("VITRINA_ADDR is {addr}")), "{sentence}");
            assert!(sentence.contains("set VITRINA_TOKENS"), "{sentence}");
        }
    }

    #[test]
    fn with_tokens_any_address_is_listened_on() {
        let tokens = ("VITRINA_TOKENS", "ops:admin:0123456789abcdef");
        assert!(read(&[("VITRINA_ADDR", "0.0.0.0:8080"), tokens]).is_ok());
    }

    #[test]
    fn wrong_tokens_are_reported_once_and_not_as_missing() {
        let sentence = read(&[("VITRINA_ADDR", "0.0.0.0:8080"), ("VITRINA_TOKENS", "nonsense")]);
        assert_eq!(sentence.expect_err("wrong tokens").lines().count(), 1);
    }

    #[test]
    fn an_address_without_a_port_is_refused_with_an_example() {
        let sentence = read(&[("VITRINA_ADDR", "127.0.0.1")]).expect_err("no port");
        assert_eq!(
            sentence,
            "VITRINA_ADDR is \"127.0.0.1\" but takes an IP address and a port (default 127.0.0.1:8080)."
        );
    }
}
