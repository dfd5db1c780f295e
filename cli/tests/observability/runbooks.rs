//! Runbooks: a section of `docs/runbooks.md` for every alert, and a dashboard that is made from that page.

use std::fs;

use regex::Regex;
use serde_json::{Value, json};
use vitrina_shared::testing::TestDatabase;

use crate::configuration::{read, repository, rules, text};

const PAGE: &str = "docs/runbooks.md";
const DASHBOARD: &str = "grafana/dashboards/runbooks.json";

/// The sections of the page: the name of an alert, and what is said of it.
fn sections() -> Vec<(String, String)> {
    let page = read(PAGE);
    let parts = page.split("\n## ").skip(1);
    parts
        .map(|part| {
            let (name, body) = part.split_once('\n').unwrap();
            (name.to_owned(), body.trim().to_owned())
        })
        .collect()
}

/// The panel of an alert's section.
fn link(name: &str) -> String {
    let place = sections().iter().position(|(section, _)| section == name).unwrap_or_else(|| panic!("{name}"));
    format!("/d/vitrina-runbooks?viewPanel={}", place + 1)
}

#[test]
fn every_alert_links_to_its_section_and_every_section_has_its_alert() {
    let alerts: Vec<_> = rules().into_iter().filter(|rule| rule.alert).collect();
    for alert in &alerts {
        let url = text(&alert.body["annotations"]["runbook_url"]);
        assert!(url.ends_with(&link(&alert.name)), "{} links to {url}", alert.name);
    }
    for (section, body) in sections() {
        assert!(alerts.iter().any(|alert| alert.name == section), "there is no alert {section}");
        assert!(body.contains("\nLook: ") && body.contains("\nDo:"), "{section}");
    }
}

/// Links within the page become links between panels; those to other pages lead nowhere in Grafana.
fn for_grafana(body: &str) -> String {
    let within = Regex::new(r"\[(Vitrina\w+)\]\(#\w+\)").unwrap();
    let body = within.replace_all(body, |found: &regex::Captures<'_>| format!("[{}]({})", &found[1], link(&found[1])));
    let elsewhere = Regex::new(r"\[([^\]]+)\]\(([^)/][^)]*\.md)\)").unwrap();
    elsewhere.replace_all(&body, "$1 (docs/$2)").into_owned()
}

fn dashboard() -> Value {
    let panels: Vec<Value> = sections()
        .iter()
        .enumerate()
        .map(|(index, (name, body))| {
            json!({
                "id": index + 1,
                "type": "text",
                "title": name,
                "description": format!("What to do about {name}, as docs/runbooks.md says it."),
                "gridPos": {"x": 12 * (index % 2), "y": 11 * (index / 2), "w": 12, "h": 11},
                "options": {"mode": "markdown", "content": for_grafana(body)},
            })
        })
        .collect();
    json!({
        "uid": "vitrina-runbooks",
        "title": "Vitrina / Runbooks",
        "description": "What each alert means, what to look at and what to do. Made from docs/runbooks.md.",
        "tags": ["vitrina"],
        "editable": false,
        "schemaVersion": 39,
        "version": 1,
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "templating": {"list": []},
        "links": [{
            "type": "dashboards", "title": "Vitrina", "tags": ["vitrina"], "asDropdown": false, "includeVars": true,
            "keepTime": true, "targetBlank": false, "icon": "external link", "tooltip": "", "url": "",
        }],
        "panels": panels,
    })
}

#[test]
fn the_dashboard_of_runbooks_is_made_from_their_page() {
    let mut wanted = serde_json::to_string_pretty(&dashboard()).unwrap();
    wanted.push('\n');
    if std::env::var_os("VITRINA_UPDATE_RUNBOOKS").is_some() {
        fs::write(repository(DASHBOARD), &wanted).unwrap();
    }
    let is = fs::read_to_string(repository(DASHBOARD)).unwrap_or_default();
    assert!(is == wanted, "{DASHBOARD} is not what {PAGE} says: run this test with VITRINA_UPDATE_RUNBOOKS=1");
}

/// What an operator is told to look at can be looked at.
#[tokio::test]
async fn every_query_of_the_runbooks_is_executed_by_the_server() {
    let db = TestDatabase::create().await;
    let query = Regex::new(r"`(select [^`]+)`").unwrap();
    let mut executed = 0;
    for page in [PAGE, "docs/operations.md"] {
        for found in query.captures_iter(&read(page)) {
            let text = found[1].replace("{p}", "films").replace("<pid>", "0");
            let outcome = sqlx::raw_sql(sqlx::AssertSqlSafe(text.clone())).execute(db.admin()).await;
            assert!(outcome.is_ok(), "{page} has `{text}`: {outcome:?}");
            executed += 1;
        }
    }
    assert!(executed >= 5, "{executed} queries were found");
}
