//! Events as JSON, an object a line, with the names of the contract at its top level.
//!
//! ```json
//! {"ts":"2026-03-01T12:00:00.000000Z","level":"INFO","msg":"batch closed","target":"vitrina_worker","batch":3,"pipeline":"films"}
//! ```
//!
//! An event's own fields win over those of its spans, an inner span's over an outer one's.

use std::fmt::{self, Write as _};
use std::io::Write as _;

use chrono::{SecondsFormat, Utc};
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// Names that every line has of itself; a field of that name gets an underscore behind it.
const RESERVED: [&str; 4] = ["ts", "level", "msg", "target"];

/// The layer that writes every event to every output.
pub(super) struct JsonLines {
    outputs: Vec<BoxMakeWriter>,
}

#[derive(Serialize)]
struct Line<'a> {
    ts: String,
    level: &'static str,
    msg: Value,
    target: &'a str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// The fields of a span, or of an event, so far.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl JsonLines {
    pub(super) fn new(outputs: Vec<BoxMakeWriter>) -> Self {
        Self { outputs }
    }

    fn write(&self, line: &Line<'_>) {
        let Ok(mut bytes) = serde_json::to_vec(line) else {
            return;
        };
        bytes.push(b'\n');
        for output in &self.outputs {
            // One write per line keeps lines whole; a log that cannot be written has nowhere left to complain.
            let _ = output.make_writer().write_all(&bytes);
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for JsonLines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().replace(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut later = Fields::default();
        values.record(&mut later);
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            fields.0.extend(later.0);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut own = Fields::default();
        event.record(&mut own);
        let msg = own.0.remove("message").unwrap_or_else(|| Value::from(""));
        let mut fields = Map::new();
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.extend(outer.0.clone());
            }
        }
        fields.extend(own.0);
        self.write(&Line {
            ts: Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true),
            level: event.metadata().level().as_str(),
            msg,
            target: event.metadata().target(),
            fields,
        });
    }
}

impl Fields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        let name = field.name().trim_start_matches("r#");
        let suffix = if RESERVED.contains(&name) { "_" } else { "" };
        self.0.insert(format!("{name}{suffix}"), value.into());
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.insert(field, value);
        } else {
            self.insert(field, value.to_string());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let chain = std::iter::successors(Some(value), |error| error.source());
        let sentences: Vec<String> = chain.map(|error| printed(format_args!("{error}"))).collect();
        self.insert(field, sentences.join(": "));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, printed(format_args!("{value:?}")));
    }
}

/// Like `format!`, which panics where a value refuses to be printed; this keeps what was printed up to there.
fn printed(arguments: fmt::Arguments<'_>) -> String {
    let mut text = String::new();
    let _ = text.write_fmt(arguments);
    text
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing::field::Empty;
    use tracing::{error, info, info_span, warn};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no test panics with it").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that `log` writes, as text.
    fn raw(log: impl FnOnce()) -> String {
        let memory = Memory::default();
        let output = memory.clone();
        let layer = JsonLines::new(vec![BoxMakeWriter::new(move || output.clone())]);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
        let bytes = memory.0.lock().expect("no test panics with it").clone();
        String::from_utf8(bytes).expect("text")
    }

    /// The one line that `log` writes.
    fn line(log: impl FnOnce()) -> Value {
        let text = raw(log);
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).expect("an object")
    }

    #[test]
    fn a_line_has_time_level_message_and_target() {
        let text = raw(|| warn!(target: "vitrina", rows_read = 7, "batch {}", "closed"));
        let line: Value = serde_json::from_str(&text).expect("an object");
        assert!(text.starts_with("{\"ts\":\"") && text.ends_with("}\n"), "{text}");
        let ts = line["ts"].as_str().expect("a time");
        assert_eq!(ts.len(), "2026-03-01T12:00:00.000000Z".len());
        assert!(chrono::DateTime::parse_from_rfc3339(ts).is_ok() && ts.ends_with('Z'));
        assert_eq!((&line["level"], &line["msg"]), (&Value::from("WARN"), &Value::from("batch closed")));
        assert_eq!((&line["target"], &line["rows_read"]), (&Value::from("vitrina"), &Value::from(7)));
    }

    #[test]
    fn fields_of_all_spans_are_there_and_the_innermost_wins() {
        let line = line(|| {
            let _run = info_span!("run", pipeline = "films", run_id = "r1", batch = 1, rows_read = 1).entered();
            let _batch = info_span!("batch", batch = 2, rows_read = 2).entered();
            info!(rows_read = 3, "batch closed");
        });
        assert_eq!((&line["pipeline"], &line["run_id"]), (&Value::from("films"), &Value::from("r1")));
        assert_eq!((&line["batch"], &line["rows_read"]), (&Value::from(2), &Value::from(3)));
    }

    #[test]
    fn fields_recorded_later_are_there_and_unrecorded_ones_are_not() {
        let line = line(|| {
            let span = info_span!("batch", rows_read = Empty, rows_written = Empty, batch = 1).entered();
            span.record("rows_read", 5).record("rows_read", 6).record("batch", 2);
            info!("batch closed");
        });
        assert_eq!((&line["rows_read"], &line["batch"]), (&Value::from(6), &Value::from(2)));
        assert!(line.get("rows_written").is_none());
    }

    #[test]
    fn fields_never_replace_what_every_line_has() {
        let line = line(|| {
            let _span = info_span!("odd", message = "of the span", level = 9, r#type = "SQL").entered();
            info!(ts = 1, msg = "field", target = "analytics.film_dim", "real");
        });
        assert_eq!((&line["msg"], &line["level"]), (&Value::from("real"), &Value::from("INFO")));
        assert_eq!((&line["ts_"], &line["msg_"], &line["level_"]), (&1.into(), &"field".into(), &9.into()));
        assert_eq!((&line["target_"], &line["type"]), (&"analytics.film_dim".into(), &"SQL".into()));
    }

    #[test]
    fn line_breaks_and_control_characters_do_not_break_the_line() {
        let odd = "a\nb\r\u{1b}[31m\"\\\u{0}\u{2028}ю";
        let line = line(|| error!(error = odd, shown = %odd, "msg {odd}"));
        assert_eq!((&line["error"], &line["shown"]), (&Value::from(odd), &Value::from(odd)));
        assert_eq!(line["msg"], format!("msg {odd}"));
    }

    #[test]
    fn odd_values_are_logged_as_best_they_can() {
        struct Unprintable;
        impl fmt::Debug for Unprintable {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("half")?;
                Err(fmt::Error)
            }
        }
        let line = line(|| info!(nan = f64::NAN, huge = u128::MAX, big = u64::MAX, odd = ?Unprintable, yes = true));
        assert_eq!((&line["nan"], &line["odd"]), (&Value::from("NaN"), &Value::from("half")));
        assert_eq!((&line["huge"], &line["big"]), (&u128::MAX.to_string().into(), &u64::MAX.into()));
        assert_eq!((&line["yes"], &line["msg"]), (&Value::from(true), &Value::from("")));
    }

    #[test]
    fn an_error_is_logged_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("the batch failed")]
        struct Failed(#[source] io::Error);
        let failed = Failed(io::Error::other("disk full"));
        let line = line(|| error!(error = &failed as &dyn std::error::Error, "batch failed"));
        assert_eq!(line["error"], "the batch failed: disk full");
    }
}
