//! The checks and their results.

use serde::Serialize;
use vitrina_shared::process::Failure;

use crate::output::{self, BAD, DIM, Format, GOOD, WARN, paint, printable};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Finding {
    Good,
    /// It works, with a remark for the operator.
    Note,
    Wrong,
    Skipped,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Check {
    name: String,
    finding: Finding,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Check {
    fn new(name: &str, finding: Finding, detail: impl Into<String>, fix: Option<String>) -> Self {
        Self { name: name.to_owned(), finding, detail: detail.into(), fix }
    }

    pub(super) fn good(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Finding::Good, detail, None)
    }

    pub(super) fn note(name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(name, Finding::Note, detail, Some(fix.into()))
    }

    pub(super) fn wrong(name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(name, Finding::Wrong, detail, Some(fix.into()))
    }

    pub(super) fn skipped(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Finding::Skipped, detail, None)
    }
}

#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Check>);

impl Findings {
    pub(super) fn add(&mut self, check: Check) {
        self.0.push(check);
    }

    pub(super) fn show(&self, format: Format) {
        if format.json {
            return output::json(&serde_json::json!({ "ok": self.wrong() == 0, "checks": self.0 }));
        }
        let widest = self.0.iter().map(|check| check.name.len()).max().unwrap_or(0);
        for check in &self.0 {
            let (mark, style) = match check.finding {
                Finding::Good => ("✓", GOOD),
                Finding::Note => ("!", WARN),
                Finding::Wrong => ("✗", BAD),
                Finding::Skipped => ("-", DIM),
            };
            output::line(format!("{} {:widest$}  {}", paint(style, mark), check.name, printable(&check.detail)));
            if let Some(fix) = &check.fix {
                output::line(format!("  {:widest$}  {}", "", paint(DIM, format!("→ {}", printable(fix)))));
            }
        }
    }

    fn wrong(&self) -> usize {
        self.0.iter().filter(|check| check.finding == Finding::Wrong).count()
    }

    pub(super) fn judge(&self) -> Result<(), Failure> {
        match self.wrong() {
            0 => Ok(()),
            1 => Err("1 thing is wrong".into()),
            many => Err(format!("{many} things are wrong").into()),
        }
    }
}
