//! What a source query may do.
//!
//! A user writes a pipeline's query, and Vitrina executes it beside tables that it must not touch. Four layers:
//!
//! 1. *Early*: [`parse()`] reads the text, and [`check_functions`] the names that it calls, for a clear message. The server
//!    later gets not the user's text but its tokens, written anew (`text`). This layer decides nothing alone, because our
//!    parser may read a text differently from the server.
//! 2. *Judged*: [`describe()`] lets the server parse the query, and every function, operator, type and relation in the tree
//!    is looked up by oid (`judged`). The list of functions is an allow-list (`allowed`).
//! 3. *Confined*: the query executes in `etl_page.read`, a function with the rights of [`QUERY_ROLE`], which may only
//!    select from the source schemas. Its subtransaction is read-only, and PostgreSQL refuses every change of role there.
//! 4. *Bounded*: time, memory and files, by settings of the services' sessions and role; a statement that takes too long is
//!    cancelled.
//!
//! Read `placeholders`, `lexeme` and `text` (tokens to text), then `parse`, `relations`, `functions`, `describe`, `judged`, `allowed`.
//!
//! The owner of a function or a view in a source schema decides what it does and reads; layers 3 and 4 hold there too.

mod allowed;
mod describe;
mod describing;
mod functions;
mod judged;
mod lexeme;
mod parse;
mod placeholders;
mod relations;
mod text;

use std::fmt;

#[cfg(feature = "testing")]
pub use describe::judge_alone;
use describe::keep_temporary_schema;
pub use describe::{Description, QueryLimits, describe};
pub use describing::Describing;
pub use functions::FunctionName;
pub use judged::{check_arriving, check_functions, check_types};
pub use parse::{SourceQuery, parse};
pub use placeholders::{ParameterTypes, Placeholder};

/// The role that users' queries run under: it has no login, may select from the source schemas, and nothing else.
pub const QUERY_ROLE: &str = "vitrina_query";

use crate::domain::is_reserved;

/// Longer queries are refused unread.
pub use crate::domain::bounds::MAX_QUERY_BYTES;

/// The schemas that queries may read from, compared exactly as PostgreSQL stores their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSchemas(Vec<String>);

impl SourceSchemas {
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// Whether queries may read from `schema`. The server's own schemas never qualify, even when configured.
    pub fn allows(&self, schema: &str) -> bool {
        let system = schema.starts_with("pg_") || schema == "information_schema";
        !system && self.0.iter().any(|name| name == schema)
    }

    /// Refuses the relation `name`, and says how to get at it where its schema could become a source.
    fn refuse(&self, name: String, schema: Option<&String>) -> Refusal {
        let advice = |schema| {
            format!(
                ". Add `{schema}` to VITRINA_SOURCE_SCHEMAS, then restart `vitrina up`, or run `vitrina migrate` and restart the \
                 API and the workers"
            )
        };
        let schema = schema.filter(|schema| !self.allows(schema) && !is_reserved(schema));
        Refusal::ForeignRelation { name, schemas: self.clone(), advice: schema.map(advice).unwrap_or_default() }
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    fn example(&self) -> &str {
        self.0.first().map_or("schema", String::as_str)
    }
}

/// Lists the names as a sentence does: `content, ugc`.
impl fmt::Display for SourceSchemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// Why a query cannot be accepted, in words for the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the query is {bytes} bytes long; at most {MAX_QUERY_BYTES} are accepted")]
    TooLong { bytes: usize },
    #[error("the query is empty")]
    Empty,
    #[error("the query contains a NUL character, which PostgreSQL cannot store")]
    NulCharacter,
    #[error("the query is nested too deeply or has too many parts; a view or CTEs could carry some of it")]
    TooComplex,
    #[error("the process has no memory left to read a query ({reason})")]
    NoMemory { reason: String },
    #[error("the query cannot be read: {message}")]
    Syntax { message: String },
    #[error("a query starts with SELECT, WITH or VALUES; this one starts with {found}")]
    NotASelect { found: String },
    #[error("a query is one statement; this one goes on after a semicolon")]
    SeveralStatements,
    #[error("a query only reads; INSERT, UPDATE, DELETE and MERGE are not allowed anywhere in it")]
    DataModification,
    #[error("SELECT INTO creates a table; leave INTO out, Vitrina writes the result to the target")]
    SelectInto,
    #[error("a query takes no row locks; leave FOR UPDATE or FOR SHARE out")]
    RowLock,
    #[error("write SELECT * FROM … instead of TABLE …")]
    TableCommand,
    #[error("write the operator itself instead of OPERATOR(…)")]
    QualifiedOperator,
    #[error("write the function itself instead of TREAT(…)")]
    Treat,
    #[error("{written} is not something that a PostgreSQL query can select from")]
    StrangeRelation { written: String },
    #[error("Unicode escapes (U&) are not accepted; write the character itself")]
    UnicodeEscape,
    #[error("hexadecimal literals are not accepted; write the number, or a bytea as '\\x1f'::bytea")]
    HexLiteral,
    #[error("the name {name} is longer than the 63 bytes that PostgreSQL keeps")]
    NameTooLong { name: String },
    #[error("{written} is not a parameter here; the placeholders are {}", Placeholder::LIST)]
    PositionalParameter { written: String },
    #[error(":{name} is not a placeholder; these are {}", Placeholder::LIST)]
    UnknownPlaceholder { name: String },
    #[error("{name} needs its schema: write {example}.{name} (queries read from {schemas})")]
    UnqualifiedRelation { name: String, example: String, schemas: SourceSchemas },
    #[error("{name} is out of reach: queries read from {schemas}, named as schema.table{advice}")]
    ForeignRelation { name: String, schemas: SourceSchemas, advice: String },
    #[error("the function {function} is out of reach: queries call PostgreSQL's own functions and those of {schemas}")]
    ForeignFunction { function: FunctionName, schemas: SourceSchemas },
    #[error("the function {function} does not exist")]
    UnknownFunction { function: FunctionName },
    #[error("the function {function} is volatile: it may write, wait or change the session, and a query only reads")]
    VolatileFunction { function: FunctionName },
    #[error("the function {function} runs with the rights of its owner, which a query must not borrow")]
    SecurityDefiner { function: FunctionName },
    #[error(
        "the function {function} looks at the server or around the tables that a query may read; it is not allowed"
    )]
    ForbiddenFunction { function: FunctionName },
    #[error("the type {name} names objects of the server, which a query has no use for; leave it out, or cast to text")]
    ForbiddenType { name: String },
    #[error("the type {name} is out of reach: queries use PostgreSQL's own types and those that {schemas} use")]
    ForeignType { name: String, schemas: SourceSchemas },
    #[error(
        "the type {name} belongs to neither a superuser nor the database's owner, and its checks and casts would execute \
         with the rights to write marts: cast the column in the query to a type of PostgreSQL's own, or give the mart's \
         column one"
    )]
    ForeignValueType { name: String },
    #[error(
        "the type {name} is in the schema {schema}, whose owner {owner} is neither a superuser nor the database's owner and \
         could put another type in its place, whose casts would execute with the rights to write marts: cast the column in \
         the query to a type of PostgreSQL's own, for instance to text, or move the type, or the extension that brought it, \
         into a schema of a superuser or of the database's owner (alter type … set schema, alter extension … set schema)"
    )]
    ValueTypeOfForeignSchema { name: String, schema: String, owner: String },
    #[error(
        "the type {name} is of the extension {extension}, whose owner {owner} is neither a superuser nor the database's owner \
         and could put another type in its place, whose casts would execute with the rights to write marts: cast the column \
         in the query to a type of PostgreSQL's own, for instance to text, or have a superuser or the database's owner create \
         the extension"
    )]
    ValueTypeOfForeignExtension { name: String, extension: String, owner: String },
    #[error(
        "the role vitrina_query cannot read {name}: run `vitrina migrate` again, or grant select on {name} to vitrina_query"
    )]
    Unreadable { name: String },
    #[error(
        "PostgreSQL reads something in the query that this version of Vitrina does not know ({part}); write it otherwise, \
         or update Vitrina"
    )]
    UnknownNode { part: String },
    #[error("PostgreSQL did not read the query within {seconds} seconds: make it simpler, or its constants shorter")]
    NotDescribed { seconds: u64 },
    #[error("the types of the key columns depend on the placeholders: cast these columns to their types")]
    UnsettledTypes,
    #[error(
        "values would be converted or compared by the function {function}, with the rights to write marts: \
         cast the column in the query to a type of PostgreSQL's own"
    )]
    ForeignValue { function: FunctionName },
    #[error("the query returns no columns")]
    NoColumns,
    #[error("column {place} of the query has no name: give it an alias, for instance `… as total`")]
    UnnamedColumn { place: usize },
    #[error("column `{name}` is of a type that no table can have, such as record: cast it")]
    PseudoType { name: String },
    #[error("the query returns two columns named {name}; give one of them an alias")]
    DuplicateColumn { name: String },
    #[error("PostgreSQL refuses the query: {message}")]
    Server { message: String },
}

/// Either the query is wrong, or it could not be judged because the database did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    #[error(transparent)]
    Refused(Refusal),
    #[error("the database did not answer")]
    Database(#[from] sqlx::Error),
}

impl From<Refusal> for GuardError {
    fn from(refusal: Refusal) -> Self {
        // Nothing is wrong with the query.
        if matches!(refusal, Refusal::NoMemory { .. }) {
            return Self::Database(std::io::Error::new(std::io::ErrorKind::OutOfMemory, refusal.to_string()).into());
        }
        Self::Refused(refusal)
    }
}
