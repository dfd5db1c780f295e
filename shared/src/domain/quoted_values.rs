//! Messages without the values of rows that they quote: those are for accounts that may read the rows.
//!
//! PostgreSQL quotes both names and values with `"`, Elasticsearch both with `[]`, so the word before a quotation decides.
//! Only what is known to be a name stays; whatever else is quoted is taken for a value. A value may contain the sign that ends
//! it, and may have been cut off, so it goes on to the last such sign that something known follows, or else to the end.

use std::borrow::Cow;

use super::{HookEvent, hooks::is_function_name};

/// Words before `"` that make a name of what follows.
const NAMED: &[&str] = &[
    "account",
    "class",
    "collation",
    "column",
    "constraint",
    "database",
    "domain",
    "encoding",
    "extension",
    "function",
    "index",
    "language",
    "method",
    "operator",
    "parameter",
    "policy",
    "relation",
    "role",
    "rule",
    "schema",
    "sequence",
    "server",
    "table",
    "tablespace",
    "trigger",
    "type",
    "user",
    "view",
];
/// Words before `[` that do the same in Elasticsearch.
const BRACKETED: &[&str] = &[
    "action",
    "alias",
    "analyzer",
    "by:",
    "cluster",
    "field",
    "fields",
    "for",
    "format",
    "index",
    "indices",
    "mapping",
    "node",
    "of",
    "parameter",
    "privileges",
    "property",
    "role",
    "roles",
    "setting",
    "shard",
    "type",
    "user",
    "within",
];
/// What servers say after a value.
const TAILS: &[&str] = &[
    " already exists",
    " conflicts with",
    " could not be parsed",
    " for ",
    " is not",
    " is out of range",
    " not recognized",
    " out of range",
    ". Preview of",
    "; ",
    ": it would never",
];
/// How messages of ours begin that name a row by its key.
const KEYED: &[(&str, &str)] = &[("refuses document `", "`: "), ("the last one, `", "`: "), ("the last one, ", ": ")];
/// What servers say before a value without quotes, which goes on to the end.
const UNQUOTED: &[&str] = &["out of range: ", "too large for encoding: "];
/// What PostgreSQL says after the place that a query has asked for, in bytes.
const OUT_OF_RANGE: &str = " out of valid range";
const STATE: &str = " (SQLSTATE ";
/// The classes of the server's own codes. Under any other, by `raise` and `assert`, and under ours that repeat what a query has said,
/// functions and triggers of others say any words, with any values among them.
const CLASSES: &[&str] = &[
    "00", "01", "02", "03", "08", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "10", "20", "21", "22", "23", "24", "25",
    "26", "27", "28", "2B", "2D", "2F", "34", "38", "39", "3B", "3D", "3F", "40", "42", "44", "53", "54", "55", "57",
    "58", "72", "F0", "HV", "P0", "XX",
];
const RAISED: &[&str] = &["P0001", "P0004"];
/// Around the name of a step, before its own words: any words again.
const STEP: (&str, &str) = ("step `", "` says: ");
/// Before the name of a hook, and before its own words.
const HOOK: &str = "hook `";
const SAYS: &str = " says: ";
const INSTEAD: char = '…';

pub fn without_values(message: &str) -> Cow<'_, str> {
    let is_code = |place: &usize| {
        let code = message.as_bytes().get(place + STATE.len()..place + STATE.len() + 6);
        code.is_some_and(|code| code[..5].iter().all(u8::is_ascii_alphanumeric) && code[5] == b')')
    };
    let (words, state) = message.rfind(STATE).filter(is_code).map_or((message, ""), |place| message.split_at(place));
    let code = state.get(STATE.len()..STATE.len() + 5);
    let is_known = |code| CLASSES.iter().any(|class| str::starts_with(code, class)) && !RAISED.contains(&code);
    if let Some(shown) = said_by_a_hook(words) {
        return Cow::Owned(shown + state);
    }
    if code.is_some_and(|code| !is_known(code)) {
        return Cow::Owned(format!("{INSTEAD}{state}"));
    }
    if let Some(shown) = said_by_a_step(words) {
        return Cow::Owned(shown);
    }
    let (mut shown, mut at) = (String::new(), 0);
    while let Some((begins, ends)) = next_value(words, at) {
        shown.push_str(&words[at..begins]);
        shown.push(INSTEAD);
        // The sign that ends a value opens none.
        let closing = words[ends..].chars().next();
        shown.extend(closing);
        at = ends + closing.map_or(0, char::len_utf8);
    }
    if at == 0 && shown.is_empty() {
        return Cow::Borrowed(message);
    }
    Cow::Owned(shown + &words[at..] + state)
}

/// What stays of a message with a hook's own words: which one it was. What a run failed with before its hooks did goes too.
fn said_by_a_hook(words: &str) -> Option<String> {
    let (before, after) = words.split_once(HOOK)?;
    let (name, after) = after.split_once("` of ")?;
    let (event, _) = after.split_once(SAYS)?;
    let is_hook = is_function_name(name) && event.parse::<HookEvent>().is_ok();
    let before = if before.is_empty() { "" } else { "…; " };
    is_hook.then(|| format!("{before}{HOOK}{name}` of {event}{SAYS}{INSTEAD}"))
}

/// What stays of a message with a step's own words: its name, unless a row's key comes before it, which may contain anything.
fn said_by_a_step(words: &str) -> Option<String> {
    let says = words.find(STEP.1).filter(|_| words.contains(STEP.0))?;
    if words.starts_with(STEP.0) {
        return Some(format!("{}{INSTEAD}", &words[..says + STEP.1.len()]));
    }
    let begins = key(words).map_or(0, |(begins, _)| begins);
    Some(format!("{}{INSTEAD}: a step refused it", &words[..begins]))
}

/// Where the first value after `from` begins and ends.
fn next_value(words: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    if from == 0
        && let Some(value) = key(words)
    {
        return Some(value);
    }
    while let Some(c) = words[at..].chars().next() {
        let (before, inside) = (&words[..at], at + c.len_utf8());
        let name_ends = |sign: char| words[inside..].find(sign).map_or(words.len(), |place| inside + place + 1);
        at = match c {
            '`' => name_ends('`'),
            _ if c != '"' && UNQUOTED.iter().any(|words| before.ends_with(words)) => return Some((at, words.len())),
            '0'..='9' if before.ends_with("index ") && words[at + digits(&words[at..])..].starts_with(OUT_OF_RANGE) => {
                return Some((at, at + digits(&words[at..])));
            }
            '"' if names(before, NAMED) => name_ends('"'),
            '"' => return Some((inside, value_end(words, inside, '"'))),
            '\'' if !follows_a_letter(before) => return Some((inside, value_end(words, inside, '\''))),
            '[' if follows_a_letter(before) || is_place(&words[inside..]) => inside,
            '[' if names(before, BRACKETED) && !before.ends_with("date field ") => name_ends(']'),
            '[' => return Some((inside, value_end(words, inside, ']'))),
            '(' if ["=", "= ", "contains ", "value "].iter().any(|form| before.ends_with(form)) => {
                return Some((inside, value_end(words, inside, ')')));
            }
            // The body of a request that a message proposes.
            '{' if last_word(before).starts_with('/') => words.rfind('}').map_or(words.len(), |place| place + 1),
            '{' => return Some((inside, value_end(words, inside, '}'))),
            '0' if words[at..].starts_with("0x") && !follows_a_letter(before) => {
                return Some((at, bytes_end(words, at)));
            }
            _ => inside,
        };
    }
    None
}

/// The key of a row that a message of ours names before it quotes anything.
fn key(words: &str) -> Option<(usize, usize)> {
    // A message that begins with the row has its key there, whatever that contains.
    let first = words.starts_with("row ").then_some(("row ".len(), ": "));
    let (begins, closing) = first.or_else(|| {
        KEYED.iter().find_map(|(opening, closing)| {
            let place = words.find(opening).filter(|place| !words[..*place].contains(['"', '\'', '[', '(', '{']))?;
            Some((place + opening.len(), *closing))
        })
    })?;
    let ends = words[begins..].rfind(closing).map_or(words.len(), |place| begins + place);
    Some((begins, ends))
}

fn value_end(words: &str, begins: usize, sign: char) -> usize {
    let closes = |place: &usize| {
        let after = &words[place + sign.len_utf8()..];
        after.is_empty() || after == "." || TAILS.iter().any(|tail| after.starts_with(tail))
    };
    let places = words[begins..].rmatch_indices(sign).map(|(place, _)| begins + place);
    places.into_iter().find(closes).unwrap_or(words.len())
}

/// The end of bytes such as `0xe2 0x82`.
fn bytes_end(words: &str, begins: usize) -> usize {
    let bytes = words[begins..].split_inclusive(' ').take_while(|word| word.starts_with("0x"));
    let length: usize = bytes.map(str::len).sum();
    begins + words[begins..][..length].trim_end().len()
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

/// Whether this is a line and a column, as in `[1:7]`.
fn is_place(inside: &str) -> bool {
    let place = inside.split_once(']').and_then(|(place, _)| place.split_once(':'));
    place.is_some_and(|(line, column)| line.parse::<u32>().is_ok() && column.parse::<u32>().is_ok())
}

fn last_word(before: &str) -> &str {
    before.strip_suffix(' ').and_then(|text| text.rsplit(' ').next()).unwrap_or_default()
}

fn names(before: &str, nouns: &[&str]) -> bool {
    nouns.contains(&last_word(before))
}

fn follows_a_letter(before: &str) -> bool {
    before.chars().next_back().is_some_and(char::is_alphanumeric)
}
