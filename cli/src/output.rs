//! Output: text for people, JSON for programs.
//!
//! Colours are always written, and `anstream` removes them in a pipe, with `NO_COLOR` and on a dumb terminal. All other
//! control characters are removed here, wherever the text came from.

mod quiet_keys;
mod style;
mod table;

use std::io::{self, IsTerminal, Write};

use serde_json::{Value, value::RawValue};

pub use quiet_keys::QuietKeys;
pub use style::{BAD, BOLD, DIM, GOOD, WARN, counted, duration, paint, status, thousands, time, took};
pub use table::{Cell, Table, table};

pub use vitrina_shared::process::printable;
use vitrina_shared::process::{Failure, steers_a_terminal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct Format {
    /// Print JSON, as the API wrote it
    #[arg(long)]
    pub json: bool,
}

impl Format {
    /// Prints the JSON, or the text that `text` makes of it.
    pub fn show<T: serde::de::DeserializeOwned>(
        self,
        answer: Value,
        text: impl FnOnce(T) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            json(&answer);
        } else {
            line(text(serde_json::from_value(answer).map_err(strange)?));
        }
        Ok(())
    }

    /// Prints JSON whose numbers have more digits than a [`Value`] keeps, as it is, or the text that `text` makes of it.
    pub fn show_exactly<T: serde::de::DeserializeOwned>(
        self,
        answer: &RawValue,
        text: impl FnOnce(T) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            let _ = write_line(&escaped(answer.get()));
        } else {
            line(text(serde_json::from_str(answer.get()).map_err(strange)?));
        }
        Ok(())
    }
}

fn strange(error: serde_json::Error) -> String {
    format!("the API's answer is strange: {error}")
}

/// Prints a line, or several. A reader that went away (`| head`) is no reason to fail.
pub fn line(text: impl AsRef<str>) {
    let _ = try_line(text);
}

/// Prints a line, and returns whether the reader is still there.
pub fn try_line(text: impl AsRef<str>) -> io::Result<()> {
    write_line(&style::clean(text.as_ref()))
}

fn write_line(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", text.trim_end_matches('\n'))?;
    out.flush()
}

pub fn note(text: impl AsRef<str>) {
    let _ = writeln!(anstream::stderr().lock(), "{}", style::clean(text.as_ref()));
}

/// Prints JSON: indented on a terminal, on one line otherwise.
pub fn json(value: &Value) {
    let text = if io::stdout().is_terminal() { format!("{value:#}") } else { value.to_string() };
    let _ = write_line(&escaped(&text));
}

/// JSON in which nothing steers a terminal. The values stay what they are: such characters stand in strings only, and what
/// JSON does not escape by itself it may.
pub fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if steers_a_terminal(c) {
            // Each of these characters is one UTF-16 unit.
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

pub fn is_interactive() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// The width of the terminal; none without a terminal.
pub fn width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}
