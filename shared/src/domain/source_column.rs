//! What a query returns.

use super::{ColumnType, column_type::ScalarType};

/// A column that a query returns, or a transform makes of one.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SourceColumn {
    pub name: String,
    pub type_oid: u32,
    /// The type as SQL writes it, for instance `timestamp with time zone`.
    pub type_name: String,
    /// The type with its length or precision, for instance `character varying(20)`, where that is known. Of a domain it is
    /// the type behind it, and of a composite type `record`.
    pub declared: Option<String>,
    /// The collation that orders and compares its values, as SQL writes it, where it is another than its type's.
    pub collation: Option<String>,
    /// Whether nulls may come, where that is known: for columns that come straight from a table.
    pub nullable: Option<bool>,
}

impl SourceColumn {
    /// A column that a step makes.
    pub fn made(name: &str, made: &ScalarType) -> Self {
        Self { name: name.to_owned(), type_oid: made.oid, type_name: made.name.to_owned(), ..Self::default() }
    }

    /// The type that its values are given by name. A domain is taken as it is.
    pub fn own_type(&self) -> ColumnType {
        ColumnType::of(&self.type_name)
    }

    /// The type of its values, with its length or precision where they are known: of a domain the type behind it.
    pub fn value_type(&self) -> ColumnType {
        ColumnType::of(self.plain_type())
    }

    /// The same as SQL writes it.
    pub fn plain_type(&self) -> &str {
        self.declared.as_deref().unwrap_or(&self.type_name)
    }

    /// The type as a cast writes it, of any length.
    pub fn cast_type(&self) -> String {
        self.own_type().any_length()
    }
}
