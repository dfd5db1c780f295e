//! `cast`: gives columns another type and keeps their values.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind, by_column_schema, column,
    named_type, options, some_columns,
    value::{fit, fit_float},
};
use crate::domain::column_type::{Scalar, ScalarType};

pub(super) const KIND: TransformKind = TransformKind {
    name: "cast",
    description: "Gives columns another type; a row with a value that does not fit is rejected",
    schema,
    configure,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    columns: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Cast {
    columns: BTreeMap<String, &'static ScalarType>,
    /// Columns of floating-point numbers among them, as they arrive, and whether they are `real`.
    floats: BTreeMap<String, bool>,
}

fn schema() -> Value {
    let types = json!({"type": "string", "enum": ScalarType::all_names().collect::<Vec<_>>()});
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["columns"],
        "properties": {"columns": by_column_schema(&types, "The new type of each column")}
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let given: Options = options(given)?;
    some_columns(given.columns.keys())?;
    let named = |(column, name): (String, String)| {
        named_type(&name).map(|made| (column.clone(), made)).map_err(|refusal| format!("columns.{column}: {refusal}"))
    };
    let columns: Result<_, String> = given.columns.into_iter().map(named).collect();
    Ok(Configured::Row(Box::new(Cast { columns: columns?, floats: BTreeMap::new() })))
}

/// Whether values of a column can become values of the type. What cannot be told apart by its JSON is left to SQL.
fn can_become(from: &SourceColumn, to: Scalar) -> bool {
    use Scalar::{
        Bigint, Boolean, Date, Double, Integer, Numeric, Real, Smallint, Text, Timestamp, Uuid, ZonedTimestamp,
    };
    let from_type = from.value_type();
    if from.own_type().can_be_masked() || from_type.can_be_masked() {
        // SQL takes the blanks at the end of a `character(n)` away, which JSON has.
        return to != Text || !from_type.is_single("character");
    }
    match (from_type.scalar(), to) {
        (Some(Smallint | Integer | Bigint), Boolean) | (Some(Boolean), Smallint | Integer | Bigint) => true,
        (
            Some(Smallint | Integer | Bigint | Numeric | Real | Double),
            Smallint | Integer | Bigint | Numeric | Real | Double | Text,
        ) => true,
        (Some(Boolean | Uuid | Date), Text) => true,
        // Their text depends on the session that writes it.
        (Some(Timestamp | ZonedTimestamp), Text) => false,
        (Some(from), to) => from == to,
        // Enums, intervals and the like have a text of their own.
        (None, Text) => !from_type.is_array() && !from_type.is_json() && from_type.survives_json(),
        (None, _) => false,
    }
}

impl Transform for Cast {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        for (name, to) in &self.columns {
            let found = column(columns, name)?;
            if !can_become(found, to.scalar) {
                return Err(format!(
                    "column `{name}` is {}, which no step makes {} of: cast it in the query",
                    found.type_name, to.name
                ));
            }
            let nullable = found.nullable;
            *found = SourceColumn { nullable, ..SourceColumn::made(name, to) };
        }
        Ok(())
    }

    fn touches(&self) -> Vec<&str> {
        self.columns.keys().map(String::as_str).collect()
    }

    fn is_pure(&self) -> bool {
        true
    }
}

impl RowTransform for Cast {
    fn prepare(&mut self, columns: &[SourceColumn]) -> Result<(), String> {
        let floats = columns.iter().filter_map(|column| match column.value_type().scalar() {
            Some(Scalar::Real) => Some((column.name.clone(), true)),
            Some(Scalar::Double) => Some((column.name.clone(), false)),
            Some(_) | None => None,
        });
        self.floats = floats.filter(|(name, _)| self.columns.contains_key(name)).collect();
        Ok(())
    }

    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String> {
        for (name, to) in &self.columns {
            let Some(raw) = row.raw(name) else { continue };
            let fitting = match self.floats.get(name) {
                Some(single) => fit_float(raw, *single, to.scalar),
                None if to.scalar == Scalar::Json && !raw.starts_with('"') => Some(raw.to_owned()),
                None => fit(raw, to.scalar),
            };
            let json = fitting.ok_or_else(|| format!("column `{name}` has a value that is no {}", to.name))?;
            row.set_json(name, json)?;
        }
        Ok(Outcome::Kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{applied, column, configure};
    use super::*;

    #[test]
    fn columns_get_their_type_and_rows_that_do_not_fit_are_rejected() {
        let mut cast = configure("cast", json!({"columns": {"n": "int", "t": "text"}})).expect("a cast");
        let columns = [column("id", "bigint"), column("n", "text"), column("t", "numeric(3,1)")];
        let mut left = columns.to_vec();
        cast.columns(&mut left).expect("cast");
        let types: Vec<_> = left.iter().map(|column| (column.type_name.as_str(), column.type_oid)).collect();
        assert_eq!(types, [("bigint", 25), ("integer", 23), ("text", 25)]);
        let row = applied(&mut cast, &columns, r#"{"id":1,"n":"12","t":7.50}"#);
        assert_eq!(row, Ok(Some(r#"{"id":1,"n":12,"t":"7.50"}"#.to_owned())));
        let refusal = applied(&mut cast, &columns, r#"{"id":1,"n":"a secret","t":null}"#).expect_err("no number");
        assert_eq!(refusal, "column `n` has a value that is no integer");
    }

    #[test]
    fn a_float_has_the_same_value_as_the_one_that_an_expression_gives() {
        let columns = [column("r", "real")];
        let row = r#"{"r":0.1}"#;
        let mut cast = configure("cast", json!({"columns": {"r": "float8"}})).expect("a cast");
        let mut set = configure("set", json!({"columns": {"r": {"expression": "r"}}})).expect("a set");
        let expected = Ok(Some(r#"{"r":0.10000000149011612}"#.to_owned()));
        assert_eq!(applied(&mut cast, &columns, row), expected);
        assert_eq!(applied(&mut set, &columns, row), expected);
    }

    #[test]
    fn types_that_a_step_cannot_read_or_make_are_refused_before_any_row() {
        let refusal = configure("cast", json!({"columns": {"a": "int4range"}})).expect_err("a range");
        assert!(
            refusal.starts_with("columns.a: `int4range` is no type that a step can make; it can make smallint"),
            "{refusal}"
        );
        for (from, to, can) in [
            ("character varying(20)", "uuid", true),
            ("character(3)", "integer", true),
            ("character(3)", "text", false),
            ("public.mood", "text", true),
            ("interval", "text", true),
            ("interval", "integer", false),
            ("timestamp with time zone", "text", false),
            ("timestamp with time zone", "timestamptz", true),
            ("jsonb", "json", true),
            ("jsonb", "text", false),
            ("text[]", "text", false),
            ("boolean", "numeric", false),
            ("integer", "boolean", true),
        ] {
            let cast = configure("cast", json!({"columns": {"a": to}})).expect("a cast");
            assert_eq!(cast.columns(&mut vec![column("a", from)]).is_ok(), can, "{from} to {to}");
        }
    }
}
