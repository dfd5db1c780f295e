//! `filter`: drops the rows that an expression does not hold for.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind,
    expression::{Expression, MAX_BYTES, Type},
    options,
};

pub(super) const KIND: TransformKind = TransformKind {
    name: "filter",
    description: "Keeps the rows for which an expression is true and drops all others",
    schema,
    configure,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    r#where: String,
}

#[derive(Debug)]
struct Filter {
    keeps: Expression,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["where"],
        "properties": {
            "where": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_BYTES,
                "description": "A condition over columns in CEL, such as type == 'movie' && votes > 100"
            }
        }
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let Options { r#where } = options(given)?;
    let keeps = Expression::parse(&r#where).map_err(|refusal| format!("where: {refusal}"))?;
    Ok(Configured::Row(Box::new(Filter { keeps })))
}

impl Transform for Filter {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        match self.keeps.type_of(columns) {
            Ok(Type::Bool) => Ok(()),
            Ok(other) => Err(format!("where: a condition is true or false, this one is {}", other.name())),
            Err(refusal) => Err(format!("where: {refusal}")),
        }
    }

    fn touches(&self) -> Vec<&str> {
        Vec::new()
    }

    fn is_pure(&self) -> bool {
        true
    }

    fn drops_rows(&self) -> bool {
        true
    }
}

impl RowTransform for Filter {
    fn prepare(&mut self, columns: &[SourceColumn]) -> Result<(), String> {
        self.keeps.prepare(columns);
        Ok(())
    }

    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String> {
        let holds = self.keeps.evaluate(row).map_err(|refusal| format!("where: {refusal}"))?;
        Ok(if holds == cel::Value::Bool(true) { Outcome::Kept } else { Outcome::Dropped })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{applied, column, configure};
    use super::*;

    #[test]
    fn rows_are_kept_where_the_condition_is_true_and_dropped_where_it_is_false_or_null() {
        let columns = [column("n", "integer"), column("b", "boolean")];
        let mut filter = configure("filter", json!({"where": "b && n > 1 || n == 0"})).expect("a filter");
        assert!(filter.drops_rows());
        for (row, kept) in
            [(r#"{"b":true,"n":2}"#, true), (r#"{"b":false,"n":2}"#, false), (r#"{"b":true,"n":0}"#, true)]
        {
            let left = applied(&mut filter, &columns, row).expect(row);
            assert_eq!(left, kept.then(|| row.to_owned()));
        }
        let refusal = applied(&mut filter, &columns, r#"{"b":true,"n":null}"#).expect_err("NULL");
        assert_eq!(refusal, "where: the expression uses a value that is NULL");
        let mut plain = configure("filter", json!({"where": "b"})).expect("a filter");
        assert_eq!(applied(&mut plain, &columns, r#"{"b":null,"n":1}"#), Ok(None));
    }

    #[test]
    fn a_condition_is_a_boolean_over_columns_that_are_there() {
        let filter = |text: &str| configure("filter", json!({"where": text}));
        assert!(filter("n >").expect_err("cut off").starts_with("where: it is no expression"));
        for (text, expected) in
            [("n + 1", "this one is a whole number"), ("m > 1", "there is n"), ("null", "this one is null")]
        {
            let refusal = filter(text).expect(text).columns(&mut vec![column("n", "integer")]).expect_err(text);
            assert!(refusal.starts_with("where: ") && refusal.contains(expected), "{text}: {refusal}");
        }
    }
}
