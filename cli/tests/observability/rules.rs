//! Rules of Prometheus: valid, tested, explained.

use std::collections::BTreeSet;

use vitrina_shared::metrics::{Kind, ShownBy};

use crate::{
    configuration::{expressions, files, read, repository, rules, text},
    prometheus,
    promql::{metric, selectors},
};

#[test]
fn promtool_accepts_the_configuration_and_the_rules() {
    if prometheus::is_left_out() {
        return;
    }
    let config = repository("prometheus/prometheus.yml");
    prometheus::promtool(&["check", "config", config.to_str().unwrap()]);
    for file in files("prometheus/rules", ".yml") {
        prometheus::promtool(&["check", "rules", repository(&file).to_str().unwrap()]);
    }
}

#[test]
fn alerts_fire_and_stay_silent_as_their_tests_say() {
    if prometheus::is_left_out() {
        return;
    }
    for file in files("prometheus/tests", ".yml") {
        prometheus::promtool(&["test", "rules", repository(&file).to_str().unwrap()]);
    }
}

#[test]
fn every_alert_has_a_test_in_which_it_fires_and_says_what_to_do() {
    let tests: String = files("prometheus/tests", ".yml").iter().map(|file| read(file)).collect();
    let alerts: Vec<_> = rules().into_iter().filter(|rule| rule.alert).collect();
    assert!(alerts.len() >= 9, "{alerts:?}");
    for alert in alerts {
        let name = &alert.name;
        let fires = [format!("alertname: {name}\n"), format!("alertname=\"{name}\"")];
        assert!(fires.iter().any(|sign| tests.contains(sign)), "{name} fires in no test");
        let (labels, annotations) = (&alert.body["labels"], &alert.body["annotations"]);
        assert!(["warning", "critical"].contains(&text(&labels["severity"]).as_str()), "{name}");
        for annotation in ["summary", "description"] {
            assert!(text(&annotations[annotation]).len() > 15, "{name} has no {annotation}");
        }
    }
}

#[test]
fn expressions_ask_only_for_metrics_that_there_are() {
    let recorded: BTreeSet<String> = rules().into_iter().filter(|rule| !rule.alert).map(|rule| rule.name).collect();
    for expression in expressions() {
        let selectors = selectors(&expression.text);
        assert!(!selectors.is_empty(), "{expression:?} asks for nothing");
        for selector in selectors {
            let known = metric(&selector.name).is_some() || recorded.contains(&selector.name);
            assert!(known || ["up", "ALERTS"].contains(&selector.name.as_str()), "{} in {expression:?}", selector.name);
        }
    }
}

/// Replicas of the API show the same series of the deployment: a sum without `max` counts them twice.
#[test]
fn what_every_replica_shows_is_counted_once() {
    let first =
        regex::Regex::new(r"(max|min)( by \([a-z, ]+\))? \(((rate|increase)\()?$|(max|min)\(((rate|increase)\()?$")
            .unwrap();
    let mut checked = 0;
    for expression in expressions() {
        for selector in selectors(&expression.text) {
            let shown_by = metric(&selector.name).map(|metric| metric.shown_by);
            if shown_by == Some(ShownBy::Deployment) {
                assert!(first.is_match(&selector.before), "take max of {} in {expression:?}", selector.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn counters_are_asked_for_their_increase_and_nothing_else() {
    for expression in expressions() {
        for selector in selectors(&expression.text) {
            if metric(&selector.name).is_some_and(|metric| metric.kind == Kind::Counter) {
                let increase = selector.before.ends_with("rate(") || selector.before.ends_with("increase(");
                assert!(increase, "{} in {expression:?}", selector.name);
            }
        }
    }
}
