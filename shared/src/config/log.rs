//! Settings of the log.

use std::path::PathBuf;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::env::{Env, FromEnv};

/// A hundred megabytes.
const FILE_BYTES: u64 = 104_857_600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// Which events are logged, in the syntax of `tracing`: `VITRINA_LOG`.
    pub filter: String,
    /// How a line looks: `VITRINA_LOG_FORMAT`.
    pub format: LogFormat,
    /// A file that gets every line besides standard error: `VITRINA_LOG_FILE`.
    pub file: Option<PathBuf>,
    /// How large that file may grow before it is set aside: `VITRINA_LOG_FILE_BYTES`.
    pub file_bytes: u64,
    /// How many that were set aside are kept: `VITRINA_LOG_FILES_KEPT`.
    pub files_kept: u32,
    /// The collector that traces are sent to, if any: `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines: one JSON object a line.
    Json,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            format: LogFormat::Text,
            file: None,
            file_bytes: FILE_BYTES,
            files_kept: 5,
            otlp_endpoint: None,
        }
    }
}

impl FromEnv for LogConfig {
    fn from_env(env: &mut Env) -> Option<Self> {
        let filter = env.parsed("VITRINA_LOG", |value| check_filter(value).map(|()| value.to_owned()));
        let format = env.parsed("VITRINA_LOG_FORMAT", parse_format);
        Some(Self {
            filter: filter.unwrap_or(Self::default().filter),
            format: format.unwrap_or_default(),
            file: env.text("VITRINA_LOG_FILE").map(PathBuf::from),
            file_bytes: env.number("VITRINA_LOG_FILE_BYTES", FILE_BYTES, 1024..=1 << 40),
            otlp_endpoint: env.parsed("OTEL_EXPORTER_OTLP_ENDPOINT", parse_endpoint),
            files_kept: env.number("VITRINA_LOG_FILES_KEPT", Self::default().files_kept, 0..=1000),
        })
    }
}

fn parse_format(value: &str) -> Result<LogFormat, String> {
    match value.to_ascii_lowercase().as_str() {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("is \"{value}\" but takes text or json (default text)")),
    }
}

/// A collector without TLS: one that is elsewhere is reached through one that is near.
fn parse_endpoint(value: &str) -> Result<String, String> {
    let host = value.strip_prefix("http://").filter(|host| !host.is_empty() && !host.starts_with(['/', ':']));
    let host = host.filter(|host| !host.contains(char::is_whitespace));
    host.map(|_| value.to_owned()).ok_or_else(|| {
        format!(
            "is \"{}\" but takes the address of a collector, for instance http://127.0.0.1:4318",
            value.escape_debug()
        )
    })
}

/// Refuses what `tracing` cannot read, and a bare word that is no level: it would silence all but a target of that name.
fn check_filter(value: &str) -> Result<(), String> {
    let plain = !value.contains(['[', '{', '"']);
    let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
    let bare_words = parts.filter(|part| plain && !part.contains('='));
    let understood = bare_words.map(str::parse::<LevelFilter>).all(|level| level.is_ok());
    if understood && EnvFilter::builder().parse(value).is_ok() {
        return Ok(());
    }
    Err(format!(
        "is \"{}\" but takes a level (off, error, warn, info, debug, trace) or target=level pairs, \
         separated by commas, for instance info,sqlx=warn (default info)",
        value.escape_debug()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variable: &str, value: &str) -> Result<LogConfig, String> {
        Env::from_pairs([(variable, value)]).read().map_err(|errors| errors.to_string())
    }

    #[test]
    fn the_default_is_text_from_info_on() {
        assert_eq!(read("UNRELATED", "x"), Ok(LogConfig::default()));
    }

    #[test]
    fn filters_that_tracing_understands_are_taken_as_they_are() {
        for filter in
            ["debug", "WARN", "off", "info,sqlx=warn,", "warn,vitrina_api::auth=trace", "info,[batch{batch=3}]=debug"]
        {
            assert_eq!(read("VITRINA_LOG", filter).map(|log| log.filter), Ok(filter.to_owned()));
        }
    }

    #[test]
    fn a_filter_that_would_silence_everything_by_a_typing_error_is_refused() {
        for filter in ["inof", "verbose", "info,sqlx", "info,sqlx=loud", "a=b=c"] {
            let sentence = read("VITRINA_LOG", filter).expect_err(filter);
            assert!(sentence.starts_with(&format!("VITRINA_LOG is \"{filter}\" but takes a level")), "{sentence}");
        }
    }

    #[test]
    fn the_format_is_text_or_json() {
        assert_eq!(read("VITRINA_LOG_FORMAT", "json").map(|log| log.format), Ok(LogFormat::Json));
        assert_eq!(read("VITRINA_LOG_FORMAT", "TEXT").map(|log| log.format), Ok(LogFormat::Text));
        let sentence = read("VITRINA_LOG_FORMAT", "xml").expect_err("xml");
        assert_eq!(sentence, "VITRINA_LOG_FORMAT is \"xml\" but takes text or json (default text).");
    }

    #[test]
    fn a_collector_is_an_http_address() {
        let log = read("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318").expect("an address");
        assert_eq!(log.otlp_endpoint.as_deref(), Some("http://127.0.0.1:4318"));
        for wrong in ["127.0.0.1:4318", "grpc://127.0.0.1:4317", "http://", "http:// a", "http:///v1"] {
            let sentence = read("OTEL_EXPORTER_OTLP_ENDPOINT", wrong).expect_err(wrong);
            assert!(sentence.contains("takes the address of a collector"), "{sentence}");
        }
    }

    #[test]
    fn a_file_may_be_named() {
        let log = read("VITRINA_LOG_FILE", "logs/vitrina.log").expect("a path");
        assert_eq!(log.file, Some(PathBuf::from("logs/vitrina.log")));
    }
}
