//! The domain's enums on the wire.

use std::borrow::Cow;

use salvo::oapi::{BasicType, Components, ComposeSchema, Object, RefOr, Schema, ToSchema};
use serde::{Deserialize, Serialize};
use vitrina_shared::domain::NamedEnum;

/// A value of one of the domain's enums, documented with all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OneOf<T>(pub T);

impl<T> From<T> for OneOf<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

fn schema<T: NamedEnum>() -> RefOr<Schema> {
    let names = T::VALUES.iter().map(|value| value.name());
    Object::with_type(BasicType::String).enum_values(names).into()
}

impl<T: NamedEnum> ToSchema for OneOf<T> {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        schema::<T>()
    }
}

impl<T: NamedEnum> ComposeSchema for OneOf<T> {
    fn compose(_components: &mut Components, _generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        schema::<T>()
    }
}

impl<T: NamedEnum> schemars::JsonSchema for OneOf<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = T::VALUES.iter().map(|value| value.name()).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}
