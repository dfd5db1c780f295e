//! Panics are logged, one line each.

use std::panic::{self, PanicHookInfo};

use tracing::{Level, enabled, error};

/// From now on logs every panic; where errors are not logged, it is printed as it was before.
pub(super) fn log_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if enabled!(Level::ERROR) {
            log(info);
        } else {
            before(info);
        }
    }));
}

fn log(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("a value that is not text");
    let location = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    error!(error_class = "panic", error = message, location, thread, "panicked");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LogConfig, LogFormat};

    #[test]
    fn a_panic_is_one_line_with_its_message_and_place() {
        log_panics();
        let path = std::env::temp_dir().join(format!("vitrina-panic-{}", std::process::id()));
        let config = LogConfig { format: LogFormat::Json, file: Some(path.clone()), ..LogConfig::default() };
        let file = crate::telemetry::open_file(&config).expect("a file in the temporary directory");
        let subscriber = crate::telemetry::Log::new(&config, file).expect("a good filter").subscriber();
        tracing::subscriber::with_default(subscriber, || {
            let caught = panic::catch_unwind(|| panic!("film {}\nlost", 7));
            assert!(caught.is_err());
        });
        let text = std::fs::read_to_string(&path).expect("the log");
        std::fs::remove_file(path).expect("the file goes");
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).expect("an object");
        assert_eq!((&line["level"], &line["msg"]), (&"ERROR".into(), &"panicked".into()));
        assert_eq!((&line["error"], &line["error_class"]), (&"film 7\nlost".into(), &"panic".into()));
        assert!(line["location"].as_str().is_some_and(|place| place.contains("panics.rs:")), "{text}");
    }
}
