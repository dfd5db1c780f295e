//! Messages without the values of rows that they quote: those are for accounts that may read the rows.
//!
//! PostgreSQL quotes both names and values with `"`, Elasticsearch both with `[]`, so the word before a quotation decides.
//! Only what is known to be a name stays; whatever else is quoted is taken for a value. A value may contain the sign that ends
//! it, and may have been cut off, so it goes on to the last such sign that something known follows, or else to the end.

use std::borrow::Cow;

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
const STATE: &str = " (SQLSTATE ";
/// The classes of the server's own codes, and ours. Under any other, and by `raise` and `assert`, functions and triggers of others
/// say any words, with any values among them.
const CLASSES: &[&str] = &[
    "00", "01", "02", "03", "08", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "10", "20", "21", "22", "23", "24", "25",
    "26", "27", "28", "2B", "2D", "2F", "34", "38", "39", "3B", "3D", "3F", "40", "42", "44", "53", "54", "55", "57",
    "58", "72", "F0", "HV", "P0", "VT", "XX",
];
const RAISED: &[&str] = &["P0001", "P0004"];
/// Around the name of a step, before its own words: any words again.
const STEP: (&str, &str) = ("step `", "` says: ");
const INSTEAD: char = '…';

pub fn without_values(message: &str) -> Cow<'_, str> {
    let is_code = |place: &usize| {
        let code = message.as_bytes().get(place + STATE.len()..place + STATE.len() + 6);
        code.is_some_and(|code| code[..5].iter().all(u8::is_ascii_alphanumeric) && code[5] == b')')
    };
    let (words, state) = message.rfind(STATE).filter(is_code).map_or((message, ""), |place| message.split_at(place));
    let code = state.get(STATE.len()..STATE.len() + 5);
    let is_known = |code| CLASSES.iter().any(|class| str::starts_with(code, class)) && !RAISED.contains(&code);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(cases: &[(&str, &str)]) {
        for (message, shown) in cases {
            assert_eq!(without_values(message), *shown);
        }
    }

    #[test]
    fn values_that_postgresql_quotes_are_taken_out() {
        expect(&[
            (
                "invalid input syntax for type integer: \"4111 \"1111\"\" (SQLSTATE 22P02)",
                "invalid input syntax for type integer: \"…\" (SQLSTATE 22P02)",
            ),
            ("value \"99999999999\" is out of range for type integer", "value \"…\" is out of range for type integer"),
            ("invalid input syntax for type date: \"cut off in the", "invalid input syntax for type date: \"…"),
            ("invalid input syntax for type date: \"cut \"off\" in the", "invalid input syntax for type date: \"…"),
            ("date/time field value out of range: \"2024-13-45\"", "date/time field value out of range: \"…\""),
            (
                "invalid input value for enum mood: \"anna\" (SQLSTATE 22P02)",
                "invalid input value for enum mood: \"…\" (SQLSTATE 22P02)",
            ),
            ("invalid value \"ab\" for \"YYYY\"", "invalid value \"…\""),
            ("time zone \"anna\" not recognized", "time zone \"…\" not recognized"),
            ("malformed array literal: \"{column \"a\" is}\"", "malformed array literal: \"…\""),
            ("Key (id)=(5) already exists.", "Key (id)=(…) already exists."),
            (
                "Key (lower(name), b)=(anna (b), 7) is not present in table \"film\".",
                "Key (lower(name), b)=(…) is not present in table \"film\".",
            ),
            ("Key (r)=([1,5)) conflicts with existing key (r)=([2,6)).", "Key (r)=(…)."),
            (
                "Partition key of the failing row contains (year) = (1979).",
                "Partition key of the failing row contains (…).",
            ),
            ("Failing row contains (1, anna, null). (SQLSTATE 23514)", "Failing row contains (…). (SQLSTATE 23514)"),
            ("Failing row contains (1, anna (b), cut o", "Failing row contains (…"),
            (
                "invalid byte sequence for encoding \"UTF8\": 0xe2 0x28 (SQLSTATE 22021)",
                "invalid byte sequence for encoding \"UTF8\": … (SQLSTATE 22021)",
            ),
            (
                "character with byte sequence 0xe2 0x82 in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"",
                "character with byte sequence … in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"",
            ),
            (
                "invalid input syntax for type integer: \"anna, the last one, here: now\"",
                "invalid input syntax for type integer: \"…\"",
            ),
            ("invalid type: string \"anna\", expected a map", "invalid type: string \"…"),
            ("film anna costs too much (SQLSTATE P0001)", "… (SQLSTATE P0001)"),
            ("film anna is no film (SQLSTATE P0004)", "… (SQLSTATE P0004)"),
            ("patient anna is ill (SQLSTATE MY001)", "… (SQLSTATE MY001)"),
            (
                "invalid input syntax for type integer: \"x (SQLSTATE anna)\"",
                "invalid input syntax for type integer: \"…\"",
            ),
        ]);
    }

    #[test]
    fn values_that_elasticsearch_quotes_are_taken_out() {
        expect(&[
            (
                "failed to parse. Preview of field's value: 'anna@example.org'",
                "failed to parse. Preview of field's value: '…'",
            ),
            (
                "document_parsing_exception: [1:7] failed to parse field [age] of type [long] in document with id 'anna'. Preview of \
                 field's value: 'it's 5'; illegal_argument_exception: For input string: \"it's 5\"",
                "document_parsing_exception: [1:7] failed to parse field [age] of type [long] in document with id '…'; \
                 illegal_argument_exception: For input string: \"…\"",
            ),
            (
                "mapper_parsing_exception: failed to parse field [age] of type [long] in document with id 'anna'; \
                 illegal_argument_exception: For input string: \"5 \"",
                "mapper_parsing_exception: failed to parse field [age] of type [long] in document with id '…'; \
                 illegal_argument_exception: For input string: \"…\"",
            ),
            (
                "failed to parse date field [next week] with format [strict_date_optional_time]",
                "failed to parse date field […]",
            ),
            ("Failed to parse value [anna] as only [true] or [false] are allowed.", "Failed to parse value […"),
            ("Value [40000] is out of range for a short", "Value […] is out of range for a short"),
            ("Numeric value (99999999999) out of range of long", "Numeric value (…) out of range of long"),
            ("Text 'next week' could not be parsed at index 0", "Text '…' could not be parsed at index 0"),
            ("'anna' is not an IP string literal.", "'…' is not an IP string literal."),
            ("[anna]: version conflict, current version [9]", "[…]"),
            (
                "The prefix of the first immense term is: '[72, 101]...', original",
                "The prefix of the first immense term is: '…",
            ),
            ("not numeric at [Source: (byte[])\"{\"a\":\"anna\"}\"; line: 1]", "not numeric at […]"),
        ]);
    }

    #[test]
    fn keys_that_messages_of_ours_name_are_taken_out() {
        expect(&[
            ("row 5, anna: column `mail` is no text", "row …: column `mail` is no text"),
            ("row a: b: column `mail` is no text", "row …: column `mail` is no text"),
            ("row anna, the last one, 7: column `mail` is no text", "row …: column `mail` is no text"),
            (
                "more rows were refused than max_rejects allows; the last one, 5: column `mail` is no text",
                "more rows were refused than max_rejects allows; the last one, …: column `mail` is no text",
            ),
            (
                "more rows were refused than max_rejects allows; the last one: value \"9\" is out of range for type integer",
                "more rows were refused than max_rejects allows; the last one: value \"…\" is out of range for type integer",
            ),
            (
                "Elasticsearch refuses document `anna`: mapper_parsing_exception: failed to parse field [age] of type [long]",
                "Elasticsearch refuses document `…`: mapper_parsing_exception: failed to parse field [age] of type [long]",
            ),
            (
                "Elasticsearch refuses more than 3 documents; the last one, `an`: na`: For input string: \"x\"",
                "Elasticsearch refuses more than 3 documents; the last one, `…`: For input string: \"…\"",
            ),
            (
                "the query returned a row that is not after :after_key, :after_id = {\"2024-01-01 00:00:00+00\",anna}: it would never come to an end",
                "the query returned a row that is not after :after_key, :after_id = {…}: it would never come to an end",
            ),
        ]);
    }

    #[test]
    fn words_of_steps_are_taken_out_whatever_they_are() {
        expect(&[
            ("step `shout` says: anna is too loud", "step `shout` says: …"),
            ("row 5: step `shout` says: anna: too loud", "row …: a step refused it"),
            ("row step `anna` says: x: step `shout` says: y", "row …: a step refused it"),
            (
                "more rows were refused than max_rejects allows; the last one, 5: step `shout` says: anna",
                "more rows were refused than max_rejects allows; the last one, …: a step refused it",
            ),
            ("more rows were refused; the last one: step `shout` says: anna", "…: a step refused it"),
        ]);
        assert_eq!(
            without_values("step `shout`: took longer than a page may"),
            "step `shout`: took longer than a page may"
        );
    }

    #[test]
    fn names_and_everything_else_stay() {
        for message in [
            "column \"name\" does not exist",
            "null value in column \"name\" of relation \"item\" violates not-null constraint (SQLSTATE 23502)",
            "duplicate key value violates unique constraint \"film_dim_pkey\" (SQLSTATE 23505)",
            "value too long for type character varying(10) (SQLSTATE 22001)",
            "cannot cast type integer[] to jsonb",
            "tasks[1].body: the query has no column `x`; it has `y`",
            "dynamic introduction of [title] within [_doc] is not allowed",
            "index [films] blocked by: [FORBIDDEN/12/index read-only / allow delete (api)];",
            "`films` is an index of its own: POST /_reindex {\"source\":{\"index\":\"films\"}}, then PUT /films/_mapping {\"a\":{}}",
            "the query returns several rows for one key of the target: make the key unique in the query",
            "the pipeline's run is paused: let it go on, or cancel it",
            "",
        ] {
            assert!(matches!(without_values(message), Cow::Borrowed(same) if same == message), "{message}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for message in
            ["\"", "'", "[", "({[`\"'", "0x", "…\"ä", "row ", "row x", " (SQLSTATE ", "= (", "the last one, `", "`"]
        {
            assert!(without_values(message).len() <= message.len() + 3, "{message}");
        }
    }
}
