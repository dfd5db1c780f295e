//! Types that a column of the database keeps as JSON.

use sqlx::{Decode, Postgres, Type, error::BoxDynError, postgres, postgres::PgHasArrayType, types::Json};

use super::{Checkpoint, PipelineDraft, RunStep};

macro_rules! json_column {
    ($name:ty) => {
        impl Type<Postgres> for $name {
            fn type_info() -> postgres::PgTypeInfo {
                Json::<Self>::type_info()
            }

            fn compatible(ty: &postgres::PgTypeInfo) -> bool {
                Json::<Self>::compatible(ty)
            }
        }

        impl<'r> Decode<'r, Postgres> for $name {
            fn decode(value: postgres::PgValueRef<'r>) -> Result<Self, BoxDynError> {
                Ok(Json::decode(value)?.0)
            }
        }
    };
}

json_column!(Checkpoint);
json_column!(PipelineDraft);
json_column!(RunStep);

impl PgHasArrayType for RunStep {
    fn array_type_info() -> postgres::PgTypeInfo {
        Json::<Self>::array_type_info()
    }
}
