//! Prometheus' text format, for what no recorder counts.

use std::fmt::Write as _;

use super::catalog;

/// Metrics as text, one family after the other.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Begins the family of a metric with its kind and help text.
    pub fn family(&mut self, name: &str) {
        if let Some(metric) = catalog::find(name) {
            let _ = writeln!(self.0, "# HELP {name} {}\n# TYPE {name} {}", metric.help, metric.kind.as_str());
        }
    }

    /// A sample of the family that was begun last.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        if !labels.is_empty() {
            self.labels(labels);
            self.0.push('}');
        }
        self.value(value);
    }

    /// A histogram: how many observations are in each class, of which there is one more than bounds, and their sum.
    pub fn histogram(&mut self, name: &str, labels: &[(&str, &str)], bounds: &[f64], classes: &[i64], sum: f64) {
        let mut total = 0;
        for (place, count) in classes.iter().enumerate() {
            total += count;
            self.0.push_str(name);
            self.0.push_str("_bucket");
            self.labels(labels);
            let _ = match bounds.get(place) {
                Some(bound) => write!(self.0, ",le=\"{bound}\"}}"),
                None => write!(self.0, ",le=\"+Inf\"}}"),
            };
            self.value(total as f64);
        }
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, total as f64);
    }

    pub fn into_text(self) -> String {
        self.0
    }

    /// An opening brace and the labels behind it.
    fn labels(&mut self, labels: &[(&str, &str)]) {
        for (place, (label, value)) in labels.iter().enumerate() {
            self.0.push(if place == 0 { '{' } else { ',' });
            self.0.push_str(label);
            self.0.push_str("=\"");
            for c in value.chars() {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
        }
    }

    fn value(&mut self, value: f64) {
        let _ = match value {
            value if value.is_nan() => writeln!(self.0, " NaN"),
            f64::INFINITY => writeln!(self.0, " +Inf"),
            f64::NEG_INFINITY => writeln!(self.0, " -Inf"),
            value => writeln!(self.0, " {value}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{RUN_DURATION, WORKERS};

    #[test]
    fn a_sample_has_its_labels_escaped() {
        let mut text = Exposition::default();
        text.family(WORKERS);
        text.sample(WORKERS, &[], 2.0);
        text.sample("odd", &[("a", "x\"y\\z\n"), ("b", "")], 0.5);
        text.sample("odd", &[("a", "endless")], f64::INFINITY);
        assert_eq!(
            text.into_text(),
            "# HELP vitrina_workers Workers that reported within the last minute\n# TYPE vitrina_workers gauge\n\
             vitrina_workers 2\nodd{a=\"x\\\"y\\\\z\\n\",b=\"\"} 0.5\nodd{a=\"endless\"} +Inf\n"
        );
    }

    #[test]
    fn a_histogram_adds_its_classes_up() {
        let mut text = Exposition::default();
        text.histogram(RUN_DURATION, &[("pipeline", "films")], &[0.5, 1.0], &[1, 0, 2], 7.25);
        let lines: Vec<String> = text.into_text().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "vitrina_run_duration_seconds_bucket{pipeline=\"films\",le=\"0.5\"} 1");
        assert_eq!(lines[1], "vitrina_run_duration_seconds_bucket{pipeline=\"films\",le=\"1\"} 1");
        assert_eq!(lines[2], "vitrina_run_duration_seconds_bucket{pipeline=\"films\",le=\"+Inf\"} 3");
        assert_eq!(lines[3], "vitrina_run_duration_seconds_sum{pipeline=\"films\"} 7.25");
        assert_eq!(lines[4], "vitrina_run_duration_seconds_count{pipeline=\"films\"} 3");
    }
}
