//! Samples in; medians, ratios with their goals, a table and JSON lines out.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use chrono::Utc;
use serde_json::{Value, json};

use crate::Outcome;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    RowsPerSecond,
    BatchesPerSecond,
    Milliseconds,
    Mebibytes,
    Percent,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::RowsPerSecond => "rows/s",
            Self::BatchesPerSecond => "batches/s",
            Self::Milliseconds => "ms",
            Self::Mebibytes => "MB",
            Self::Percent => "%",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Goal {
    AtLeast(f64),
    Below(f64),
}

impl Goal {
    fn text(self) -> String {
        match self {
            Self::AtLeast(bound) => format!("≥ {bound}"),
            Self::Below(bound) => format!("< {bound}"),
        }
    }

    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::Below(bound) => value < bound,
        }
    }
}

/// All samples of one measured thing.
struct Series {
    name: String,
    unit: Unit,
    samples: Vec<f64>,
    goal: Option<Goal>,
}

/// One result divided by another of the same run.
struct Ratio {
    name: String,
    value: f64,
    goal: Option<Goal>,
}

pub struct Report {
    lines: File,
    path: PathBuf,
    series: Vec<Series>,
    ratios: Vec<Ratio>,
}

impl Report {
    /// A report whose JSON lines go to a new file in `directory`.
    pub fn create(directory: &Path) -> Outcome<Self> {
        fs::create_dir_all(directory)?;
        let path = directory.join(format!("{}.jsonl", Utc::now().format("%Y%m%dT%H%M%SZ")));
        let lines = File::create(&path)?;
        Ok(Self { lines, path, series: Vec::new(), ratios: Vec::new() })
    }

    pub fn sample(&mut self, name: &str, unit: Unit, value: f64) -> Outcome<()> {
        self.line(&json!({ "sample": name, "unit": unit.name(), "value": value, "load": load_average() }))?;
        match self.series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.samples.push(value),
            None => self.series.push(Series { name: name.to_owned(), unit, samples: vec![value], goal: None }),
        }
        Ok(())
    }

    pub fn duration(&mut self, name: &str, took: Duration) -> Outcome<()> {
        self.sample(name, Unit::Milliseconds, millis(took))
    }

    pub fn speed(&mut self, name: &str, rows: u64, took: Duration) -> Outcome<()> {
        self.sample(name, Unit::RowsPerSecond, rows as f64 / took.as_secs_f64())
    }

    pub fn goal(&mut self, name: &str, goal: Goal) {
        if let Some(series) = self.series.iter_mut().find(|series| series.name == name) {
            series.goal = Some(goal);
        }
    }

    pub fn median(&self, name: &str) -> Option<f64> {
        self.series.iter().find(|series| series.name == name).map(|series| percentile(&series.samples, 0.5))
    }

    /// Divides the median of one series by that of another, both speeds.
    pub fn ratio(&mut self, of: &str, to: &str, goal: Option<Goal>) {
        if let (Some(of_value), Some(to_value)) = (self.median(of), self.median(to)) {
            self.ratios.push(Ratio { name: format!("{of} / {to}"), value: of_value / to_value, goal });
        }
    }

    /// Prints the table, and writes it besides as JSON lines.
    pub fn finish(mut self) -> Outcome<()> {
        let mut table = String::from("\n| measured | median | least … most | goal | |\n|---|--:|--:|--:|---|\n");
        let mut lines = Vec::new();
        for series in &self.series {
            let (name, unit, median) = (&series.name, series.unit.name(), percentile(&series.samples, 0.5));
            let (least, most) = (percentile(&series.samples, 0.0), percentile(&series.samples, 1.0));
            let range = format!("{} … {}", number(least), number(most));
            write!(table, "| {name} | {} {unit} | {range} ", number(median))?;
            table.push_str(&verdict(series.goal, median));
            lines.push(json!({ "median": name, "unit": unit, "value": median, "least": least, "most": most }));
        }
        table.push_str("\n| ratio | value | goal | |\n|---|--:|--:|---|\n");
        for ratio in &self.ratios {
            write!(table, "| {} | {:.2} ", ratio.name, ratio.value)?;
            table.push_str(&verdict(ratio.goal, ratio.value));
            lines.push(json!({ "ratio": ratio.name, "value": ratio.value }));
        }
        for line in &lines {
            self.line(line)?;
        }
        writeln!(io::stdout(), "{table}")?;
        say(&format!("JSON lines in {}", self.path.display()));
        Ok(())
    }

    fn line(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self.lines, "{value}")
    }
}

fn verdict(goal: Option<Goal>, value: f64) -> String {
    let text = goal.map_or(String::new(), Goal::text);
    let met = goal.map_or("", |goal| if goal.is_met(value) { "met" } else { "missed" });
    format!("| {text} | {met} |\n")
}

/// The value below which the given part of the samples lies; 0.5 is the median.
pub fn percentile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (part * (sorted.len().saturating_sub(1)) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Few digits, all that mean something.
fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// What the machine was doing besides, over the last minute.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// A word on standard error about what is going on.
pub fn say(text: &str) {
    // A closed standard error is no reason to stop measuring.
    let _ = writeln!(io::stderr(), "bench: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let samples = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(percentile(&samples, 0.0), 1.0);
        assert_eq!(percentile(&samples, 0.5), 3.0);
        assert_eq!(percentile(&samples, 1.0), 5.0);
        assert!(percentile(&[], 0.5).is_nan());
    }
}
