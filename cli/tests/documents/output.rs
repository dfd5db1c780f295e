//! Whether a command printed what a document shows.

use std::sync::LazyLock;

use regex::Regex;

/// What is different on every run, and what stands for it.
static PASSING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{8}-…", "ID"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?", "TIME"),
        (r"\b\d[\d,]* rows/s", "SPEED"),
        (r"\b\d[\d,]*(?:\.\d+)? ?(?:ms|s)\b", "TOOK"),
        (r#"("(?:duration|took)_ms":)\d+"#, "${1}TOOK"),
        (r"[\w.-]+-\d+-[0-9a-f]{6}\b", "WORKER"),
    ];
    patterns.map(|(pattern, name)| (Regex::new(pattern).unwrap(), name)).into()
});

/// Without what differs from run to run, and without white space: tables are as wide as their widest number, and
/// documents break long lines.
fn steady(text: &str) -> String {
    let replace = |text: String, (pattern, name): &(Regex, &str)| pattern.replace_all(&text, *name).into_owned();
    let named = PASSING.iter().fold(text.to_owned(), replace);
    named.split_whitespace().collect()
}

/// Whether `printed` is what `shown` says: `…` stands for anything, also for many lines.
pub fn agrees(shown: &str, printed: &str) -> bool {
    pattern(shown, "$").is_match(&steady(printed))
}

/// Whether `printed` begins with what `shown` says: more may follow.
pub fn begins(shown: &str, printed: &str) -> bool {
    pattern(shown, "").is_match(&steady(printed))
}

fn pattern(shown: &str, end: &str) -> Regex {
    let parts: Vec<String> = steady(shown).split('…').map(regex::escape).collect();
    Regex::new(&format!("(?s)^{}{end}", parts.join(".*?"))).unwrap()
}

#[test]
fn ids_times_and_durations_may_differ_and_numbers_of_rows_may_not() {
    let shown = "✓ film: 10,000 rows in 27 ms, 3,888 rows/s at 2026-11-16 10:02:11 by host-18596-935035";
    assert!(agrees(shown, "✓ film:  10,000 rows in 1.3 s, 88 rows/s at 2027-01-01 00:00:00 by vm-1-0a0b0c\n"));
    assert!(!agrees(shown, "✓ film: 9,999 rows in 27 ms, 3,888 rows/s at 2026-11-16 10:02:11 by vm-1-0a0b0c"));
}

#[test]
fn what_is_left_out_may_be_anything_and_the_rest_may_not() {
    assert!(agrees(
        "{\"id\":\"01a1e344-…\", … \"rows\":3}",
        r#"{"id":"01a1e344-bb6d-7549-9210-f4b021e6b1a9","x":1,"rows":3}"#
    ));
    assert!(agrees("first\n…\nlast", "first\nsecond\nthird\nlast\n"));
    assert!(!agrees("first\n…\nlast", "first\nlast\nand more"));
    assert!(begins("first\n…\nlast", "first\nlast\nand more"));
    assert!(!agrees("nothing", ""));
}
