//! What holds of every step that a deployment has, tried with an example of each.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use vitrina_shared::{
    config::{Env, WorkerConfig},
    domain::{
        PipelineId, SourceColumn, Task, TaskKind,
        column_type::Scalar,
        transform::{self, Configured, RowDocument, TransformKind},
    },
};

use super::{Arriving, ProcessedRow, Sequence, StepContext, StepRegistry};

/// Options of every step: at least one example of each, every option in one of them, and each names the column `text`, `doc` or
/// `n`.
fn examples() -> Vec<(&'static str, Value)> {
    vec![
        ("cast", json!({"columns": {"text": "integer", "n": "text"}})),
        ("cast", json!({"columns": {"text": "timestamptz"}})),
        ("filter", json!({"where": "text != null && n > 5"})),
        ("hash", json!({"columns": ["text", "n"], "pool": "PEOPLE"})),
        ("json_extract", json!({"column": "doc", "columns": {"new": {"path": "/a/0", "type": "numeric"}}})),
        ("json_extract", json!({"column": "doc", "columns": {"new": {"path": "/a", "type": "jsonb"}}})),
        ("mask", json!({"columns": ["text"], "show_last": 2})),
        ("rename", json!({"columns": {"text": "label"}})),
        ("select", json!({"keep": ["id", "text"]})),
        ("select", json!({"remove": ["text"]})),
        ("set", json!({"columns": {"new": {"value": 1}, "text": {"expression": "text + '!'", "type": "varchar"}}})),
        ("set", json!({"columns": {"n": {"expression": "n * 2"}}})),
        ("trim", json!({"columns": ["text"], "side": "left", "characters": " S", "empty_as_null": true})),
    ]
}

fn registry() -> StepRegistry {
    let config: WorkerConfig =
        Env::from_pairs([("VITRINA_KEYS_PEOPLE", "0123456789abcdef")]).read().expect("good settings");
    StepRegistry::default().with_keys(config.keys)
}

fn kind(name: &str) -> TransformKind {
    *registry().transforms().find(name).expect(name)
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn configured(name: &str, options: &Value) -> Configured {
    (kind(name).configure)(&object(options)).expect(name)
}

fn columns() -> Vec<SourceColumn> {
    let types = [("id", "bigint"), ("text", "text"), ("n", "integer"), ("doc", "jsonb"), ("other", "interval")];
    let column = |(name, type_name): (&str, &str)| SourceColumn {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        ..SourceColumn::default()
    };
    types.into_iter().map(column).collect()
}

fn document(text: &str) -> RowDocument {
    RowDocument::parse(text).expect("a row")
}

/// The columns that leave a step, and those that it touches.
fn declare(
    name: &str,
    options: &Value,
    arriving: &[SourceColumn],
) -> Result<(Vec<SourceColumn>, BTreeSet<String>), String> {
    let step = configured(name, options);
    let mut leaving = arriving.to_vec();
    step.declared().columns(&mut leaving)?;
    let touched = transform::touched(step.declared(), arriving, &leaving);
    Ok((leaving, touched))
}

fn sequence(name: &str, options: &Value) -> Sequence {
    let task = Task {
        order_index: 2,
        task_type: TaskKind::Rust,
        body: name.to_owned(),
        target_table: None,
        options: object(options),
    };
    let (leaving, _) = declare(name, options, &columns()).expect(name);
    let arriving = Arriving { stages: &[columns(), leaving], arrays_as_text: true };
    registry().sequence(&[task], &["id".to_owned()], arriving).expect(name)
}

fn run(sequence: &Sequence, rows: &[Value]) -> Vec<ProcessedRow> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let context = StepContext {
            pipeline: PipelineId::generate(),
            name: "p".to_owned(),
            id: Uuid::nil(),
            correlation_id: String::new(),
            cancelled: CancellationToken::new(),
            max_row_bytes: 1 << 30,
            deadline: tokio::time::Instant::now() + std::time::Duration::from_secs(600),
            counts: Default::default(),
        };
        let docs = rows.iter().map(Value::to_string).collect();
        sequence.run(&context, docs).await.expect("no error of the whole block").rows
    })
}

/// Whether a value is one that PostgreSQL would write for the type.
fn is_of(value: &Value, made: &SourceColumn) -> bool {
    let Some(scalar) = made.value_type().scalar() else { return true };
    value.is_null()
        || match scalar {
            Scalar::Smallint | Scalar::Integer | Scalar::Bigint => value.is_i64(),
            Scalar::Numeric | Scalar::Real | Scalar::Double => value.is_number(),
            Scalar::Boolean => value.is_boolean(),
            Scalar::Text | Scalar::Uuid | Scalar::Date | Scalar::Timestamp | Scalar::ZonedTimestamp => {
                value.is_string()
            }
            Scalar::Json => true,
        }
}

/// Takes rows through a step and holds what comes out against what the step declares.
fn check(name: &str, options: &Value, rows: &[Value]) {
    let step = configured(name, options);
    let (declared, touched) = declare(name, options, &columns()).expect(name);
    let sequence = sequence(name, options);
    let processed = run(&sequence, rows);
    assert_eq!(processed.len(), rows.len(), "{name}");
    if step.declared().is_pure() {
        assert_eq!(processed, run(&sequence, rows), "{name}: a pure step gives the same result twice");
    }
    for (row, outcome) in rows.iter().zip(processed) {
        match outcome {
            ProcessedRow::Passed(doc) => {
                let passed: Value = serde_json::from_str(&doc).expect("JSON");
                let (before, after) = (document(&row.to_string()), document(&doc));
                assert_eq!(after.raw("id"), before.raw("id"), "{name}: the key stays");
                let mut left: Vec<_> = passed.as_object().expect("an object").keys().collect();
                let mut names: Vec<_> = declared.iter().map(|column| &column.name).collect();
                left.sort();
                names.sort();
                assert_eq!(left, names, "{name} {options}");
                for column in declared.iter().filter(|column| touched.contains(&column.name)) {
                    let value = &passed[&column.name];
                    let is_given = object(row).keys().any(|name| before.raw(name) == after.raw(&column.name));
                    assert!(is_given || is_of(value, column), "{name} {options}: {passed} has no {column:?}");
                }
                for column in declared.iter().filter(|column| !touched.contains(&column.name)) {
                    assert_eq!(after.raw(&column.name), before.raw(&column.name), "{name} {options}: not touched");
                }
            }
            ProcessedRow::Rejected { doc, reason } => {
                assert_eq!(doc, row.to_string(), "{name}: a rejected row is as it came");
                assert!(!reason.is_empty() && !reason.contains("SECRET"), "{name}: {reason}");
            }
            ProcessedRow::Dropped => assert!(step.declared().drops_rows(), "{name}"),
        }
    }
}

/// Every object in a schema says that it has no other fields, or which ones.
fn closed(schema: &Value) -> bool {
    let own = schema["type"] != "object" || schema.get("additionalProperties").is_some();
    let inner = |value: &Value| match value {
        Value::Object(fields) => fields.values().all(closed),
        Value::Array(items) => items.iter().all(closed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    own && inner(schema)
}

#[test]
fn every_step_has_an_example_of_every_option() {
    // `http` needs a service, which `worker/tests/engine/calls.rs` has.
    for kind in registry().transforms().kinds().iter().filter(|kind| kind.name != "http") {
        let schema = (kind.schema)();
        let named: BTreeSet<_> = examples()
            .iter()
            .filter(|(name, _)| *name == kind.name)
            .flat_map(|(_, options)| object(options))
            .map(|(name, _)| name)
            .collect();
        let options: BTreeSet<_> = object(&schema["properties"]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(named, options, "{}", kind.name);
    }
}

#[test]
fn every_step_describes_its_options_and_refuses_others() {
    for (name, options) in examples() {
        let schema = (kind(name).schema)();
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(schema["additionalProperties"], false, "{name}");
        assert!(closed(&schema), "{name}: {schema}");
        let mut with_another = object(&options);
        with_another.insert("colour".to_owned(), json!("red"));
        let refusal = (kind(name).configure)(&with_another).expect_err(name);
        assert!(refusal.contains("colour"), "{name}: {refusal}");
        assert!(!kind(name).description.is_empty(), "{name}");
    }
}

#[test]
fn every_step_names_the_columns_that_are_there_where_its_own_is_not() {
    let others: Vec<_> = columns().into_iter().filter(|column| ["id", "other"].contains(&&*column.name)).collect();
    for (name, options) in examples() {
        let refusal = declare(name, &options, &others).expect_err(name);
        assert!(refusal.contains("there is id, other"), "{name}: {refusal}");
    }
}

#[test]
fn every_step_declares_the_columns_that_its_rows_have_and_leaves_the_key() {
    let rows = [
        json!({"id": 1, "text": "SECRET 12 ", "n": 7, "doc": {"a": [1.5]}, "other": "1 day"}),
        json!({"id": 2, "text": "12", "n": -7, "doc": {"a": [null]}, "other": null}),
        json!({"id": 3, "text": null, "n": null, "doc": null, "other": null}),
        json!({"id": 4, "text": "2026-01-01 12:00:00+01", "n": 2_147_483_647, "doc": [], "other": "1 day"}),
    ];
    for (name, options) in examples() {
        let (_, touched) = declare(name, &options, &columns()).expect(name);
        assert!(!touched.contains("id"), "{name}");
        assert!(name == "filter" || !touched.is_empty(), "{name}");
        check(name, &options, &rows);
        check(name, &options, &[]);
        let passed = run(&sequence(name, &options), &rows);
        assert!(passed.iter().any(|row| matches!(row, ProcessedRow::Passed(_))), "{name} {options}: no row passes");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "SECRET\\PC{0,8}".prop_map(Value::from),
        "[ 0-9eE.:+TZ-]{0,24}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c0]", inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_step_panics_on_any_row_or_quotes_its_values(
        rows in prop::collection::vec((any_json(), any_json(), any_json(), any_json()), 1..4)
    ) {
        let row = |(id, (text, n, doc, other)): (usize, (Value, Value, Value, Value))| {
            json!({"id": id, "text": text, "n": n, "doc": doc, "other": other})
        };
        let rows: Vec<_> = rows.into_iter().enumerate().map(row).collect();
        for (name, options) in examples() {
            check(name, &options, &rows);
        }
    }
}
