//! `vitrina reconcile`.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use vitrina_shared::{
    domain::report::{self, Difference, Reconciliation, Repaired},
    process::Failure,
};

use super::{objects, one_pipeline::OnePipeline};
use crate::output::{BAD, GOOD, Table, counted, duration, paint, table, thousands};

#[derive(Debug, Args)]
pub struct Options {
    /// How closely to look
    #[arg(long, value_enum, default_value_t = Depth::Counts)]
    depth: Depth,
    /// Write exactly the rows that are missing or different; in mode `full` also remove what is extra
    #[arg(long)]
    repair: bool,
    /// Also remove what is extra in a mart of mode `incremental`
    #[arg(long, requires = "repair")]
    remove_extra: bool,
    #[command(flatten)]
    pipeline: OnePipeline,
}

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Depth {
    /// Numbers of rows, and the range of a control column
    Counts,
    /// Also which keys are missing or extra
    Keys,
    /// Also every value of every row
    Rows,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.pipeline.client()?;
    let depth = options.depth.to_possible_value().map(|value| value.get_name().to_owned());
    let mut body = json!({ "depth": depth });
    if options.repair {
        body["repair"] = if options.remove_extra { "all".into() } else { true.into() };
    }
    let answer = client.report(&options.pipeline.name, "reconcile", &body).await?;
    let standing = Standing::of(&answer);
    let order = options.pipeline.key_order(&client).await;
    let name = &options.pipeline.name;
    options.pipeline.format.show(answer, |found: Reconciliation| text(name, &found, standing, &order))?;
    match standing {
        Standing::Equal | Standing::Repaired => Ok(()),
        Standing::Differs => Err(format!("`{name}` differs from its source").into()),
        Standing::StillDiffers { rows, extra } => {
            let remove = if extra { ": `--remove-extra` also removes what is extra" } else { "" };
            Err(format!("`{name}` still differs from its source in {}{remove}", counted(rows, "row")).into())
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Equal,
    Repaired,
    Differs,
    /// After the repair this many rows still differ: extra rows that stay, or refused ones.
    StillDiffers {
        rows: i64,
        extra: bool,
    },
}

impl Standing {
    fn of(found: &Value) -> Self {
        let rows = |value: &Value| value.as_i64().unwrap_or_default();
        if found["verdict"] == "match" {
            return Self::Equal;
        }
        let repaired = &found["repaired"];
        if repaired.is_null() {
            return Self::Differs;
        }
        let unwritten = rows(&found["missing"]) + rows(&found["different"]) - rows(&repaired["written"]);
        let extra = (rows(&found["extra"]) - rows(&repaired["removed"])).max(0);
        match unwritten.max(0) + extra {
            0 => Self::Repaired,
            rows => Self::StillDiffers { rows, extra: extra > 0 },
        }
    }
}

fn text(name: &str, found: &Reconciliation, standing: Standing, order: &[String]) -> String {
    let mut table = Table::new(&["", ">source", ">mart"]);
    table.row(["rows".into(), thousands(found.source_rows).into(), thousands(found.target_rows).into()]);
    let shown = |value: &Option<String>| value.clone().unwrap_or_default();
    for (which, source, target) in
        [("least", &found.source_min, &found.target_min), ("greatest", &found.source_max, &found.target_max)]
    {
        table.row([format!("{which} {}", found.control_column).into(), shown(source).into(), shown(target).into()]);
    }
    let mut lines = vec![table.render()];
    let mut differing = 0;
    for (what, rows) in [("missing", found.missing), ("extra", found.extra), ("different", found.different)] {
        if let Some(rows) = rows.filter(|rows| *rows > 0) {
            differing += rows;
            lines.push(format!("{what}: {}", counted(rows, "row")));
        }
    }
    if found.in_flight > 0 {
        lines.push(format!("in flight: {}, which the next run brings", counted(found.in_flight, "row")));
    }
    if !found.sample.is_empty() {
        lines.push(sample(&found.sample, order));
    }
    if found.sample.len() as i64 != differing && !found.sample.is_empty() {
        lines.push(format!("shown: {} of the {} that differ", found.sample.len(), counted(differing, "row")));
    }
    lines.extend(found.note.clone());
    if let Some(Repaired { written, removed }) = &found.repaired {
        lines.push(format!("repaired: {} written, {} removed", counted(*written, "row"), thousands(*removed)));
    }
    lines.push(verdict(name, found, standing));
    lines.join("\n")
}

fn sample(differences: &[Difference], order: &[String]) -> String {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "null".to_owned());
    let rows = differences.iter().map(|one| {
        let columns = one.columns.iter();
        let columns = columns.map(|(name, both)| format!("{name}: {} → {}", shown(&both.source), shown(&both.target)));
        [
            one.kind.as_str().into(),
            objects::key(one.key.iter().map(|(name, value)| (name, value.clone().unwrap_or_default())), order).into(),
            columns.collect::<Vec<_>>().join("; ").into(),
        ]
    });
    table(["kind", "key", "source → mart"], rows)
}

/// What a comparison found: no more than it looked at.
fn verdict(name: &str, found: &Reconciliation, standing: Standing) -> String {
    let (style, verdict) = match (standing, found.depth) {
        (Standing::Equal, report::Depth::Rows) => (GOOD, "equals its source"),
        (Standing::Equal, report::Depth::Keys) => {
            (GOOD, "has the same keys as its source; values were not compared, `--depth rows` does")
        }
        (Standing::Equal, report::Depth::Counts) => {
            (GOOD, "has as many rows as its source; values were not compared, `--depth rows` does")
        }
        (Standing::Repaired, _) => (GOOD, "differed, and everything that did was repaired"),
        (Standing::Differs | Standing::StillDiffers { .. }, _) => (BAD, "differs from its source"),
    };
    paint(style, format!("`{name}` {verdict} ({})", duration(found.took_ms.cast_signed())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_ends_well_where_nothing_differs_any_more() {
        let found = |repaired: Value| json!({"verdict": "drift", "missing": 2, "extra": 1, "different": 3, "repaired": repaired});
        assert_eq!(
            Standing::of(&json!({"verdict": "match", "repaired": {"written": 0, "removed": 0}})),
            Standing::Equal
        );
        assert_eq!(Standing::of(&found(Value::Null)), Standing::Differs);
        assert_eq!(Standing::of(&found(json!({"written": 5, "removed": 1}))), Standing::Repaired);
        assert_eq!(
            Standing::of(&found(json!({"written": 4, "removed": 0}))),
            Standing::StillDiffers { rows: 2, extra: true }
        );
    }
}
