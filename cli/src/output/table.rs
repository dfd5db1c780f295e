//! Tables: aligned columns, cut to the terminal's width, whole in a pipe.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{BOLD, paint, printable, width};

const GAP: usize = 2;
/// A column is never cut below this.
const LEAST: usize = 8;

#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: printable(text.as_ref()).replace(['\n', '\t'], " "), style }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// Rows under a header. A name that begins with `>` makes its column right-aligned.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Column {
    name: String,
    right: bool,
}

/// A table of these rows, as wide as the terminal at most.
pub fn table<const N: usize>(columns: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>) -> String {
    let mut table = Table::new(&columns);
    rows.into_iter().for_each(|row| table.row(row));
    table.render()
}

impl Table {
    pub fn new(names: &[&str]) -> Self {
        let column = |name: &&str| match name.strip_prefix('>') {
            Some(name) => Column { name: name.to_owned(), right: true },
            None => Column { name: (*name).to_owned(), right: false },
        };
        Self { columns: names.iter().map(column).collect(), rows: Vec::new() }
    }

    /// A table whose columns have names from elsewhere.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let columns = names.into_iter().map(|name| Column { name: printable(name), right: false });
        Self { columns: columns.collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn render(&self) -> String {
        self.render_within(width())
    }

    fn render_within(&self, most: Option<usize>) -> String {
        let widths = self.widths(most);
        let header: Vec<_> = self.columns.iter().map(|column| Cell::styled(&column.name, BOLD)).collect();
        let lines = std::iter::once(&header).chain(&self.rows).map(|row| self.line(row, &widths));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The widest field of each column; where that is too much, the widest text columns give way.
    fn widths(&self, most: Option<usize>) -> Vec<usize> {
        let widest = |place: usize| {
            let fields = self.rows.iter().filter_map(|row| row.get(place)).map(|cell| cell.text.width());
            fields.chain([self.columns[place].name.width()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let Some(most) = most else { return widths };
        let gaps = GAP * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > most {
            let text = (0..widths.len()).filter(|place| !self.columns[*place].right && widths[*place] > LEAST);
            let Some(place) = text.max_by_key(|place| widths[*place]) else { break };
            widths[place] -= 1;
        }
        widths
    }

    fn line(&self, row: &[Cell], widths: &[usize]) -> String {
        let fields = row.iter().zip(widths).zip(&self.columns).map(|((cell, width), column)| {
            let text = cut(&cell.text, *width);
            let pad = " ".repeat(width - text.width());
            let painted = if cell.style == Style::new() { text } else { paint(cell.style, text) };
            if column.right { pad + &painted } else { painted + &pad }
        });
        fields.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    }
}

/// The text in at most `width` places, with an ellipsis where something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut kept, mut taken) = (String::new(), 0);
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if taken + wide + 1 > width {
            break;
        }
        kept.push(c);
        taken += wide;
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["name", ">rows", "about"]);
        table.row(["film_dim".into(), "20,000".into(), "Films that are new or changed\nsince".into()]);
        table.row(["жанры".into(), "27".into(), "Genres".into()]);
        table
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_are_aligned_and_lines_have_no_tail() {
        let text = plain(&table().render_within(None));
        let expected =
            "name        rows  about\nfilm_dim  20,000  Films that are new or changed since\nжанры         27  Genres";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_narrow_terminal_cuts_text_and_never_numbers() {
        let text = plain(&table().render_within(Some(30)));
        assert!(text.lines().all(|line| line.width() <= 30), "{text}");
        assert!(text.contains("20,000") && text.contains('…'), "{text}");
    }

    #[test]
    fn wide_characters_are_cut_by_their_width() {
        assert_eq!(cut("日本語日本語", 7), "日本語…");
    }
}
