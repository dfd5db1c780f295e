//! The log: text for people or JSON for machines, on standard error and optionally in a file; and traces, for a collector.
//!
//! Spans carry identity (`pipeline`, `run_id`, `batch` …), events carry facts. A line has both. Panics are lines too.

mod json;
mod lines;
mod panics;
mod rotation;
mod traces;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use tracing::Subscriber;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::config::{LogConfig, LogFormat};
use json::JsonLines;
use lines::FieldFormat;
use rotation::RotatingFile;
use traces::Traces;

/// Keep it until the program ends: when it goes, what is in the log file is on the disk.
#[must_use]
#[derive(Debug)]
pub struct TelemetryGuard {
    file: Option<Arc<RotatingFile>>,
    _traces: Option<Traces>,
}

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("VITRINA_LOG is \"{filter}\" which is no log filter: {reason}")]
    Filter { filter: String, reason: String },
    #[error("VITRINA_LOG_FILE is {} which cannot be written: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT is {endpoint} which spans cannot be sent to: {reason}")]
    Traces { endpoint: String, reason: String },
    #[error("the log was started already")]
    AlreadyStarted,
}

/// Starts the log of this process, panics included, and its traces under the name of `service`, if they are wanted.
pub fn init(config: &LogConfig, service: &'static str) -> Result<TelemetryGuard, TelemetryError> {
    let file = open_file(config)?;
    let traces = config.otlp_endpoint.as_deref().map(|endpoint| Traces::start(endpoint, service)).transpose()?;
    let log = Log::new(config, file.clone())?;
    let started = match &traces {
        // A filter for all would keep spans from the collector that are not logged.
        Some(traces) => {
            let log = log.layers.with_filter(log.filter);
            tracing_subscriber::registry().with(log).with(traces.layer()).try_init()
        }
        None => log.subscriber().try_init(),
    };
    started.map_err(|_| TelemetryError::AlreadyStarted)?;
    panics::log_panics();
    Ok(TelemetryGuard { file, _traces: traces })
}

fn open_file(config: &LogConfig) -> Result<Option<Arc<RotatingFile>>, TelemetryError> {
    let Some(path) = &config.file else { return Ok(None) };
    let file = RotatingFile::open(path, config.file_bytes, config.files_kept);
    Ok(Some(Arc::new(file.map_err(|source| TelemetryError::File { path: path.clone(), source })?)))
}

/// Always off: notices and warnings of the server are users' texts (`raise warning`), and may quote rows.
const NOTICES_OFF: &str = "sqlx::postgres::notice=off";

struct Log {
    layers: Layers,
    filter: EnvFilter,
}

impl Log {
    fn new(config: &LogConfig, file: Option<Arc<RotatingFile>>) -> Result<Self, TelemetryError> {
        let filter = EnvFilter::builder().parse(&config.filter);
        let filter = filter
            .map_err(|error| TelemetryError::Filter { filter: config.filter.clone(), reason: error.to_string() })?;
        let filter = match NOTICES_OFF.parse() {
            Ok(directive) => filter.add_directive(directive),
            Err(_) => filter,
        };
        let layers = match config.format {
            LogFormat::Text => text(file),
            LogFormat::Json => json(file),
        };
        Ok(Self { layers, filter })
    }

    fn subscriber(self) -> impl Subscriber + Send + Sync {
        tracing_subscriber::registry().with(self.layers).with(self.filter)
    }
}

type Layers = Vec<Box<dyn Layer<Registry> + Send + Sync>>;

fn text(file: Option<Arc<RotatingFile>>) -> Layers {
    let coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let console = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(coloured);
    let console = console.fmt_fields(FieldFormat::<false>);
    let file = file.map(|file| {
        let layer = tracing_subscriber::fmt::layer().with_writer(file).with_ansi(false);
        layer.fmt_fields(FieldFormat::<true>).boxed()
    });
    std::iter::once(console.boxed()).chain(file).collect()
}

fn json(file: Option<Arc<RotatingFile>>) -> Layers {
    let file = file.map(BoxMakeWriter::new);
    let outputs = std::iter::once(BoxMakeWriter::new(io::stderr)).chain(file).collect();
    vec![JsonLines::new(outputs).boxed()]
}

impl Drop for TelemetryGuard {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // A log that cannot be synced has nowhere left to complain.
            let _ = file.sync();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::{info, info_span};

    /// What a log with these settings has in its file after `log` was called as often.
    fn logged(name: &str, config: LogConfig, times: usize, log: impl Fn()) -> String {
        let directory = std::env::temp_dir().join(format!("vitrina-log-{name}-{}", std::process::id()));
        let path = directory.join("deep/vitrina.log");
        let config = LogConfig { file: Some(path.clone()), ..config };
        for _ in 0..times {
            let file = open_file(&config).expect("a file in the temporary directory");
            let subscriber = Log::new(&config, file).expect("a good filter").subscriber();
            tracing::subscriber::with_default(subscriber, &log);
        }
        let text = std::fs::read_to_string(&path).expect("the log");
        std::fs::remove_dir_all(directory).expect("the directory goes");
        text
    }

    fn two_batches(format: LogFormat) -> String {
        logged(&format!("{format:?}"), LogConfig { format, ..LogConfig::default() }, 2, || {
            let _span = info_span!("batch", pipeline = "films").entered();
            info!(rows_read = 7, "batch closed");
            tracing::debug!("not wanted");
        })
    }

    #[test]
    fn a_text_file_is_appended_to_and_has_no_colours() {
        let text = two_batches(LogFormat::Text);
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| line.ends_with("batch closed rows_read=7")), "{text}");
        assert!(text.contains("batch{pipeline=\"films\"}") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn nothing_that_is_logged_as_text_makes_a_line_of_its_own_or_steers_a_terminal() {
        let forged = "a\n2026-01-01T00:00:00Z ERROR forged\r\u{1b}[2J\u{2028}";
        let text = logged("forged", LogConfig::default(), 1, || {
            let span = info_span!("batch", pipeline = %forged, later = tracing::field::Empty).entered();
            span.record("later", tracing::field::display(forged));
            info!(error = %forged, quoted = forged, "{forged}");
        });
        assert_eq!(text.matches("ERROR forged").count(), 5, "{text}");
        assert_eq!(text.matches(|c: char| c.is_control() || c == '\u{2028}').count(), 1, "{text:?}");
        assert!(text.ends_with('\n') && text.contains(r"a\n2026"), "{text:?}");
    }

    #[test]
    fn a_json_file_is_appended_to_and_has_an_object_a_line() {
        let text = two_batches(LogFormat::Json);
        assert_eq!(text.lines().count(), 2);
        for line in text.lines() {
            let object: serde_json::Value = serde_json::from_str(line).expect("an object");
            assert_eq!(object["pipeline"], "films");
        }
    }

    #[test]
    fn what_a_query_raises_as_a_notice_is_never_logged() {
        let config = LogConfig { filter: "trace".to_owned(), ..LogConfig::default() };
        let text = logged("notice", config, 1, || {
            tracing::warn!(target: "sqlx::postgres::notice", "card 4111");
            tracing::warn!(target: "sqlx::query", "another");
        });
        assert!(text.contains("another") && !text.contains("4111"), "{text}");
    }

    #[test]
    fn a_wrong_filter_is_refused_by_the_name_of_its_variable() {
        let config = LogConfig { filter: "info,sqlx=loud".to_owned(), ..LogConfig::default() };
        let error = Log::new(&config, None).map(|_| ()).expect_err("loud is no level");
        assert!(error.to_string().starts_with("VITRINA_LOG is \"info,sqlx=loud\""), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_refused_by_the_name_of_its_variable() {
        let config = LogConfig { file: Some("/proc/nowhere/vitrina.log".into()), ..LogConfig::default() };
        let error = open_file(&config).map(|_| ()).expect_err("no such place");
        assert!(error.to_string().starts_with("VITRINA_LOG_FILE is /proc/nowhere/vitrina.log"), "{error}");
    }
}
