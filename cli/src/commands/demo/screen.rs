//! What the demo shows: steps and a table for people, one line of JSON for programs.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{DATA_DIR, Options, outcome::Outcome};
use crate::output::{self, BAD, BOLD, Cell, DIM, GOOD, QuietKeys, duration, paint, thousands};

const TICK: Duration = Duration::from_millis(120);

pub(super) struct Screen {
    json: bool,
    _quiet: Option<QuietKeys>,
}

pub(super) struct Activity<'a> {
    screen: &'a Screen,
    name: &'static str,
    bar: ProgressBar,
    began: Instant,
}

impl Screen {
    pub(super) fn new(json: bool) -> Self {
        let drawn = !json && output::is_interactive();
        Self { json, _quiet: drawn.then(QuietKeys::hold) }
    }

    /// Says what happens now: on a terminal until it is done, elsewhere on a line of its own.
    pub(super) fn begin(&self, name: &'static str, text: &str) -> Activity<'_> {
        let bar = if !self.json && output::is_interactive() { spinner(name, text) } else { ProgressBar::hidden() };
        if bar.is_hidden() {
            self.line(format!("{name}: {text}"));
        }
        Activity { screen: self, name, bar, began: Instant::now() }
    }

    /// Says what was done at once.
    pub(super) fn done(&self, name: &str, text: &str) {
        self.line(format!("{} {name:<9}  {text}", paint(GOOD, "✓")));
    }

    pub(super) fn gap(&self) {
        self.line("");
    }

    /// With `--json` only the last line goes to standard output.
    fn line(&self, text: impl AsRef<str>) {
        if !self.json {
            output::line(text);
        }
    }

    /// Shows the end: a table and what to do next, or one line of JSON.
    pub(super) fn summary(&self, outcomes: &[Outcome], options: &Options, address: &str) {
        let ok = outcomes.iter().all(Outcome::is_good);
        if self.json {
            return output::line(output::escaped(&json!({ "ok": ok, "pipelines": outcomes }).to_string()));
        }
        self.gap();
        self.line(table(outcomes));
        self.gap();
        if !ok {
            return self.line(paint(BAD, "✗ not every mart equals its source"));
        }
        self.line(paint(GOOD, "✓ every mart equals its source, row by row"));
        self.gap();
        self.line(paint(BOLD, "Try next"));
        for (command, why) in next(options, address) {
            self.line(format!("  {command:<42} {}", paint(DIM, why)));
        }
    }
}

fn table(outcomes: &[Outcome]) -> String {
    let rows = outcomes.iter().map(|one| {
        let (mark, style) = if one.is_good() { ("✓", GOOD) } else { ("✗", BAD) };
        [
            (&one.name).into(),
            thousands(one.rows_read).into(),
            thousands(one.rows_written).into(),
            duration(one.duration_ms).into(),
            one.rows_per_second.map(thousands).unwrap_or_default().into(),
            Cell::styled(format!("{mark} {}", one.verdict()), style),
        ]
    });
    output::table(["mart", ">rows read", ">written", ">time", ">rows/s", "reconciled"], rows)
}

/// Three things to try, with the program called as it was called now.
fn next(options: &Options, address: &str) -> [(String, String); 3] {
    let vitrina = std::env::args().next().unwrap_or_else(|| "vitrina".to_owned());
    if options.keep {
        return [
            (format!("{vitrina} ls --url {address}"), "in another terminal".to_owned()),
            (format!("{vitrina} events -f --url {address}"), "what happens, as it happens".to_owned()),
            (format!("open {address}/docs"), "every call of the API; Ctrl-C here ends it".to_owned()),
        ];
    }
    let up = match options.data_dir.to_str() {
        Some(DATA_DIR) | None => format!("{vitrina} up"),
        Some(other) => format!("{vitrina} up --data-dir {other}"),
    };
    [
        (up, "the same marts, to stay".to_owned()),
        (format!("{vitrina} show film_dim"), "in another terminal; also: ls, runs".to_owned()),
        (format!("{vitrina} run film_dim --wait"), "reads only what changed since".to_owned()),
    ]
}

fn spinner(name: &str, text: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner:.cyan} {prefix}  {wide_msg}");
    let bar = ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_prefix(format!("{name:<9}"));
    bar.set_message(text.to_owned());
    bar.enable_steady_tick(TICK);
    bar
}

impl Activity<'_> {
    pub(super) fn progress(&self, table: &str, done: u64, total: u64) {
        let shown = |rows: u64| thousands(i64::try_from(rows).unwrap_or(i64::MAX));
        self.bar.set_message(format!("{table}: {} of {} rows", shown(done), shown(total)));
    }

    /// It is done: one line stays.
    pub(super) fn done(self, text: &str) {
        self.bar.finish_and_clear();
        let took = duration(i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX));
        self.screen.done(self.name, &format!("{text} {}", paint(DIM, format!("({took})"))));
    }

    /// It is done, and nothing of it stays.
    pub(super) fn clear(self) {
        self.bar.finish_and_clear();
    }
}
