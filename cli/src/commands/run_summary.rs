//! What a run did, for people.

use crate::{
    client::{Run, RunStep},
    output::{BAD, Cell, GOOD, Table, WARN, counted, duration, paint, printable, thousands, took},
};

/// Its lines for people: what it did, what each of its steps did, and what would help.
pub(super) fn describe(run: &Run) -> String {
    let advice = run.advice.iter().map(|advice| format!("{} {}", paint(WARN, "advice:"), printable(advice)));
    let steps = (!run.steps.is_empty()).then(|| steps(&run.steps));
    std::iter::once(headline(run)).chain(steps).chain(advice).collect::<Vec<_>>().join("\n")
}

fn headline(run: &Run) -> String {
    let speed = run.rows_per_second().map(|speed| format!(", {} rows/s", thousands(speed))).unwrap_or_default();
    let batches = counted(run.batches, "batch");
    let repeated =
        if run.attempts > 0 { format!(", {}", counted(run.attempts, "failed attempt")) } else { String::new() };
    let mut text = format!(
        "{} {}: {}{speed}, {batches}{repeated}",
        if run.is_success() { paint(GOOD, "✓") } else { paint(BAD, "✗") },
        printable(&run.pipeline),
        rows(run),
    );
    if let Some(checkpoint) = &run.checkpoint_to {
        let id = checkpoint.id.as_deref().unwrap_or_default();
        text.push_str(&format!("\n  checkpoint {} {}", printable(&checkpoint.key), printable(id)));
    }
    text
}

/// What a run did: `100 rows read, 97 written, 3 rejected in 1.2 s`.
pub(super) fn rows(run: &Run) -> String {
    let mut text = format!("{} read, {} written", counted(run.rows_read, "row"), thousands(run.rows_written));
    for (rows, what) in [(run.rows_removed, "removed"), (run.rows_rejected, "rejected")] {
        if rows > 0 {
            text.push_str(&format!(", {} {what}", thousands(rows)));
        }
    }
    text + &took(run.duration_ms)
}

/// A table of the steps: rows that went on, that were rejected and that were left out, and time. Calls only where there were any.
fn steps(steps: &[RunStep]) -> String {
    let calls = steps.iter().any(|step| step.calls_made > 0 || step.calls_saved > 0 || step.waited_ms > 0.0);
    let mut names = vec!["step", ">ok", ">failed", ">skipped", ">took", ">per block"];
    if calls {
        names.extend([">calls", ">saved", ">waited", "for"]);
    }
    let mut table = Table::new(&names);
    for step in steps {
        let counts = [step.rows_out, step.rejected, step.dropped].map(|rows| Cell::from(thousands(rows)));
        let mut row = vec![Cell::from(&step.step)];
        row.extend(counts);
        row.push(millis(step.duration_ms).into());
        row.push(step.mean_ms_per_block.map(millis).unwrap_or_default().into());
        if calls {
            row.extend([step.calls_made, step.calls_saved].map(|calls| Cell::from(thousands(calls))));
            row.push(millis(step.waited_ms).into());
            row.push(step.waited_for.as_deref().unwrap_or_default().into());
        }
        table.row(row);
    }
    table.render()
}

/// A time that may be short: `0.4 ms`, `96 ms`, `4.3 s`.
fn millis(millis: f64) -> String {
    if (0.05..9.95).contains(&millis) { format!("{millis:.1} ms") } else { duration(millis.round() as i64) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(steps: serde_json::Value) -> Run {
        let run = json!({
            "id": "r", "pipeline": "people", "status": "SUCCESS", "requested_at": "2026-11-19T00:00:00Z",
            "duration_ms": 10_000, "rows_read": 20_000, "rows_written": 19_000, "rows_rejected": 1_000, "batches": 2,
            "attempts": 0, "error": null, "checkpoint_to": null, "steps": steps, "advice": ["the limit `tokens` \u{1b}[2J"],
        });
        serde_json::from_value(run).expect("a run")
    }

    fn step(name: &str, calls_made: i64) -> serde_json::Value {
        json!({
            "step": name, "rows_out": 19_000, "rejected": 1_000, "dropped": 0, "duration_ms": 61_000.0,
            "mean_ms_per_block": 0.44, "calls_made": calls_made, "calls_saved": 3, "waited_ms": 8_000.0,
            "waited_for": "tokens",
        })
    }

    #[test]
    fn a_run_ends_with_a_table_of_its_steps_and_advice() {
        let text =
            anstream::adapter::strip_str(&describe(&run(json!([step("cast", 0), step("http", 12)])))).to_string();
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[1], "step ok failed skipped took per block calls saved waited for");
        assert_eq!(lines[3], "http 19,000 1,000 0 1 min 1 s 0.4 ms 12 3 8.0 s tokens");
        assert!(lines[4].starts_with("advice: the limit `tokens`") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn calls_are_shown_only_where_there_were_any_and_no_table_where_there_are_no_steps() {
        let mut without = step("trim", 0);
        for field in ["calls_saved", "waited_ms"] {
            without[field] = json!(0);
        }
        let text = describe(&run(json!([without])));
        assert!(text.contains("skipped") && !text.contains("calls"), "{text}");
        assert!(!describe(&run(json!([]))).contains("skipped"));
    }

    #[test]
    fn short_times_keep_a_digit() {
        assert_eq!([0.0, 0.44, 9.94, 9.96, 1_500.0].map(millis), ["0 ms", "0.4 ms", "9.9 ms", "10 ms", "1.5 s"]);
    }
}
