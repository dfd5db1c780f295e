//! The files of `prometheus/`, `grafana/` and `docs/`, as tests read them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// A path of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)
}

/// The text of a file of the repository.
pub fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A YAML file of the repository.
pub fn yaml(path: &str) -> Value {
    serde_norway::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of a directory with this extension, by name.
pub fn files(directory: &str, extension: &str) -> Vec<String> {
    let entries = fs::read_dir(repository(directory)).unwrap_or_else(|error| panic!("{directory}: {error}"));
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(extension))
        .map(|name| format!("{directory}/{name}"))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "{directory} has no {extension}");
    names
}

/// Something that Prometheus is asked for, and where that stands.
#[derive(Debug, Clone)]
pub struct Expression {
    pub place: String,
    pub text: String,
}

/// A rule of `prometheus/rules`.
#[derive(Debug)]
pub struct Rule {
    /// Its name, as an alert or as a recorded series.
    pub name: String,
    pub alert: bool,
    pub body: Value,
}

impl Rule {
    pub fn expression(&self) -> Expression {
        Expression { place: format!("rule {}", self.name), text: text(&self.body["expr"]) }
    }
}

/// All rules, in the order of their files.
pub fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for file in files("prometheus/rules", ".yml") {
        let groups = yaml(&file)["groups"].as_array().unwrap().clone();
        for body in groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()) {
            let alert = body.get("alert").is_some();
            let name = text(if alert { &body["alert"] } else { &body["record"] });
            rules.push(Rule { name, alert, body });
        }
    }
    rules
}

/// A dashboard of `grafana/dashboards`.
pub struct Dashboard {
    pub file: String,
    pub body: Value,
}

/// All dashboards.
pub fn dashboards() -> Vec<Dashboard> {
    let parse = |file: String| {
        let body = serde_json::from_str(&read(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        Dashboard { file, body }
    };
    files("grafana/dashboards", ".json").into_iter().map(parse).collect()
}

impl Dashboard {
    pub fn uid(&self) -> &str {
        self.body["uid"].as_str().unwrap()
    }

    /// All panels, rows too.
    pub fn panels(&self) -> &[Value] {
        self.body["panels"].as_array().unwrap()
    }

    /// Panels that show something.
    pub fn data_panels(&self) -> impl Iterator<Item = &Value> {
        self.panels().iter().filter(|panel| !["row", "text"].contains(&panel["type"].as_str().unwrap()))
    }

    pub fn variables(&self) -> &[Value] {
        self.body["templating"]["list"].as_array().unwrap()
    }

    /// Every expression of its panels and annotations.
    pub fn expressions(&self) -> Vec<Expression> {
        let of = |what: &str, expr: &Value| Expression { place: format!("{}: {what}", self.file), text: text(expr) };
        let targets = self.data_panels().flat_map(|panel| {
            let title = panel["title"].as_str().unwrap();
            panel["targets"].as_array().unwrap().iter().map(move |target| of(title, &target["expr"]))
        });
        let annotations = self.body["annotations"]["list"].as_array().unwrap().iter();
        let annotations = annotations.filter(|one| one.get("expr").is_some()).map(|one| of("annotation", &one["expr"]));
        targets.chain(annotations).collect()
    }
}

/// Every expression of every rule and dashboard.
pub fn expressions() -> Vec<Expression> {
    let dashboards = dashboards();
    rules().iter().map(Rule::expression).chain(dashboards.iter().flat_map(Dashboard::expressions)).collect()
}

/// The text of a value that must be one.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
