//! The catalog of metrics: what it promises to Prometheus, and that its page says the same.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;

use vitrina_shared::metrics::{CATALOG, Kind, Metric};

/// Names that others rely on, with their labels.
const CONTRACT: &[(&str, &[&str])] = &[
    ("vitrina_runs_total", &["pipeline", "mode", "status"]),
    ("vitrina_run_duration_seconds", &["pipeline"]),
    ("vitrina_rows_read_total", &["pipeline"]),
    ("vitrina_rows_written_total", &["pipeline", "sink"]),
    ("vitrina_rows_rejected_total", &["pipeline"]),
    ("vitrina_rows_removed_total", &["pipeline"]),
    ("vitrina_batches_total", &["pipeline", "result"]),
    ("vitrina_batch_duration_seconds", &["pipeline"]),
    ("vitrina_batch_phase_seconds", &["pipeline", "phase"]),
    ("vitrina_wakeup_seconds", &[]),
    ("vitrina_retries_total", &["pipeline", "class"]),
    ("vitrina_recovered_jobs_total", &[]),
    ("vitrina_fenced_batches_total", &[]),
    ("vitrina_pipeline_status", &["pipeline", "status"]),
    ("vitrina_checkpoint_lag_seconds", &["pipeline"]),
    ("vitrina_horizon_lag_seconds", &["pipeline"]),
    ("vitrina_queue_jobs", &["state"]),
    ("vitrina_workers", &[]),
    ("vitrina_http_requests_total", &["method", "route", "status"]),
    ("vitrina_http_request_duration_seconds", &["method", "route"]),
    ("vitrina_build_info", &["version"]),
];

#[test]
fn no_metric_of_the_contract_is_missing_or_labelled_otherwise() {
    for (name, labels) in CONTRACT {
        let metric = CATALOG.iter().find(|metric| metric.name == *name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(metric.labels, *labels, "{name}");
    }
}

#[test]
fn names_say_what_a_metric_is_and_help_texts_say_what_it_means() {
    let mut names = BTreeSet::new();
    for metric in CATALOG {
        assert!(names.insert(metric.name), "{} is there twice", metric.name);
        assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{}", metric.name);
        assert!(metric.kind != Kind::Histogram || metric.name.ends_with("_seconds"), "{}", metric.name);
        assert!(metric.help.len() > 10 && !metric.help.ends_with('.') && !metric.help.contains(['\n', '\\']));
    }
}

fn row(metric: &Metric) -> String {
    let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    let labels = if labels.is_empty() { "–".to_owned() } else { labels.join(", ") };
    format!("| `{}` | {} | {labels} | {} |", metric.name, metric.kind.as_str(), metric.help)
}

#[test]
fn the_page_of_metrics_has_a_row_for_each_and_no_other() {
    let page = include_str!("../../docs/METRICS.md");
    let rows: BTreeSet<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let wanted: Vec<String> = CATALOG.iter().map(row).collect();
    for row in &wanted {
        assert!(rows.contains(row.as_str()), "docs/METRICS.md lacks\n{row}");
    }
    assert_eq!(rows.len(), wanted.len());
}
