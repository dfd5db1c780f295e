//! `/openapi.json` is true: what it names exists, and what exists is in it.

use std::collections::BTreeSet;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Api, expect};

/// The routes of the contract.
const CONTRACT: &[(&str, &str)] = &[
    ("get", "/health"),
    ("get", "/ready"),
    ("get", "/metrics"),
    ("get", "/api/v1/pipelines"),
    ("post", "/api/v1/pipelines"),
    ("get", "/api/v1/pipelines/{p}"),
    ("patch", "/api/v1/pipelines/{p}"),
    ("delete", "/api/v1/pipelines/{p}"),
    ("post", "/api/v1/pipelines/{p}/run"),
    ("post", "/api/v1/pipelines/{p}/pause"),
    ("post", "/api/v1/pipelines/{p}/cancel"),
    ("post", "/api/v1/pipelines/{p}/reset"),
    ("get", "/api/v1/pipelines/{p}/status"),
    ("get", "/api/v1/pipelines/{p}/state"),
    ("get", "/api/v1/pipelines/{p}/runs"),
    ("get", "/api/v1/runs/{id}"),
    ("post", "/api/v1/runs/{id}/again"),
    ("post", "/api/v1/pipelines/{p}/reconcile"),
    ("post", "/api/v1/pipelines/{p}/preview"),
    ("post", "/api/v1/pipelines/validate"),
    ("get", "/api/v1/reports/{id}"),
    ("get", "/api/v1/pipelines/{p}/dead-letters"),
    ("post", "/api/v1/pipelines/{p}/dead-letters/replay"),
    ("get", "/api/v1/targets"),
    ("post", "/api/v1/targets"),
    ("delete", "/api/v1/targets/{t}"),
    ("get", "/api/v1/transforms"),
    ("get", "/api/v1/workers"),
    ("get", "/api/v1/installation"),
    ("get", "/api/v1/limits"),
    ("put", "/api/v1/limits/{name}"),
    ("delete", "/api/v1/limits/{name}"),
    ("delete", "/api/v1/limits/keys/{pool}"),
    ("get", "/api/v1/calls"),
    ("delete", "/api/v1/calls"),
    ("get", "/api/v1/events"),
];

fn document() -> Value {
    serde_json::to_value(vitrina_api::openapi_document()).unwrap()
}

/// Every `(method, path, operation)`.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(|(method, operation)| (method.clone(), path.clone(), operation.clone()))
    });
    operations.collect()
}

#[test]
fn the_document_is_as_it_was() {
    let mut document = document();
    document["info"]["version"] = json!("of the program");
    insta::assert_json_snapshot!("openapi", document);
}

#[test]
fn every_route_of_the_contract_is_documented_and_no_other() {
    let found: BTreeSet<(String, String)> =
        operations(&document()).into_iter().map(|(method, path, _)| (method, path)).collect();
    let wanted = CONTRACT.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn the_document_is_served_in_both_places() {
    let api = Api::start().await;
    for path in ["/openapi.json", "/api/v1/openapi.json"] {
        assert_eq!(expect(api.raw(Method::GET, path), StatusCode::OK).await, document());
    }
}

#[test]
fn every_operation_has_words_answers_and_problems_of_one_form() {
    for (method, path, operation) in operations(&document()) {
        let name = format!("{method} {path}");
        assert!(operation["summary"].is_string(), "{name} has no summary");
        assert!(operation["operationId"].is_string(), "{name} has no id");
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| status.starts_with('2')), "{name}: {answers:?}");
        for (status, answer) in answers.iter().filter(|(status, _)| status.as_str() >= "400") {
            let content = answer["content"].as_object().unwrap_or_else(|| panic!("{name} {status}"));
            assert_eq!(content.keys().collect::<Vec<_>>(), ["application/problem+json"], "{name} {status}");
        }
    }
}

#[test]
fn names_of_schemas_are_those_that_a_generated_client_can_use() {
    let document = document();
    let usable = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(usable(name) && !name.contains('.'), "{name}");
    }
}

#[test]
fn only_the_probes_are_open_to_everyone() {
    let document = document();
    assert_eq!(document["security"], json!([{"token": []}]));
    for (_, path, operation) in operations(&document) {
        let own = operation.get("security");
        assert_eq!(own.is_some(), !path.starts_with("/api/"), "{path}: {own:?}");
    }
}

#[test]
fn operation_ids_are_unique_and_say_what_the_operation_does_to_what() {
    let operations = operations(&document());
    let ids: BTreeSet<&str> =
        operations.iter().map(|(_, _, operation)| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), operations.len());
    for id in ids {
        let camel_case =
            id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(|c| c.is_ascii_alphabetic());
        assert!(camel_case && id.contains(|c: char| c.is_ascii_uppercase()), "{id} is not a verb and a noun");
    }
}

/// Where a schema is `allOf` without joining several schemas: its members but one only describe.
fn wrappers(place: &str, value: &Value, found: &mut Vec<String>) {
    let describes =
        |member: &&Value| member.as_object().is_some_and(|keys| keys.keys().all(|key| key == "description"));
    if let Some(members) = value["allOf"].as_array()
        && members.iter().filter(|member| !describes(member)).count() < 2
    {
        found.push(place.to_owned());
    }
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, part)| (name.clone(), part)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, part)| (index.to_string(), part)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, part) in parts {
        wrappers(&format!("{place}/{name}"), part, found);
    }
}

#[test]
fn no_schema_is_wrapped_to_be_described() {
    let mut found = Vec::new();
    wrappers("", &document(), &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[tokio::test]
async fn every_documented_operation_exists_and_answers_as_documented() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let run = api.run("genres").await["run_id"].as_str().unwrap().to_owned();
    for (method, path, operation) in operations(&document()) {
        if method == "delete" {
            continue;
        }
        let waits = operation["parameters"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == "wait"));
        let place = path.replace("{p}", "genres").replace("{id}", &run) + if waits { "?wait=0" } else { "" };
        let request = api.raw(method.to_uppercase().parse().unwrap(), &place);
        let request = if operation["requestBody"].is_object() { request.json(&json!({})) } else { request };
        let response = request.send().await.unwrap();
        let status = response.status();
        let documented = operation["responses"].as_object().unwrap();
        assert!(documented.contains_key(status.as_str()), "{method} {place} answered {status}, not in {documented:?}");
        let media_type = response.headers()["content-type"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let content = documented[status.as_str()]["content"].as_object().unwrap();
        assert!(content.contains_key(&media_type), "{method} {place} answered {media_type}, not in {content:?}");
    }
}
