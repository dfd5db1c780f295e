//! As much of PromQL as our rules for expressions need.

use regex::Regex;
use vitrina_shared::metrics::{CATALOG, Kind, Metric};

/// A metric that an expression asks for.
#[derive(Debug)]
pub struct Selector {
    /// Its name.
    pub name: String,
    /// Name and matchers, to be asked for alone.
    pub text: String,
    /// Everything of the expression before it.
    pub before: String,
}

/// The metrics that an expression asks for. Their names have an underscore or a colon, which no function of PromQL that we use
/// shares but those listed.
pub fn selectors(expression: &str) -> Vec<Selector> {
    let names = Regex::new(r"\b([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})?").unwrap();
    let known = |name: &str| is_ours(name) || name == "up" || name == "ALERTS";
    names
        .captures_iter(expression)
        .filter(|found| known(&found[1]))
        .filter(|found| !is_inside_braces(expression, found.get(0).unwrap().start()))
        .map(|found| Selector {
            name: found[1].to_owned(),
            text: found[0].to_owned(),
            before: expression[..found.get(0).unwrap().start()].to_owned(),
        })
        .collect()
}

fn is_ours(name: &str) -> bool {
    name.contains(':') || ["vitrina_", "process_"].iter().any(|prefix| name.starts_with(prefix))
}

fn is_inside_braces(text: &str, place: usize) -> bool {
    let before = &text[..place];
    before.matches('{').count() > before.matches('}').count()
}

/// The metric of a series, which may be a part of a histogram.
pub fn metric(series: &str) -> Option<&'static Metric> {
    let whole = CATALOG.iter().find(|metric| metric.name == series);
    whole.or_else(|| {
        let name = ["_bucket", "_sum", "_count"].iter().find_map(|part| series.strip_suffix(part))?;
        CATALOG.iter().find(|metric| metric.kind == Kind::Histogram && metric.name == name)
    })
}

/// The expression as Grafana would send it.
pub fn filled_in(expression: &str) -> String {
    ["$pipeline", "$route"]
        .iter()
        .fold(expression.to_owned(), |text, variable| text.replace(variable, ".+"))
        .replace("$__rate_interval", "30s")
        .replace("$__range", "10m")
}

#[test]
fn selectors_are_found_with_their_matchers() {
    let found = selectors(
        r#"sum by (pipeline) (max by (pipeline) (rate(vitrina_a_total{x="vitrina_b", y=~"$z"}[5m]))) / a:b:c > up"#,
    );
    let texts: Vec<_> = found.iter().map(|selector| selector.text.as_str()).collect();
    assert_eq!(texts, [r#"vitrina_a_total{x="vitrina_b", y=~"$z"}"#, "a:b:c", "up"]);
    assert!(found[0].before.ends_with("(rate("));
}
