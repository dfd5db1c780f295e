//! The catalog of metrics: what it promises to Prometheus, and that its page says the same.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;

use vitrina_shared::metrics::{self, BATCH_DURATION, BATCH_PHASE, CATALOG, Kind, Metric, OTHERS, RETRIES};

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

/// What workers record of a pipeline.
fn record(pipeline: &str) {
    let label = metrics::histogram_label(pipeline);
    ::metrics::histogram!(BATCH_DURATION, "pipeline" => label.clone()).record(0.02);
    for phase in ["open", "page", "close"] {
        ::metrics::histogram!(BATCH_PHASE, "pipeline" => label.clone(), "phase" => phase).record(0.02);
    }
    for class in ["Transient", "RateLimited"] {
        ::metrics::counter!(RETRIES, "pipeline" => pipeline.to_owned(), "class" => class).increment(0);
    }
}

#[test]
fn a_scrape_does_not_grow_with_the_number_of_pipelines_by_their_histograms() {
    metrics::recorder().unwrap();
    let names: Vec<String> = (0..2_000).map(|n| format!("pipeline_number_{n}")).collect();
    for _ in 0..2 {
        names.iter().for_each(|name| record(name));
    }
    let text = metrics::render();
    let histograms = text.lines().filter(|line| line.starts_with("vitrina_batch_")).count();
    // 100 pipelines and the others; 16 bounds, the endless one, sum and count.
    assert_eq!(histograms, 101 * 4 * 19);
    let retries = text.lines().filter(|line| line.starts_with("vitrina_retries_total{")).count();
    assert_eq!(retries, 4_000, "counters are kept for every pipeline");
    assert!(
        text.lines().count() < 12_000 && text.len() < 1_000_000,
        "{} lines, {} bytes",
        text.lines().count(),
        text.len()
    );
    let all = text.lines().filter(|line| line.starts_with("vitrina_batch_duration_seconds_count"));
    let observed: u64 = all.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(observed, 4_000, "no observation is lost");
    assert!(text.contains(&format!("vitrina_batch_duration_seconds_count{{pipeline=\"{OTHERS}\"}} 3800")));

    // A place is free again when its pipeline is gone, and not before.
    let removed = names[0].clone();
    metrics::set_pipelines(names[1..].iter().cloned().chain(["newcomer".to_owned()]).collect());
    assert_eq!(metrics::histogram_label("newcomer"), "newcomer");
    assert_eq!(metrics::histogram_label(&names[1]), names[1]);
    assert_eq!(metrics::histogram_label(&removed), OTHERS);
}
