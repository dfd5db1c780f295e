//! Progress of runs: a bar for each on a terminal, a line from time to time elsewhere, nothing with `--json`.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use unicode_width::UnicodeWidthStr;
use vitrina_shared::progress::Progress;

use crate::{
    client::Run,
    output::{self, QuietKeys, counted, duration, printable, thousands, took},
};

/// The interval between two lines about one run.
const LINE_EVERY: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(120);
/// Names are cut to leave room for numbers at 80 columns.
const LONGEST_NAME: usize = 20;

pub struct Bars {
    surface: Surface,
    rows: Vec<Row>,
}

enum Surface {
    Terminal(MultiProgress, #[expect(dead_code, reason = "it works by living")] QuietKeys),
    Lines,
    Nowhere,
}

struct Row {
    name: String,
    bar: ProgressBar,
    shown: Shown,
    shown_at: Option<Instant>,
}

/// The last message, so that it is printed once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nothing,
    Waiting,
    Alone,
    Running,
    Paused,
    Lost,
}

impl Bars {
    /// A bar for each of these pipelines, on a terminal or in lines; nothing at all if `silent`.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, silent: bool) -> Self {
        let names: Vec<_> = names.into_iter().map(cut).collect();
        let surface = match (silent, output::is_interactive()) {
            (true, _) => Surface::Nowhere,
            (false, true) => {
                Surface::Terminal(MultiProgress::with_draw_target(ProgressDrawTarget::stderr()), QuietKeys::hold())
            }
            (false, false) => Surface::Lines,
        };
        let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
        let rows = names.into_iter().map(|name| Row {
            bar: surface.bar(format!("{name}{}", " ".repeat(widest - name.width()))),
            name,
            shown: Shown::Nothing,
            shown_at: None,
        });
        Self { rows: rows.collect(), surface }
    }

    pub fn show_progress(&mut self, index: usize, progress: &Progress) {
        let row = &mut self.rows[index];
        let read = progress.rows_read.max(0).unsigned_abs();
        let total = progress.rows_total.unwrap_or(0).max(0).unsigned_abs();
        // The total is an estimate: a bar is full when its run has ended, and not before.
        row.bar.set_length(total.max(read + read / 20 + 1));
        row.bar.set_position(if total > 0 { read } else { 0 });
        row.bar.set_message(numbers(progress));
        let due = row.shown_at.is_none_or(|at| at.elapsed() > LINE_EVERY);
        if due && matches!(self.surface, Surface::Lines) {
            row.shown_at = Some(Instant::now());
            output::note(format!("{}: {}", row.name, numbers(progress)));
        }
        row.shown = Shown::Running;
    }

    pub fn show_status(&mut self, index: usize, run: &Run) {
        let (shown, text) = match run.status.as_str() {
            "QUEUED" if self.rows[index].shown == Shown::Alone => return,
            "QUEUED" => (Shown::Waiting, "waiting for a worker".to_owned()),
            "PAUSED" => (Shown::Paused, self.paused(index, run)),
            _ if self.rows[index].shown == Shown::Running => return,
            _ if run.rows_read == 0 => (Shown::Running, "running".to_owned()),
            _ => (Shown::Running, counted(run.rows_read, "row")),
        };
        self.show(index, shown, text);
    }

    /// On a terminal there is little room beside a bar.
    fn paused(&self, index: usize, run: &Run) -> String {
        let read = counted(run.rows_read, "row");
        match self.surface {
            Surface::Terminal(..) => format!("paused at {read}; run it to go on"),
            Surface::Lines | Surface::Nowhere => {
                format!("paused at {read}; `vitrina run {}` resumes it", self.rows[index].name)
            }
        }
    }

    pub fn show_no_worker(&mut self, index: usize) {
        self.show(index, Shown::Alone, "no worker is alive; start one with `vitrina worker`".to_owned());
    }

    /// Says that the connection to the API is lost, so that the progress may be old.
    pub fn show_lost(&mut self) {
        for index in 0..self.rows.len() {
            if !self.rows[index].bar.is_finished() {
                self.show(index, Shown::Lost, "the connection is lost; coming back".to_owned());
            }
        }
    }

    fn show(&mut self, index: usize, shown: Shown, text: String) {
        let row = &mut self.rows[index];
        if row.shown == shown {
            return;
        }
        row.shown = shown;
        if let Surface::Lines = self.surface {
            output::note(format!("{}: {text}", row.name));
        }
        row.bar.set_message(text);
    }

    pub fn show_end(&mut self, index: usize, run: &Run) {
        let row = &mut self.rows[index];
        let good = run.is_success();
        row.bar.set_style(style(if good { End::Good } else { End::Bad }));
        if good {
            let read = run.rows_read.max(1).unsigned_abs();
            row.bar.set_length(read);
            row.bar.set_position(read);
        }
        row.bar.abandon_with_message(summary(run));
        if let Surface::Lines = self.surface {
            output::note(format!("{}: {}", row.name, summary(run)));
        }
    }

    pub fn clear(&self) {
        for row in &self.rows {
            row.bar.finish_and_clear();
        }
    }

    /// Leaves the bars as they are, and stops drawing.
    pub fn abandon(&self) {
        for row in &self.rows {
            row.bar.abandon();
        }
    }
}

impl Surface {
    fn bar(&self, name: String) -> ProgressBar {
        let Self::Terminal(all, _) = self else { return ProgressBar::hidden() };
        let bar = all.add(ProgressBar::new(1).with_style(style(End::NotYet)).with_prefix(name));
        bar.enable_steady_tick(TICK);
        bar
    }
}

#[derive(Clone, Copy)]
enum End {
    NotYet,
    Good,
    Bad,
}

fn style(end: End) -> ProgressStyle {
    let (colour, last) = match end {
        End::NotYet => ("cyan", " "),
        End::Good => ("green", "✓"),
        End::Bad => ("red", "✗"),
    };
    let template = format!("{{spinner:.{colour}}} {{prefix}} {{bar:16.{colour}/dim}} {{wide_msg}}");
    // The template is a constant; if it were wrong, the default style is used.
    ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .tick_strings(&["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏", last])
        .progress_chars("━╸─")
}

/// `12,000 of ~20,000, 25,310 rows/s, 3 s left`, as far as it is known. The total is the planner's estimate.
pub fn numbers(progress: &Progress) -> String {
    let total = progress.rows_total.filter(|total| *total >= progress.rows_read);
    let total = total.map_or(" rows".to_owned(), |total| format!(" of ~{}", thousands(total)));
    let mut text = format!("{}{total}", thousands(progress.rows_read));
    if let Some(speed) = progress.rows_per_second {
        text.push_str(&format!(", {} rows/s", thousands(speed as i64)));
    }
    if let Some(left) = progress.eta_seconds.filter(|left| *left >= 0.5) {
        text.push_str(&format!(", {} left", duration((left.ceil() * 1000.0) as i64).replace(".0", "")));
    }
    text
}

fn summary(run: &Run) -> String {
    let rows = counted(run.rows_read, "row") + &took(run.duration_ms);
    match run.status.as_str() {
        "SUCCESS" => run.rows_per_second().map_or(rows.clone(), |speed| format!("{rows}, {} rows/s", thousands(speed))),
        status => format!("{status} after {rows}"),
    }
}

fn cut(name: &str) -> String {
    let name = printable(name);
    if name.width() <= LONGEST_NAME {
        return name;
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}
