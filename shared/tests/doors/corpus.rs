//! Reads the queries that a guard must refuse (`hostile/`) and those that it must accept (`honest.sql`, `honest_pages.sql`), each
//! against the scene in `scene.sql` and `scene_evil.sql`.
//!
//! An entry is a line `-- <name>: <reason>` and the query below it, up to the next such line or a heading (`---`).
//! Reasons: function (calls one that is not allowed), relation (reads one outside of content and ugc), type (a reg* type, or a
//! domain whose check calls a function that is not allowed), lock (takes row locks), statement (not one select), syntax (cannot
//! be read), word (the operator's word: a view or a function of a source schema does what its owner says, but writes nothing),
//! bomb (may be accepted, but must be bounded), honest.
//!
//! Characters that would not survive in a file are written in angle brackets, such as `<NUL>`; `__database__` is the name of
//! the database.

const HOSTILE: &[&str] = &[
    include_str!("hostile/attributes.sql"),
    include_str!("hostile/calls.sql"),
    include_str!("hostile/dangerous_calls.sql"),
    include_str!("hostile/relations.sql"),
    include_str!("hostile/types.sql"),
    include_str!("hostile/operators.sql"),
    include_str!("hostile/unseen.sql"),
    include_str!("hostile/statements.sql"),
    include_str!("hostile/spelling.sql"),
    include_str!("hostile/bombs.sql"),
    include_str!("hostile/catalog_1.sql"),
    include_str!("hostile/catalog_2.sql"),
    include_str!("hostile/catalog_3.sql"),
    include_str!("hostile/catalog_4.sql"),
    include_str!("hostile/catalog_5.sql"),
    include_str!("hostile/catalog_6.sql"),
    include_str!("hostile/catalog_7.sql"),
];
const HONEST: &[&str] = &[include_str!("honest.sql"), include_str!("honest_pages.sql")];

/// A query of the corpus.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// What is wrong with it, or `honest`.
    pub reason: &'static str,
    pub sql: String,
}

/// The hostile queries that must be refused.
pub fn hostile() -> Vec<Entry> {
    let mut entries = entries(HOSTILE);
    entries.retain(|entry| !matches!(entry.reason, "bomb" | "word"));
    entries
}

/// Queries that do what views and functions of the source schemas do: that is their owner's word.
pub fn words() -> Vec<Entry> {
    let mut entries = entries(HOSTILE);
    entries.retain(|entry| entry.reason == "word");
    entries
}

/// The honest queries.
pub fn honest() -> Vec<Entry> {
    entries(HONEST)
}

fn entries(files: &[&'static str]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in files.iter().flat_map(|file| file.lines()).filter(|line| !line.starts_with("---")) {
        let heading = line.strip_prefix("-- ").and_then(|heading| heading.split_once(": "));
        match (heading, entries.last_mut()) {
            (Some((name, reason)), _) => entries.push(Entry { name, reason, sql: String::new() }),
            (None, Some(entry)) => {
                entry.sql.push_str(line);
                entry.sql.push('\n');
            }
            (None, None) => {}
        }
    }
    for entry in &mut entries {
        entry.sql = unfold(entry.sql.trim_end());
    }
    entries
}

/// Characters that would not survive in a file are written in angle brackets.
fn unfold(sql: &str) -> String {
    let characters = [
        ("<NUL>", "\0"),
        ("<CR>", "\r"),
        ("<FF>", "\u{c}"),
        ("<TAB>", "\t"),
        ("<NBSP>", "\u{a0}"),
        ("<NEL>", "\u{85}"),
        ("<LSEP>", "\u{2028}"),
        ("<ZWSP>", "\u{200b}"),
        ("<IDSP>", "\u{3000}"),
        ("<BOM>", "\u{feff}"),
    ];
    characters.iter().fold(sql.to_owned(), |sql, (written, meant)| sql.replace(written, meant))
}

#[test]
fn the_corpus_is_as_large_as_it_says() {
    let (hostile, honest) = (hostile(), honest());
    assert!(hostile.len() >= 250, "{}", hostile.len());
    assert!(honest.len() >= 80, "{}", honest.len());
    for reason in ["function", "relation", "type", "lock", "statement"] {
        assert!(hostile.iter().filter(|entry| entry.reason == reason).count() >= 10, "{reason}");
    }
}
