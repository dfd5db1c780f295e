//! The JSON schema of the options of `http`.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::{
    super::{by_column_schema, pointer::wanted_schema},
    CONCURRENCY, DEADLINE_SECONDS, EVERY_SECONDS, MAX_ANSWER_BYTES, MAX_HEADERS, MAX_RULES, ROWS_PER_CALL,
    TIMEOUT_SECONDS,
    template::MAX_TEMPLATE_BYTES,
};

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["url", "columns"],
        "properties": {
            "url": template("The address, a template over the row's columns behind the host: https://api.example.org/v1?q={{ name | urlencode }}"),
            "method": {"enum": ["GET", "POST", "PUT", "PATCH", "DELETE"], "description": "POST with a body, GET without one, unless this says otherwise"},
            "headers": {
                "type": "object",
                "maxProperties": MAX_HEADERS,
                "additionalProperties": template("The value of a header"),
                "description": "Headers, each a template"
            },
            "body": template("What is sent: {\"text\": {{ name | tojson }}}"),
            "rows_per_call": whole(bounds(&ROWS_PER_CALL), 1, "For how many rows one request asks; above 1 the templates take `rows`, a list"),
            "input": names("The columns that `rows` has, of which a call for several rows is made"),
            "answers_at": {"type": "string", "default": "", "description": "A JSON pointer to the list of answers, one for each of `rows` in their order; the answer itself without one"},
            "columns": by_column_schema(&wanted_schema(), "The columns to set, each by its path in the answer; NULL where the path leads to nothing"),
            "limit": {"type": "string", "description": "The limit that every request takes a token of (PUT /limits/{name})"},
            "keys": keys(),
            "timeout_seconds": whole(bounds(&TIMEOUT_SECONDS), 30, "How long a request may take"),
            "concurrency": whole(bounds(&CONCURRENCY), 4, "How many requests a batch has under way at once"),
            "max_answer_bytes": {"type": "integer", "minimum": 1, "maximum": MAX_ANSWER_BYTES, "default": 1_048_576, "description": "How long an answer may be"},
            "idempotency_header": {"type": ["string", "null"], "default": "Idempotency-Key", "description": "The header in which all attempts of a call send the same id; null where the service knows none"},
            "entity": names("The columns that name what a row is about: one call is remembered for each of it, and without them for each input"),
            "poll": poll(),
            "classes": {"type": "array", "maxItems": MAX_RULES, "items": rule(), "description": "What answers mean, before what their status says; the first that applies counts"},
            "health": {"type": "string", "description": "An address that must answer with a status of 2xx before a run's first batch"}
        }
    })
}

fn bounds<N: Copy + Into<u32>>(range: &RangeInclusive<N>) -> [u32; 2] {
    [(*range.start()).into(), (*range.end()).into()]
}

fn whole([least, most]: [u32; 2], default: u32, description: &str) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most, "default": default, "description": description})
}

fn template(description: &str) -> Value {
    json!({"type": "string", "maxLength": MAX_TEMPLATE_BYTES, "description": description})
}

fn names(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

fn keys() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["pool"],
        "description": "The pool of keys of which every request sends one",
        "properties": {
            "pool": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]{0,62}$", "description": "The keys are the value of the variable VITRINA_KEYS_<pool> in the worker's environment"},
            "header": {"type": "string", "default": "Authorization", "description": "The header that has the key"},
            "prefix": {"type": "string", "default": "", "description": "What stands before the key: `Bearer `"}
        }
    })
}

fn poll() -> Value {
    let states = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "url", "state", "done"],
        "description": "For a service that answers at once with an id, and later with the result",
        "properties": {
            "id": {"type": "string", "description": "A JSON pointer to the id in the first answer"},
            "url": template("Where the result is asked for, a template over `id` and the row's columns"),
            "every_seconds": whole(bounds(&EVERY_SECONDS), 5, "How long to wait between two requests for one result"),
            "deadline_seconds": whole(bounds(&DEADLINE_SECONDS), 360, "How long the service may work on a call"),
            "state": {"type": "string", "description": "A JSON pointer to the state in the answer"},
            "done": states("The states in which the answer has the result"),
            "failed": states("The states in which the service has given up: the row is refused")
        }
    })
}

fn rule() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["class"],
        "properties": {
            "status": {"type": "array", "items": {"type": "integer", "minimum": 200, "maximum": 599}},
            "contains": {"type": "string", "minLength": 1, "description": "Words of the answer, in any case"},
            "class": {"enum": ["temporary", "rate_limited", "quota", "refused"]}
        }
    })
}
