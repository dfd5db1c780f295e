//! Layer 2: every function that is called is one that only computes.
//!
//! Calls are found between tokens, as a name before an opening parenthesis, which no special form of the syntax tree can
//! hide. That finds too much (`in (`, `as t(a, b)`), which is harmless: a name that is no function is left to the
//! server, whose search path holds nothing but its own functions. Functions behind operators and `row.function` are
//! its own too, and of those none is volatile.

use std::collections::BTreeSet;
use std::fmt;

use sqlparser::tokenizer::Token;
use sqlx::PgConnection;

use super::text::Lexeme;
use super::{GuardError, Refusal, SourceQuery, SourceSchemas};

const CATALOG: &str = "pg_catalog";

/// Volatile, since each call answers anew, but of no effect. The last two are sampling methods.
const HARMLESS_VOLATILE: [&str; 9] = [
    "random",
    "random_normal",
    "clock_timestamp",
    "timeofday",
    "gen_random_uuid",
    "uuidv4",
    "uuidv7",
    "bernoulli",
    "system",
];

/// The only functions of the server that may be called among those that look at it or administer it.
const HARMLESS_ADMINISTRATIVE: [&str; 4] = ["pg_typeof", "pg_column_size", "pg_size_pretty", "pg_collation_for"];
const ADMINISTRATIVE: [&str; 5] = ["pg_", "lo_", "dblink", "binary_upgrade_", "txid_"];

/// These run SQL from a string or read whole schemas, whatever the query's own text says.
const READ_AROUND: [&str; 3] = ["_to_xml", "_to_xmlschema", "_to_xml_and_xmlschema"];
/// What it answers depends on the session and not on the source.
const SESSION: [&str; 2] = ["current_setting", "set_config"];

/// A function as PostgreSQL looks it up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionName {
    /// The schema that was written.
    pub schema: Option<String>,
    pub name: String,
}

impl FunctionName {
    fn is_builtin(&self) -> bool {
        self.schema.as_deref().is_none_or(|schema| schema == CATALOG)
    }

    fn is_forbidden(&self) -> bool {
        let name = self.name.as_str();
        let administrative = ADMINISTRATIVE.iter().any(|prefix| name.starts_with(prefix));
        administrative && !HARMLESS_ADMINISTRATIVE.contains(&name)
            || READ_AROUND.iter().any(|suffix| name.ends_with(suffix))
            || SESSION.contains(&name)
    }

    fn may_be_volatile(&self) -> bool {
        self.is_builtin() && HARMLESS_VOLATILE.contains(&self.name.as_str())
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        f.write_str(&self.name)
    }
}

/// Finds what is called in a query, and refuses calls into other schemas.
pub(super) fn called(lexemes: &[Lexeme], schemas: &SourceSchemas) -> Result<BTreeSet<FunctionName>, Refusal> {
    let ends = (0..lexemes.len()).filter(|&end| lexemes[end].token == Token::LParen);
    let functions: BTreeSet<_> = ends.filter_map(|end| name_before(&lexemes[..end])).collect();
    let foreign = functions.iter().find(|function| {
        let schema = function.schema.as_deref();
        !function.is_builtin() && !schema.is_some_and(|schema| schemas.allows(schema))
    });
    match foreign {
        Some(function) => Err(Refusal::ForeignFunction { function: function.clone(), schemas: schemas.clone() }),
        None => Ok(functions),
    }
}

/// The name that `lexemes` end with. Of a name in three parts the first two are taken for its schema.
fn name_before(lexemes: &[Lexeme]) -> Option<FunctionName> {
    let name = lexemes.last()?.name()?;
    let mut qualifiers = Vec::new();
    let mut before = &lexemes[..lexemes.len() - 1];
    while let [rest @ .., qualifier, period] = before
        && period.token == Token::Period
    {
        qualifiers.extend(qualifier.name());
        before = rest;
    }
    qualifiers.reverse();
    let schema = (!qualifiers.is_empty()).then(|| qualifiers.join("."));
    Some(FunctionName { schema, name })
}

/// What the server's catalog says about all functions of one name.
#[derive(sqlx::FromRow)]
struct Overloads {
    schema: Option<String>,
    name: String,
    known: bool,
    volatile: bool,
    security_definer: bool,
}

/// Refuses functions that may do more than compute.
pub async fn check_functions(conn: &mut PgConnection, query: &SourceQuery) -> Result<(), GuardError> {
    if let Some(function) = query.functions().iter().find(|function| function.is_forbidden()) {
        return Err(Refusal::ForbiddenFunction { function: function.clone() }.into());
    }
    for overloads in look_up(conn, query.functions()).await? {
        judge(overloads)?;
    }
    Ok(())
}

/// An aggregate is as volatile as the functions it is made of; its own row always says immutable.
async fn look_up(conn: &mut PgConnection, functions: &BTreeSet<FunctionName>) -> sqlx::Result<Vec<Overloads>> {
    let schemas: Vec<_> = functions.iter().map(|function| function.schema.as_deref()).collect();
    let names: Vec<_> = functions.iter().map(|function| function.name.as_str()).collect();
    sqlx::query_as(
        r"
        select called.schema, called.name, count(p.oid) > 0 as known,
            coalesce(bool_or(p.provolatile = 'v' or part.provolatile = 'v'), false) as volatile,
            coalesce(bool_or(p.prosecdef or part.prosecdef), false) as security_definer
        from unnest($1::text[], $2::text[]) as called (schema, name)
        left join pg_catalog.pg_namespace n on n.nspname = coalesce(called.schema, 'pg_catalog')
        left join pg_catalog.pg_proc p on p.pronamespace = n.oid and p.proname = called.name
        left join pg_catalog.pg_aggregate a on a.aggfnoid = p.oid
        left join pg_catalog.pg_proc part on part.oid in (a.aggtransfn, a.aggfinalfn, a.aggmtransfn, a.aggmfinalfn)
        group by called.schema, called.name
        ",
    )
    .bind(schemas)
    .bind(names)
    .fetch_all(conn)
    .await
}

fn judge(overloads: Overloads) -> Result<(), Refusal> {
    let Overloads { schema, name, known, volatile, security_definer } = overloads;
    let function = FunctionName { schema, name };
    if !known && function.schema.is_some() {
        return Err(Refusal::UnknownFunction { function });
    }
    if security_definer {
        return Err(Refusal::SecurityDefiner { function });
    }
    if volatile && !function.may_be_volatile() {
        return Err(Refusal::VolatileFunction { function });
    }
    Ok(())
}
