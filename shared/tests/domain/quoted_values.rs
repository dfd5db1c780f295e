//! Values are taken out of messages, and names stay.

use std::borrow::Cow;

use vitrina_shared::domain::error_class::without_values;

fn expect(cases: &[(&str, &str)]) {
    for (message, shown) in cases {
        assert_eq!(without_values(message), *shown);
    }
}

#[test]
fn values_without_quotes_and_words_under_codes_of_ours_are_taken_out() {
    expect(&[
        (
            "date field value out of range: 1962-04-31 (SQLSTATE 22008)",
            "date field value out of range: … (SQLSTATE 22008)",
        ),
        ("requested character too large for encoding: 1114112", "requested character too large for encoding: …"),
        ("index 4111 out of valid range, 0..3 (SQLSTATE 2202E)", "index … out of valid range, 0..3 (SQLSTATE 2202E)"),
        ("Anna has it (raised by the query as VT999) (SQLSTATE VT007)", "… (SQLSTATE VT007)"),
        ("Anna has it (SQLSTATE VT004)", "… (SQLSTATE VT004)"),
    ]);
}

#[test]
fn words_of_hooks_are_taken_out_with_what_the_run_failed_with_before() {
    expect(&[
        (
            "hook `shop.refund` of on_failure says: Anna has it (SQLSTATE P0001)",
            "hook `shop.refund` of on_failure says: … (SQLSTATE P0001)",
        ),
        (
            "hook `shop.refund` of on_success says: duplicate key of Anna (SQLSTATE 23505)",
            "hook `shop.refund` of on_success says: … (SQLSTATE 23505)",
        ),
        (
            "Anna is late (SQLSTATE P0001)\nhook `shop.refund` of on_failure says: Anna has it (SQLSTATE 23505)",
            "…; hook `shop.refund` of on_failure says: … (SQLSTATE 23505)",
        ),
        ("hook `Anna` of on_failure says: she has it (SQLSTATE P0001)", "… (SQLSTATE P0001)"),
        ("hook `shop.refund` of Anna says: she has it (SQLSTATE P0001)", "… (SQLSTATE P0001)"),
    ]);
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
