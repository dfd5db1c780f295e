//! Reads `hostile.sql` and `honest.sql`.

/// A query of the corpus.
#[derive(Debug)]
pub struct Entry {
    /// What it is called.
    pub name: &'static str,
    /// What is wrong with it, or `honest`.
    pub reason: &'static str,
    /// Its text.
    pub sql: String,
}

/// The hostile queries that must be refused.
pub fn hostile() -> Vec<Entry> {
    let mut entries = entries(include_str!("hostile.sql"));
    entries.retain(|entry| !matches!(entry.reason, "bomb" | "word"));
    entries
}

/// Queries that do what views and functions of the source schemas do: that is their owner's word.
pub fn words() -> Vec<Entry> {
    let mut entries = entries(include_str!("hostile.sql"));
    entries.retain(|entry| entry.reason == "word");
    entries
}

/// The honest queries.
pub fn honest() -> Vec<Entry> {
    entries(include_str!("honest.sql"))
}

fn entries(file: &'static str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with("---")) {
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
