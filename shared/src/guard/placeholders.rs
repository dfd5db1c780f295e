//! Named placeholders: `:after_key`, `:after_id`, `:upper`, `:limit`.

use super::Refusal;
use crate::domain::{SourceColumn, named_enum};

named_enum! {
    /// A value that Vitrina fills in for every page, in a query that pages by itself.
    Placeholder {
        /// The incremental key of the last row that was read, null on the first page.
        AfterKey = "after_key",
        /// The tie-breaking id of that row.
        AfterId = "after_id",
        /// The highest key that this run may read.
        Upper = "upper",
        Limit = "limit",
    }
}

impl Placeholder {
    pub(super) const LIST: &str = ":after_key, :after_id, :upper, :limit";

    /// The number of its parameter: the same in every query, whichever placeholders it uses.
    pub fn number(self) -> u8 {
        match self {
            Self::AfterKey => 1,
            Self::AfterId => 2,
            Self::Upper => 3,
            Self::Limit => 4,
        }
    }

    /// How it is written for running: a numbered parameter with its type.
    pub(super) fn parameter(self, types: &ParameterTypes) -> String {
        format!("(${}::{})", self.number(), self.type_name(types))
    }

    /// How it is written for judging: a null that the server reads like the parameter. The id arrives as a text.
    pub(super) fn null(self, types: &ParameterTypes) -> String {
        let from = if self == Self::AfterId { "null::text" } else { "null" };
        format!("({from}::{})", self.type_name(types))
    }

    fn type_name(self, types: &ParameterTypes) -> &str {
        match self {
            Self::AfterKey | Self::Upper => &types.key,
            Self::AfterId => &types.id,
            Self::Limit => "bigint",
        }
    }

    pub(super) fn from_name(name: &str) -> Result<Self, Refusal> {
        name.parse().map_err(|_| Refusal::UnknownPlaceholder { name: name.to_owned() })
    }
}

/// The types of the incremental key and of its tie-breaking id, as `format_type` writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterTypes {
    pub key: String,
    pub id: String,
}

impl ParameterTypes {
    /// The types of these columns of a query; none where it lacks one of them.
    pub fn of(columns: &[SourceColumn], key: Option<&str>, id: Option<&str>) -> Option<Self> {
        let type_of = |name: Option<&str>| {
            let column = columns.iter().find(|column| Some(column.name.as_str()) == name)?;
            Some(column.type_name.clone())
        };
        Some(Self { key: type_of(key)?, id: type_of(id)? })
    }
}
