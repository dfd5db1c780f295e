//! Fields of spans and events as text, each on the line that it belongs to.
//!
//! A value may come from anywhere: a column's name, a server's message. Unescaped it could end its line and forge another
//! one, or control the terminal that shows the log. So control characters are escaped.

use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::{FormatFields, format::Writer};

/// Formats fields. Layers with one type share what is formatted, and with it the console's colours: the console's has another
/// type than the file's.
pub(super) struct FieldFormat<const ON_A_FILE: bool>;

impl<'writer, const ON_A_FILE: bool> FormatFields<'writer> for FieldFormat<ON_A_FILE> {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut visitor = Visitor { writer, is_first: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct Visitor<'writer> {
    writer: Writer<'writer>,
    is_first: bool,
    result: fmt::Result,
}

impl Visitor<'_> {
    fn write(&mut self, field: &Field, value: fmt::Arguments<'_>) -> fmt::Result {
        if !std::mem::take(&mut self.is_first) {
            self.writer.write_char(' ')?;
        }
        if field.name() != "message" {
            let name = field.name().trim_start_matches("r#");
            if self.writer.has_ansi_escapes() {
                write!(self.writer, "\u{1b}[3m{name}\u{1b}[0m\u{1b}[2m=\u{1b}[0m")?;
            } else {
                write!(self.writer, "{name}=")?;
            }
        }
        Escaping(&mut self.writer).write_fmt(value)
    }

    fn take(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if self.result.is_ok() {
            self.result = self.write(field, value);
        }
    }
}

impl Visit for Visitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.take(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.take(field, format_args!("{value}"));
        } else {
            self.take(field, format_args!("{value:?}"));
        }
    }
}

/// Writes text without what would end the line or steer a terminal.
struct Escaping<W>(W);

impl<W: Write> Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(steers) {
            match part.chars().next_back().filter(|c| steers(*c)) {
                Some(last) => {
                    self.0.write_str(&part[..part.len() - last.len_utf8()])?;
                    write!(self.0, "{}", last.escape_default())?;
                }
                None => self.0.write_str(part)?,
            }
        }
        Ok(())
    }
}

/// Control characters, separators of lines, and what turns the direction of writing.
fn steers(c: char) -> bool {
    crate::process::steers_a_terminal(c) || matches!(c, '\n' | '\t' | '\u{2028}' | '\u{2029}')
}
