//! The option `max_removed` on the wire: a number of rows, a share, or a percentage.

use std::borrow::Cow;

use salvo::oapi::{BasicType, Components, ComposeSchema, Object, RefOr, Schema, ToSchema, schema::OneOf};
use serde::{Deserialize, Serialize};
use vitrina_shared::domain::MaxRemoved;

/// How many rows one run may remove, in one of its three forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MaxRemovedValue(pub MaxRemoved);

fn schema() -> RefOr<Schema> {
    let rows = Object::with_type(BasicType::Integer).minimum(0).description("That many rows");
    let share = Object::with_type(BasicType::Number).exclusive_minimum(0).exclusive_maximum(1);
    let share = share.description("A share of the rows, between 0 and 1");
    let percent = Object::with_type(BasicType::String).pattern(PERCENT).description("A percentage of the rows");
    Schema::from(OneOf::new().item(rows).item(share).item(percent)).into()
}

const PERCENT: &str = "^[0-9]+(\\.[0-9]+)? ?%$";

impl ToSchema for MaxRemovedValue {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        schema()
    }
}

impl ComposeSchema for MaxRemovedValue {
    fn compose(_components: &mut Components, _generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        schema()
    }
}

impl schemars::JsonSchema for MaxRemovedValue {
    fn schema_name() -> Cow<'static, str> {
        "MaxRemoved".into()
    }

    fn json_schema(_generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "oneOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
            { "type": "string", "pattern": PERCENT },
        ] })
    }
}
