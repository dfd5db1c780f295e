//! What becomes of values that JSON, or Elasticsearch, has trouble with.

use serde_json::{Value, json};
use vitrina_worker::elasticsearch::{Action, Document};

use crate::support::{Corner, columns, run, write_with};

#[tokio::test]
async fn every_kind_of_value_has_its_outcome() {
    let Some(corner) = Corner::new() else { return };
    let columns = columns(&[
        ("real", "double precision"),
        ("amount", "numeric"),
        ("whole", "integer"),
        ("day", "date"),
        ("at", "timestamp with time zone"),
        ("code", "uuid"),
        ("text", "text"),
        ("doc", "jsonb"),
        ("list", "integer[]"),
        ("ok", "boolean"),
        ("raw", "bytea"),
    ]);
    let long = "ж".repeat(40_000);
    let nested = format!("{}1{}", "[".repeat(50), "]".repeat(50));
    let cases: Vec<(String, Option<&str>)> = vec![
        (r#"{"real":1.5,"amount":12345678901234.5,"whole":7,"ok":true,"list":[1,null,3]}"#.into(), None),
        (r#"{"real":"NaN"}"#.into(), Some("finite")),
        (r#"{"real":"Infinity"}"#.into(), Some("finite")),
        (r#"{"amount":1e400}"#.into(), Some("finite")),
        // More digits than a double has come as text: searched as a double, kept as they are.
        (r#"{"amount":"12345678901234567890.123456789"}"#.into(), None),
        (r#"{"whole":12345678901}"#.into(), Some("out of range")),
        (r#"{"day":"1895-12-28"}"#.into(), None),
        (r#"{"day":"infinity"}"#.into(), Some("failed to parse date")),
        (r#"{"day":"0044-03-15 BC"}"#.into(), Some("failed to parse date")),
        (r#"{"at":"2026-01-01T00:00:01.123456+00:00"}"#.into(), None),
        (r#"{"at":"1895-12-28T00:00:01.123456+00:00"}"#.into(), None),
        (r#"{"at":"12026-01-01T00:00:00+00:00"}"#.into(), Some("failed to parse date")),
        (r#"{"code":"6f1f1e7a-0000-4000-8000-000000000001"}"#.into(), None),
        (format!(r#"{{"text":"{long}"}}"#), None),
        (format!(r#"{{"code":"{long}"}}"#), None),
        (format!(r#"{{"raw":"\\x{}"}}"#, "00".repeat(40_000)), None),
        (r#"{"text":"line\nfeed\u0000 and a \ud83c\udfac pair"}"#.into(), None),
        (r#"{"doc":{"half":"\ud800","nothing":null}}"#.into(), None),
        (r#"{"doc":[1,"two",{"three":3}]}"#.into(), None),
        (format!(r#"{{"doc":{nested}}}"#), None),
        ("{\"doc\":{\n  \"indented\": 1\n}}".into(), None),
        (r#"{"doc":{"a":1,"a":2}}"#.into(), Some("Duplicate field")),
        (r#"{"unknown":1}"#.into(), Some("strict")),
    ];
    let endpoint = corner.index(json!({})).prepare(run(), &columns, false).await.unwrap().endpoint;
    let documents = cases.iter().enumerate().map(|(n, (body, _))| Document {
        id: n.to_string(),
        version: None,
        body: body.clone(),
    });
    let written = write_with(&endpoint, Action::Replace, cases.len() as u64, documents).await.unwrap();
    for (n, (body, refusal)) in cases.iter().enumerate() {
        let rejected = written.rejected.iter().find(|rejected| rejected.id == n.to_string());
        let reason = rejected.map(|rejected| rejected.error.as_str());
        match (reason, refusal) {
            (None, None) => {}
            (Some(reason), Some(expected)) => assert!(reason.contains(expected), "{body}: {reason}"),
            (reason, refusal) => panic!("{body:.80}: {reason:?} instead of {refusal:?}"),
        }
    }
}

#[tokio::test]
async fn timestamps_are_found_and_sorted_by_their_microseconds() {
    let Some(corner) = Corner::new() else { return };
    let columns = columns(&[("at", "timestamp with time zone")]);
    let endpoint = corner.index(json!({})).prepare(run(), &columns, false).await.unwrap().endpoint;
    let times = ["2026-01-01T00:00:01.123457+00:00", "2026-01-01T00:00:01.123456+00:00", "1895-12-28T00:00:01.5+00:00"];
    let documents = times.iter().enumerate().map(|(n, at)| Document {
        id: n.to_string(),
        version: None,
        body: json!({"at": at}).to_string(),
    });
    write_with(&endpoint, Action::Upsert, 0, documents).await.unwrap();
    assert_eq!(corner.documents().await["1"]["at"], times[1]);
    let found = |query: Value| {
        let corner = &corner;
        async move {
            let hits = corner.put(reqwest::Method::POST, &format!("{}/_search", corner.name), &query).await;
            let hits = hits["hits"]["hits"].as_array().unwrap().clone();
            hits.iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        }
    };
    assert_eq!(found(json!({"sort": [{"at.nanos": {"order": "asc", "missing": "_first"}}]})).await, ["2", "1", "0"]);
    assert_eq!(found(json!({"query": {"range": {"at.nanos": {"gt": times[1]}}}})).await, ["0"]);
    assert_eq!(found(json!({"query": {"range": {"at": {"lt": "1900-01-01"}}}})).await, ["2"]);
}
