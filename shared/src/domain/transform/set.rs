//! `set`: gives columns a constant or the value of an expression.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::{
    Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind, by_column_schema,
    expression::{Expression, MAX_BYTES, Type},
    named_type, options, some_columns,
    value::{double, fit, fit_float, quoted},
};
use crate::domain::column_type::{Scalar, ScalarType};

pub(super) const KIND: TransformKind = TransformKind {
    name: "set",
    description: "Gives columns, new ones or those that are there, a constant or the value of an expression",
    schema,
    configure,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    columns: BTreeMap<String, Wanted>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// `null` is a constant too.
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
    expression: Option<String>,
    #[serde(rename = "type")]
    made: Option<String>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Debug)]
struct Set {
    columns: Vec<(String, Source)>,
}

#[derive(Debug)]
enum Source {
    /// A value that fits its type, as JSON.
    Constant(String, &'static ScalarType),
    /// Of the type that is given, or of its own.
    Expression(Box<Expression>, Option<&'static ScalarType>),
}

fn schema() -> Value {
    let wanted = json!({
        "type": "object",
        "additionalProperties": false,
        "oneOf": [{"required": ["value"]}, {"required": ["expression"]}],
        "properties": {
            "value": {"description": "A constant"},
            "expression": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_BYTES,
                "description": "An expression in CEL over the columns as they arrive, such as title + ' (' + type + ')'"
            },
            "type": {
                "enum": ScalarType::all_names().collect::<Vec<_>>(),
                "description": "The column's type; text, bigint, double precision or boolean, as the value is, if it is left out"
            }
        }
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["columns"],
        "properties": {"columns": by_column_schema(&wanted, "What each column gets")}
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let Options { columns } = options(given)?;
    some_columns(columns.keys())?;
    let sources = columns.into_iter().map(|(name, wanted)| {
        let source = wanted.source().map_err(|refusal| format!("columns.{name}: {refusal}"))?;
        Ok((name, source))
    });
    let columns = sources.collect::<Result<_, String>>()?;
    Ok(Configured::Row(Box::new(Set { columns })))
}

impl Wanted {
    fn source(self) -> Result<Source, String> {
        let made = self.made.as_deref().map(named_type).transpose()?;
        match (self.value, self.expression) {
            (Some(value), None) => constant(&value, made),
            (None, Some(text)) => Ok(Source::Expression(Box::new(Expression::parse(&text)?), made)),
            _ => Err("give either `value` or `expression`".to_owned()),
        }
    }
}

fn constant(value: &Value, made: Option<&'static ScalarType>) -> Result<Source, String> {
    let own = match value {
        Value::Bool(_) => Some("boolean"),
        Value::String(_) => Some("text"),
        Value::Number(number) if number.is_i64() => Some("bigint"),
        Value::Number(_) => Some("double precision"),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let own = || own.and_then(ScalarType::named).ok_or("give the `type` of this value");
    let made = made.map_or_else(own, Ok)?;
    let json = if made.scalar == Scalar::Json { Some(value.to_string()) } else { fit(&value.to_string(), made.scalar) };
    Ok(Source::Constant(json.ok_or_else(|| format!("the value is no {}", made.name))?, made))
}

impl Source {
    /// The type of the column.
    fn made(&self, columns: &[SourceColumn]) -> Result<&'static ScalarType, String> {
        let (expression, made) = match self {
            Self::Constant(_, made) => return Ok(made),
            Self::Expression(expression, made) => (expression, made),
        };
        let own = match expression.type_of(columns)? {
            Type::Bool => "boolean",
            Type::Int => "bigint",
            Type::Double | Type::Single => "double precision",
            Type::Text => "text",
            Type::Null => "",
            Type::Other => return Err("a column of this type is copied in the query".to_owned()),
        };
        made.or_else(|| ScalarType::named(own)).ok_or_else(|| "give the `type` of this value".to_owned())
    }

    /// The value for a row, as JSON.
    fn value(&self, row: &RowDocument) -> Result<String, String> {
        let (expression, made) = match self {
            Self::Constant(json, _) => return Ok(json.clone()),
            Self::Expression(expression, made) => (expression, made),
        };
        let value = expression.evaluate(row)?;
        let json = json(&value).ok_or("the expression gives no value")?;
        let fitting = match (made, value) {
            (None, _) => Some(json),
            (Some(made), cel::Value::Float(_)) => fit_float(&json, false, made.scalar),
            (Some(made), _) => fit(&json, made.scalar),
        };
        fitting.ok_or_else(|| {
            format!("the expression gives a value that is no {}", made.map_or("value", |made| made.name))
        })
    }
}

/// The value of an expression as JSON.
fn json(value: &cel::Value) -> Option<String> {
    match value {
        cel::Value::Null => Some("null".to_owned()),
        cel::Value::Bool(value) => Some(value.to_string()),
        cel::Value::Int(number) => Some(number.to_string()),
        cel::Value::Float(number) => double(*number),
        cel::Value::String(text) => Some(quoted(text)),
        cel::Value::List(_)
        | cel::Value::Map(_)
        | cel::Value::Function(..)
        | cel::Value::UInt(_)
        | cel::Value::Bytes(_)
        | cel::Value::Opaque(_)
        | cel::Value::Struct(_) => None,
    }
}

impl Transform for Set {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        let arriving = columns.clone();
        for (name, source) in &self.columns {
            let made = source.made(&arriving).map_err(|refusal| format!("columns.{name}: {refusal}"))?;
            let made = SourceColumn::made(name, made);
            match columns.iter_mut().find(|column| column.name == *name) {
                Some(column) => *column = made,
                None => columns.push(made),
            }
        }
        Ok(())
    }

    fn touches(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn is_pure(&self) -> bool {
        true
    }
}

impl RowTransform for Set {
    fn prepare(&mut self, columns: &[SourceColumn]) -> Result<(), String> {
        for (_, source) in &mut self.columns {
            if let Source::Expression(expression, _) = source {
                expression.prepare(columns);
            }
        }
        Ok(())
    }

    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String> {
        let value = |(name, source): &(String, Source)| {
            source.value(row).map_err(|refusal| format!("column `{name}`: {refusal}"))
        };
        // All of them see the row as it arrived.
        let values = self.columns.iter().map(value).collect::<Result<Vec<_>, _>>()?;
        for ((name, _), value) in self.columns.iter().zip(values) {
            row.set_json(name, value)?;
        }
        Ok(Outcome::Kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{applied, column, configure};
    use super::*;

    #[test]
    fn constants_and_expressions_become_columns_of_their_type() {
        let mut set = configure(
            "set",
            json!({"columns": {
                "n": {"expression": "n + 1"},
                "before": {"expression": "n", "type": "text"},
                "country": {"value": "DE"},
                "day": {"value": "2026-02-28", "type": "date"},
                "nothing": {"value": null, "type": "integer"},
                "more": {"value": {"a": [1]}, "type": "jsonb"}
            }}),
        )
        .expect("a set");
        let columns = [column("n", "integer")];
        let mut left = columns.to_vec();
        set.columns(&mut left).expect("set");
        let types: Vec<_> = left.iter().map(|column| format!("{} {}", column.name, column.type_name)).collect();
        assert_eq!(types, ["n bigint", "before text", "country text", "day date", "more jsonb", "nothing integer"]);
        let row = applied(&mut set, &columns, r#"{"n":1}"#);
        let expected = r#"{"before":"1","country":"DE","day":"2026-02-28","more":{"a":[1]},"n":2,"nothing":null}"#;
        assert_eq!(row, Ok(Some(expected.to_owned())));
    }

    #[test]
    fn a_value_that_does_not_fit_its_type_is_refused_or_rejects_its_row() {
        for (wanted, expected) in [
            (json!({"value": "x", "type": "integer"}), "columns.a: the value is no integer"),
            (json!({"value": null}), "columns.a: give the `type`"),
            (json!({}), "columns.a: give either `value` or `expression`"),
            (json!({"value": 1, "expression": "1"}), "columns.a: give either `value` or `expression`"),
            (json!({"expression": "1 +"}), "columns.a: it is no expression"),
            (json!({"value": 1, "type": "money"}), "columns.a: `money` is no type"),
        ] {
            let refusal = configure("set", json!({"columns": {"a": wanted}})).expect_err(expected);
            assert!(refusal.starts_with(expected), "{refusal}");
        }
        let columns = [column("n", "integer")];
        let mut set =
            configure("set", json!({"columns": {"a": {"expression": "n * 1000", "type": "smallint"}}})).expect("a set");
        assert_eq!(applied(&mut set, &columns, r#"{"n":3}"#), Ok(Some(r#"{"a":3000,"n":3}"#.to_owned())));
        let refusal = applied(&mut set, &columns, r#"{"n":33}"#).expect_err("33000");
        assert_eq!(refusal, "column `a`: the expression gives a value that is no smallint");
        let untyped = configure("set", json!({"columns": {"a": {"expression": "null"}}})).expect("a set");
        assert!(untyped.columns(&mut columns.to_vec()).expect_err("null").starts_with("columns.a: give the `type`"));
    }
}
