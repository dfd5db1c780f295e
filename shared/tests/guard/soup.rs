//! Generated nonsense: the parser survives all of it.

use proptest::prelude::*;
use vitrina_shared::guard::ParameterTypes;

use crate::{layers::HONEST, parse};

/// A text made of what means something to a lexer.
fn sql_soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "select",
        "with",
        "a",
        "as",
        "(",
        ")",
        "from",
        "content.film_work",
        ",",
        "'",
        "\"",
        "$$",
        "$x$",
        "--",
        "/*",
        "*/",
        "\n",
        " ",
        ";",
        "E'",
        "U&\"",
        "\\",
        ":",
        "::",
        ":limit",
        "[",
        "]",
        "1",
        ".",
        "1e",
        "0x",
        "_",
        "&>",
        "<",
        "|",
        "-",
        "?",
        "@",
        "for update",
        "into",
        "insert",
        "values",
        "union",
        "case",
        "when",
        "end",
        "interval",
        "é",
        "\u{a0}",
        "\0",
        "{",
        "join",
        "lateral",
        "table",
        "over",
        "not",
        "between",
        "recursive",
        "array",
        "cast(",
        "extract(",
        "in",
        "order by",
        "limit",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.join(" "))
}

/// An honest query with a piece cut out, doubled or replaced.
fn mutant() -> impl Strategy<Value = String> {
    let parts = (prop::sample::select(HONEST), any::<prop::sample::Index>(), any::<prop::sample::Index>(), ".{0,4}");
    parts.prop_map(|(sql, from, to, patch)| {
        let characters: Vec<char> = sql.chars().collect();
        let (from, to) = (from.index(characters.len()), to.index(characters.len()));
        let head: String = characters[..from].iter().collect();
        let tail: String = characters[to..].iter().collect();
        format!("{head}{patch}{tail}")
    })
}

proptest! {
    #[test]
    fn the_guard_never_panics_on_any_text(sql in any::<String>()) {
        let _ = parse(&sql);
        let _ = parse(&format!("select {sql}"));
    }

    #[test]
    fn the_guard_never_panics_on_pieces_of_sql(sql in sql_soup()) {
        let _ = parse(&sql);
    }

    /// What is accepted is written so that reading it again gives the same text, line breaks aside.
    #[test]
    fn what_passes_is_read_the_same_way_again(sql in mutant()) {
        let types = ParameterTypes { key: "int".to_owned(), id: "int".to_owned() };
        if let Ok(query) = parse(&sql) && query.placeholders().is_empty() {
            let written = query.render(&types);
            let again = parse(&written).unwrap().render(&types);
            prop_assert!(again.split_whitespace().eq(written.split_whitespace()), "{} became {}", written, again);
        }
    }
}
