use serde_json::json;

use super::{
    super::{RowDocument, tests::column},
    *,
};

fn http(options: &Value) -> Result<Http, String> {
    Http::of(options.as_object().expect("options are an object"))
}

fn with(changes: &Value) -> Value {
    let mut options = json!({"url": "https://api.example.org/v1/{{ name | urlencode }}", "columns": {"new": {"path": "/a", "type": "text"}}});
    for (name, value) in changes.as_object().expect("changes") {
        options[name] = value.clone();
    }
    options
}

#[test]
fn a_request_is_made_of_a_row_and_equal_rows_make_equal_ones() {
    let step = http(&with(&json!({"body": "{\"n\": {{ n | tojson }}}", "headers": {"X-Name": "{{ name }}"}})))
        .expect("a step");
    let row = |text: &str| RowDocument::parse(text).expect("a row");
    let request = step.templates.for_row(&row(r#"{"name":"a b","n":1.50,"other":1}"#)).expect("a request");
    assert_eq!(request.method, Method::Post);
    assert_eq!(request.url.as_str(), "https://api.example.org/v1/a%20b");
    assert_eq!(request.headers, [("X-Name".to_owned(), "a b".to_owned())]);
    assert_eq!(request.body.as_deref(), Some(r#"{"n": 1.50}"#));
    let again = step.templates.for_row(&row(r#"{"name":"a b","n":1.50,"other":2}"#)).expect("a request");
    assert_eq!(request.digest(), again.digest());
    let changed = step.templates.for_row(&row(r#"{"name":"a b","n":1.5}"#)).expect("a request");
    assert_ne!(request.digest(), changed.digest());
}

#[test]
fn a_value_of_a_row_cannot_choose_the_server_or_add_a_header() {
    for (url, name) in
        [("https://api.example.org/{{ name }}", "//evil.example"), ("https://api.example.org/?q={{ name }}", "x#@evil")]
    {
        let step = http(&with(&json!({"url": url}))).expect(url);
        let row = RowDocument::parse(&json!({"name": name}).to_string()).expect("a row");
        let request = step.templates.for_row(&row).expect("a request");
        assert_eq!(request.url.host_str(), Some("api.example.org"), "{url} {name}");
    }
    let step = http(&with(&json!({}))).expect("a step");
    let plain = http(&with(&json!({"url": "https://api.example.org/files/{{ name }}"}))).expect("a step");
    for name in [".\t./admin", "a b", "\u{a0}"] {
        let row = RowDocument::parse(&json!({"name": name}).to_string()).expect("a row");
        assert!(plain.templates.for_row(&row).expect_err(name).contains("white space or control"), "{name}");
    }
    for name in ["..", "."] {
        let row = RowDocument::parse(&json!({"name": name}).to_string()).expect("a row");
        assert_eq!(step.templates.for_row(&row), Err("url: has `.` or `..` in its path".to_owned()), "{name}");
    }
    let step = http(&with(&json!({"headers": {"X-A": "{{ name }}"}}))).expect("a step");
    let row = RowDocument::parse(r#"{"name":"a\r\nX-B: c"}"#).expect("a row");
    assert_eq!(step.templates.for_row(&row), Err("headers.X-A: the value has control characters".to_owned()));
    for url in [
        "{{ name }}",
        "https://{{ name }}/",
        "https://api.example.org{{ name }}",
        "https://api.example.org:{{ name }}/",
        "ftp://api.example.org/",
        "https://a:b@api.example.org/",
        "https:///{{ name }}",
        "api.example.org/x",
        "{% if name %}https://a/{% endif %}",
    ] {
        assert!(http(&with(&json!({"url": url}))).expect_err(url).starts_with("url: "), "{url}");
    }
}

#[test]
fn columns_are_there_and_new_ones_have_their_types() {
    let step = http(&with(
        &json!({"entity": ["id"], "columns": {"name": {"path": "/a", "type": "bigint"}, "new": {"path": "/b", "type": "text"}}}),
    ));
    let step = step.expect("a step");
    assert_eq!((step.entity(), step.concurrency()), (&["id".to_owned()][..], Some(4)));
    let mut columns = vec![column("id", "integer"), column("name", "text")];
    step.columns(&mut columns).expect("columns");
    let types: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.type_name.as_str())).collect();
    assert_eq!(types, [("id", "integer"), ("name", "bigint"), ("new", "text")]);
    for lacking in [vec![column("id", "integer")], vec![column("name", "text")]] {
        assert!(step.columns(&mut lacking.clone()).expect_err("lacking").starts_with("there is no column"));
    }
}

#[test]
fn several_rows_are_one_call_and_each_is_remembered_by_what_it_contributes() {
    let options = with(&json!({
        "url": "https://api.example.org/", "rows_per_call": 10, "input": ["id", "name"], "answers_at": "/items", "body": "{{ rows | tojson }}",
    }));
    let step = http(&options).expect("a step");
    let rows: Vec<_> = [r#"{"id":1,"name":"a","x":1}"#, r#"{"id":2,"name":"b","x":2}"#]
        .map(|row| RowDocument::parse(row).expect("a row"))
        .into();
    let request = step.templates.for_rows(&rows).expect("a request");
    assert_eq!(request.body.as_deref(), Some(r#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#));
    let other = RowDocument::parse(r#"{"id":1,"name":"a","x":7}"#).expect("a row");
    assert_eq!(step.templates.digest_of(&rows[0]), step.templates.digest_of(&other));
    assert_ne!(step.templates.digest_of(&rows[0]), step.templates.digest_of(&rows[1]));
    let unreadable = RowDocument::parse(r#"{"id":1,"name":{"\ud800":1}}"#).expect("a row");
    let refusal = step.templates.digest_of(&unreadable).expect_err("half of a pair");
    assert_eq!(refusal, "column `name` has json that cannot be read");
}

#[test]
fn wrong_options_are_named() {
    for (changes, expected) in [
        (json!({"columns": {}}), "columns: "),
        (json!({"columns": {"new": {"path": "a", "type": "text"}}}), "columns.new: "),
        (json!({"rows_per_call": 2, "url": "https://a.example/"}), "input: "),
        (json!({"rows_per_call": 2, "input": ["id"]}), "`name`: "),
        (json!({"rows_per_call": 2, "input": ["id"], "url": "https://a.example/"}), "body: "),
        (json!({"rows_per_call": 501, "input": ["id"]}), "rows_per_call: takes 1 to 500"),
        (json!({"input": ["id"]}), "input: "),
        (json!({"timeout_seconds": 0}), "timeout_seconds: "),
        (json!({"concurrency": 65}), "concurrency: "),
        (json!({"max_answer_bytes": 100_000_000}), "max_answer_bytes: "),
        (json!({"limit": "1 a"}), "limit: "),
        (json!({"keys": {"pool": "lower"}}), "keys.pool: "),
        (json!({"keys": {"pool": "A", "header": "Host"}}), "keys.header: "),
        (json!({"keys": {"pool": "A", "prefix": "a\nb"}}), "keys.prefix: "),
        (json!({"headers": {"Content-Length": "1"}}), "headers.Content-Length: "),
        (json!({"headers": {"authorization": "Bearer x"}}), "headers.authorization: "),
        (json!({"classes": [{"contains": "x".repeat(201), "class": "quota"}]}), "classes.0: "),
        (json!({"headers": {"X": "{{ name"}}), "headers.X: "),
        (json!({"body": "{{ name | nothing }}"}), "body: "),
        (json!({"classes": [{"class": "quota"}]}), "classes.0: "),
        (json!({"classes": [{"status": [400], "class": "other"}]}), "classes[0].class: "),
        (json!({"poll": {"id": "/id", "url": "https://a.example/x", "state": "/s", "done": ["d"]}}), "poll.url: "),
        (json!({"poll": {"id": "/id", "url": "https://a.example/{{ id }}", "state": "/s", "done": []}}), "poll.done: "),
        (json!({"health": "localhost"}), "health: "),
        (json!({"what": 1}), "unknown field"),
    ] {
        let refusal = http(&with(&changes)).expect_err(&changes.to_string());
        assert!(refusal.contains(expected), "{changes}: {refusal}");
    }
}

#[test]
fn a_poll_takes_the_id_and_reads_the_state() {
    let options = with(&json!({"poll": {
        "id": "/job/id", "url": "https://api.example.org/jobs/{{ id | urlencode }}?u={{ name }}", "state": "/state", "done": ["ok"], "failed": ["no"],
    }}));
    let poll = http(&options).expect("a step").poll.expect("a poll");
    assert_eq!(poll.id_in(r#"{"job":{"id":17}}"#).as_deref(), Some("17"));
    let long = "12345678901234567890123";
    assert_eq!(poll.id_in(&format!(r#"{{"job":{{"id":{long}}}}}"#)).as_deref(), Some(long));
    assert_eq!(poll.id_in(r#"{"job":{}}"#), None);
    assert_eq!(poll.id_in(r#"{"job":{"id":"a\u0000b"}}"#), None);
    assert_eq!(poll.id_in(r#"{"job":{"id":1,"\ud800":1}}"#), None);
    let row = RowDocument::parse(r#"{"name":"n"}"#).expect("a row");
    let request = poll.request("a/b", &row).expect("a request");
    assert_eq!(request.url.as_str(), "https://api.example.org/jobs/a%2Fb?u=n");
    assert_eq!(poll.state_in(r#"{"state":"ok"}"#).as_deref(), Some("ok"));
}
