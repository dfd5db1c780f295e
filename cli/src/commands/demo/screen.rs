//! What the demo shows: text for people, one line of JSON for programs.

use std::{
    io::{IsTerminal, Write},
    sync::Mutex,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::client::Run;

/// How often progress is shown.
const SHOW_EVERY: Duration = Duration::from_secs(1);

/// How one pipeline ended.
#[derive(Debug, Serialize)]
pub struct Outcome {
    name: String,
    status: String,
    rows_read: i64,
    rows_written: i64,
    duration_ms: i64,
    reconciled: bool,
    #[serde(skip)]
    differing: i64,
    #[serde(skip)]
    error: Option<String>,
}

impl Outcome {
    /// The outcome of a run whose mart differs from its source in that many rows.
    pub fn new(name: String, run: &Run, differing: i64) -> Self {
        Self {
            name,
            status: run.status.clone(),
            rows_read: run.rows_read,
            rows_written: run.rows_written,
            duration_ms: run.duration_ms.unwrap_or_default(),
            reconciled: differing == 0,
            differing,
            error: run.error.clone(),
        }
    }

    /// Whether it ended well and every row is right.
    pub fn is_good(&self) -> bool {
        self.status == "SUCCESS" && self.reconciled
    }

    fn rows_per_second(&self) -> i64 {
        self.rows_read * 1000 / self.duration_ms.max(1)
    }

    fn verdict(&self) -> String {
        match (&self.error, self.differing) {
            (Some(error), _) => error.clone(),
            (None, 0) => "equal to its source".to_owned(),
            (None, rows) => format!("{rows} rows differ"),
        }
    }
}

/// Standard output.
pub struct Screen {
    json: bool,
    shown: Mutex<Instant>,
}

impl Screen {
    pub fn new(json: bool) -> Self {
        Self { json, shown: Mutex::new(Instant::now()) }
    }

    /// Says what happens now. With `--json` only the last line goes to standard output.
    pub fn say(&self, text: &str) {
        if !self.json {
            self.line(text);
        }
    }

    /// Shows how far a run is, now and then.
    pub fn progress(&self, name: &str, run: &Run) {
        let Ok(mut shown) = self.shown.lock() else { return };
        if shown.elapsed() > SHOW_EVERY {
            *shown = Instant::now();
            self.say(&format!("  {name}: {} rows", run.rows_read));
        }
    }

    /// Shows the end: a table, or one line of JSON.
    pub fn summary(&self, outcomes: &[Outcome]) {
        let ok = outcomes.iter().all(Outcome::is_good);
        if self.json {
            self.line(&serde_json::json!({ "ok": ok, "pipelines": outcomes }).to_string());
            return;
        }
        self.line("");
        self.line(&format!("{:<18} {:>10} {:>10} {:>9} {:>10}  check", "mart", "read", "written", "ms", "rows/s"));
        for one in outcomes {
            self.line(&format!(
                "{:<18} {:>10} {:>10} {:>9} {:>10}  {}",
                one.name,
                one.rows_read,
                one.rows_written,
                one.duration_ms,
                one.rows_per_second(),
                one.verdict()
            ));
        }
        self.line("");
        self.line(if ok { "demo: every mart equals its source" } else { "demo: FAILED" });
        if ok && std::io::stdout().is_terminal() {
            self.line("next: `vitrina up`, then open http://127.0.0.1:8080/docs");
        }
    }

    /// A reader that went away (`| head`) is no reason to fail.
    #[expect(clippy::unused_self, reason = "everything shown goes through the screen")]
    fn line(&self, text: &str) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}
