//! The rules of `grafana/dashboard-linter`, and those that are only ours.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;
use vitrina_shared::metrics::CATALOG;

use crate::{
    configuration::{Dashboard, dashboards, expressions, text, yaml},
    promql::{metric, selectors},
};

/// Where Grafana puts the chosen data source.
const CHOSEN: &str = "${datasource}";
/// Units that we use, of those that Grafana knows.
const UNITS: &[&str] = &["short", "s", "bytes", "ops", "reqps", "rowsps", "percentunit"];

fn title(dashboard: &Dashboard, panel: &Value) -> String {
    format!("{}: {}", dashboard.file, panel["title"])
}

#[test]
fn dashboards_are_provisioned_named_and_not_edited_in_place() {
    let provider = yaml("grafana/provisioning/dashboards/vitrina.yml");
    assert_eq!(provider["providers"][0]["allowUiUpdates"], false);
    let mut uids = BTreeSet::new();
    for dashboard in dashboards() {
        let body = &dashboard.body;
        assert!(uids.insert(dashboard.uid().to_owned()), "{} is there twice", dashboard.uid());
        assert!(text(&body["title"]).starts_with("Vitrina / ") && text(&body["description"]).len() > 20);
        assert_eq!((&body["editable"], &body["tags"]), (&false.into(), &serde_json::json!(["vitrina"])));
    }
    let wanted = ["vitrina-api", "vitrina-overview", "vitrina-pipeline", "vitrina-runbooks", "vitrina-workers"];
    assert_eq!(uids.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
}

#[test]
fn the_data_source_can_be_chosen_and_everything_uses_it() {
    for dashboard in dashboards() {
        if dashboard.data_panels().next().is_none() {
            continue;
        }
        let chosen = &dashboard.variables()[0];
        let is = |field: &str| text(&chosen[field]);
        assert_eq!(
            (is("name"), is("type"), is("query")),
            ("datasource".into(), "datasource".into(), "prometheus".into())
        );
        assert_eq!(is("label"), "Data source");
        for panel in dashboard.data_panels() {
            let targets = panel["targets"].as_array().unwrap().iter().chain([panel]);
            for target in targets {
                assert_eq!(target["datasource"]["uid"], CHOSEN, "{}", title(&dashboard, panel));
            }
        }
        for variable in dashboard.variables().iter().filter(|variable| variable["type"] == "query") {
            assert_eq!(variable["datasource"]["uid"], CHOSEN);
            assert_eq!(variable["refresh"], 2, "{} follows the time range", variable["name"]);
            assert!(text(&variable["label"]).len() > 2);
        }
    }
}

#[test]
fn panels_say_what_they_show_in_which_unit_and_what_is_too_much() {
    for dashboard in dashboards() {
        for panel in dashboard.data_panels() {
            let title = title(&dashboard, panel);
            assert!(text(&panel["description"]).len() > 15 && text(&panel["title"]).len() > 2, "{title}");
            assert!(!panel["targets"].as_array().unwrap().is_empty(), "{title}");
            let defaults = &panel["fieldConfig"]["defaults"];
            assert!(UNITS.contains(&text(&defaults["unit"]).as_str()), "{title} in {}", defaults["unit"]);
            let steps = defaults["thresholds"]["steps"].as_array().unwrap();
            assert!(steps.first().is_some_and(|step| step["value"].is_null()), "{title}");
        }
    }
}

#[test]
fn rates_are_taken_over_an_interval_that_fits_the_screen() {
    let windows = Regex::new(r"(rate|increase)\([a-z_:]+(?:\{[^}]*\})?\[([^\]]+)\]").unwrap();
    let mut checked = 0;
    for dashboard in dashboards() {
        for expression in dashboard.expressions() {
            for window in windows.captures_iter(&expression.text) {
                let range = &window[1] == "increase" && &window[2] == "$__range";
                assert!(&window[2] == "$__rate_interval" || range, "{expression:?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn links_lead_to_dashboards_and_panels_that_there_are() {
    let all = dashboards();
    let links = Regex::new(r#"/d/([a-z-]+)(\?viewPanel=(\d+))?"#).unwrap();
    let mut followed = 0;
    for dashboard in &all {
        let text = dashboard.body.to_string();
        for link in links.captures_iter(&text) {
            let target = all.iter().find(|other| other.uid() == &link[1]).unwrap_or_else(|| panic!("{}", &link[0]));
            if let Some(panel) = link.get(3) {
                let wanted: u64 = panel.as_str().parse().unwrap();
                let there = target.panels().iter().any(|it| it["id"] == wanted);
                assert!(there, "{} of {}", &link[0], dashboard.file);
            }
            followed += 1;
        }
        let others = dashboard.body["links"].as_array().unwrap();
        assert!(
            others.iter().any(|link| link["type"] == "dashboards" && link["keepTime"] == true),
            "{}",
            dashboard.file
        );
    }
    assert!(followed > 15, "{followed}");
}

#[test]
fn starts_and_ends_of_runs_are_annotated_where_pipelines_are_shown() {
    for dashboard in dashboards().iter().filter(|one| ["vitrina-overview", "vitrina-pipeline"].contains(&one.uid())) {
        let annotations = dashboard.body["annotations"]["list"].as_array().unwrap();
        for what in ["Run starts", "Runs that succeeded", "Runs that failed"] {
            let found = annotations.iter().find(|one| one["name"] == what).unwrap_or_else(|| panic!("{what}"));
            assert_eq!((&found["useValueForTime"], &found["datasource"]["uid"]), (&true.into(), &CHOSEN.into()));
        }
    }
}

#[test]
fn every_metric_is_shown_somewhere() {
    let shown: BTreeSet<&str> = expressions()
        .iter()
        .flat_map(|expression| selectors(&expression.text))
        .filter_map(|selector| metric(&selector.name).map(|metric| metric.name))
        .collect();
    for metric in CATALOG {
        assert!(shown.contains(metric.name), "{} is in no dashboard and no rule", metric.name);
    }
}

#[test]
fn rules_of_the_linter_that_are_left_out_have_a_reason() {
    let exclusions = yaml("grafana/dashboards/.lint");
    for (rule, exclusion) in exclusions["exclusions"].as_object().unwrap() {
        assert!(rule.ends_with("-rule") && text(&exclusion["reason"]).len() > 5, "{rule}");
    }
}
