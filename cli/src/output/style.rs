//! Colours, numbers and times as people read them.

use std::{borrow::Cow, fmt::Write as _};

use anstyle::{AnsiColor, Style};
use chrono::{DateTime, Utc};
use vitrina_shared::process::steers_a_terminal;

/// Done, equal, ready.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Failed, different, missing.
pub const BAD: Style = AnsiColor::Red.on_default();
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// In progress.
pub const NOTE: Style = AnsiColor::Cyan.on_default();
/// Less important text.
pub const DIM: Style = Style::new().dimmed();
pub const BOLD: Style = Style::new().bold();

pub fn paint(style: Style, text: impl AsRef<str>) -> String {
    format!("{style}{}{style:#}", text.as_ref())
}

pub fn status(status: &str) -> Style {
    match status {
        "IDLE" | "SUCCESS" => GOOD,
        "FAILED" => BAD,
        "PAUSED" | "PAUSE_REQUESTED" | "CANCELLED" => WARN,
        _ => NOTE,
    }
}

/// The text without control sequences, except our own styles.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(steers_a_terminal) {
        return Cow::Borrowed(text);
    }
    let styles: Vec<String> = [GOOD, BAD, WARN, NOTE, DIM, BOLD]
        .iter()
        .flat_map(|style| [format!("{style}"), format!("{style:#}")])
        .collect();
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(place) = rest.find(steers_a_terminal) {
        shown.push_str(&rest[..place]);
        rest = &rest[place..];
        if let Some(style) = styles.iter().find(|style| rest.starts_with(style.as_str())) {
            shown.push_str(style);
            rest = &rest[style.len()..];
        } else {
            let mut chars = rest.chars();
            chars.next();
            shown.push('\u{fffd}');
            rest = chars.as_str();
        }
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// A number in groups: `20,000`.
pub fn thousands(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 row`, `20,000 rows`, `2 batches`.
pub fn counted(number: i64, thing: &str) -> String {
    let plural = if thing.ends_with("ch") { "es" } else { "s" };
    format!("{} {thing}{}", thousands(number), if number == 1 { "" } else { plural })
}

/// A time in UTC, to the second.
pub fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// ` in 4.3 s`; nothing if it did not begin.
pub fn took(milliseconds: Option<i64>) -> String {
    milliseconds.map(|milliseconds| format!(" in {}", duration(milliseconds))).unwrap_or_default()
}

/// Milliseconds as a person says them: `96 ms`, `4.3 s`, `2 min 5 s`, `3 h 20 min`.
pub fn duration(milliseconds: i64) -> String {
    let mut text = String::new();
    let seconds = milliseconds / 1000;
    let _ = match milliseconds {
        ..1_000 => write!(text, "{} ms", milliseconds.max(0)),
        1_000..60_000 => write!(text, "{:.1} s", milliseconds as f64 / 1000.0),
        60_000..3_600_000 => write!(text, "{} min {} s", seconds / 60, seconds % 60),
        _ => write!(text, "{} h {} min", seconds / 3600, seconds / 60 % 60),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        let shown: Vec<_> = [0, 999, 1000, 34_500, 1_234_567, -1000].into_iter().map(thousands).collect();
        assert_eq!(shown, ["0", "999", "1,000", "34,500", "1,234,567", "-1,000"]);
    }

    #[test]
    fn durations_are_said_as_people_say_them() {
        let shown: Vec<_> = [96, 4_273, 125_000, 12_000_000].into_iter().map(duration).collect();
        assert_eq!(shown, ["96 ms", "4.3 s", "2 min 5 s", "3 h 20 min"]);
    }

    #[test]
    fn foreign_text_cannot_steer_the_terminal_and_ours_has_its_styles() {
        let painted = paint(BAD, "a\u{1b}[2Jb\tc\u{9b}1m\u{1b}[5md");
        assert_eq!(clean(&painted), paint(BAD, "a\u{fffd}[2Jb\tc\u{fffd}1m\u{fffd}[5md"));
        assert!(matches!(clean("a\nb"), Cow::Borrowed("a\nb")));
    }
}
