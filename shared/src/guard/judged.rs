//! Layer 2: what the query does, by the server's own reading of it.
//!
//! PostgreSQL has resolved every name, operator and cast of a query when it makes a view of it; the view's tree (`tree`)
//! names them by oid, and the catalog (`catalog`) says what they are. However a call is written, the tree has the function
//! that will be executed. Views, the checks of domains and the default arguments of functions are followed.

mod catalog;
mod named;
mod tree;

use std::collections::BTreeSet;

use sqlx::PgConnection;

pub use named::check_functions;

use super::allowed::{Author, FunctionFacts, Use};
use super::{GuardError, Refusal, SourceSchemas};
use crate::domain::{OWN_SCHEMAS, column_type::FIRST_ADDED};

/// How many views, domains and default arguments a query may lead to.
const MOST_TREES: usize = 500;

#[derive(Debug)]
pub(super) struct Judged {
    pub relations: BTreeSet<String>,
    /// The column of a table that each of its columns is.
    pub origins: Vec<(u32, i16)>,
    /// What makes it return other values each time it is read, as people name it.
    pub unsteady: BTreeSet<String>,
}

/// Functions of the server that answer by the time, and call themselves stable because they do so within a transaction.
const BY_THE_CLOCK: [&str; 3] = ["now", "statement_timestamp", "transaction_timestamp"];

pub(super) async fn judge(
    conn: &mut PgConnection,
    tree: String,
    schemas: &SourceSchemas,
) -> Result<Judged, GuardError> {
    let query = tree::read(&tree)?;
    let mut judged = Judged { relations: BTreeSet::new(), origins: query.origins.clone(), unsteady: BTreeSet::new() };
    let mut found = vec![(query, Author::User)];
    let mut followed = BTreeSet::new();
    let mut read = 1;
    while let Some((mut mentions, author)) = found.pop() {
        mentions.relations.retain(|relation| followed.insert(*relation));
        let trees = check(conn, &mentions, author, schemas, &mut judged).await?;
        read += trees.len();
        if read > MOST_TREES {
            return Err(Refusal::TooComplex.into());
        }
        for tree in trees {
            found.push((tree::read(&tree)?, Author::Operator));
        }
    }
    Ok(judged)
}

/// Checks what a tree mentions, and returns the trees that follow from it: those are the operator's work. `judged` gets what
/// is worth knowing of it.
async fn check(
    conn: &mut PgConnection,
    mentions: &tree::Mentions,
    author: Author,
    schemas: &SourceSchemas,
    judged: &mut Judged,
) -> Result<Vec<String>, GuardError> {
    let found = catalog::look_up(conn, mentions, schemas.names()).await?;
    if !found.complete {
        return Err(Refusal::UnknownNode { part: "an object that was dropped".to_owned() }.into());
    }
    let mut trees = Vec::new();
    for called in found.functions {
        called.facts.judge(called.by, author, schemas)?;
        judged.unsteady.extend(unsteady(&called.facts));
        trees.extend(called.defaults);
    }
    judged.unsteady.extend(mentions.current.then(|| "the current date or time".to_owned()));
    judged.unsteady.extend((!mentions.samplings.is_empty()).then(|| "tablesample".to_owned()));
    // PostgreSQL 14 and 15 mention the view in its own tree, which is gone.
    for relation in found.relations {
        if relation.too_large {
            return Err(Refusal::TooComplex.into());
        }
        check_relation(&relation, author, schemas)?;
        if author == Author::User {
            judged.relations.insert(relation.written.clone());
        }
        trees.extend(relation.view);
    }
    if author == Author::User
        && let Some(name) = found.out_of_reach
    {
        return Err(Refusal::ForeignType { name, schemas: schemas.clone() }.into());
    }
    if let Some(name) = found.names.into_iter().next() {
        return Err(Refusal::ForbiddenType { name }.into());
    }
    for function in found.own {
        function.judge(Use::Part, Author::Operator, schemas)?;
    }
    trees.extend(found.checks);
    Ok(trees)
}

/// The call of a function that answers otherwise each time.
fn unsteady(function: &FunctionFacts) -> Option<String> {
    let by_the_clock = function.builtin && BY_THE_CLOCK.contains(&function.name.as_str());
    (function.volatility == "v" || by_the_clock).then(|| format!("{}()", function.name()))
}

/// Refuses values that a mart cannot take without calling a function of another account: casts between the types `from` and
/// `to`, casts to text and json, operator classes, the checks of domains. All of that executes with the rights to write marts,
/// so the word of a function about itself is not enough. `table` is the mart, whose owner may give it types of their own.
pub async fn check_arriving(conn: &mut PgConnection, from: &[u32], to: &[u32], table: &str) -> Result<(), GuardError> {
    check_types(conn, to, Some(table)).await?;
    check_types(conn, from, None).await?;
    let mut functions = catalog::casts(conn, from, to).await?;
    if any_added(from) {
        let mentions = tree::Mentions { types: from.iter().copied().collect(), ..tree::Mentions::default() };
        let types = catalog::look_up(conn, &mentions, &[]).await?;
        functions.extend(types.own);
        for check in types.checks {
            let check = tree::read(&check)?;
            let named: Vec<_> = check.types.iter().chain(&check.made).copied().collect();
            check_types(conn, &named, None).await?;
            functions
                .extend(catalog::look_up(conn, &check, &[]).await?.functions.into_iter().map(|called| called.facts));
        }
    }
    match functions.iter().find(|function| !function.is_the_servers()) {
        Some(function) => Err(Refusal::ForeignValue { function: function.name() }.into()),
        None => Ok(()),
    }
}

/// Refuses types that an untrusted account can change at any time: the owner of a domain can add a check, the owner of any
/// type a cast, also during a run; the owner of the schema or of the extension can drop the type and create another one of
/// the same name. The server, a superuser, the database's owner and the mart's owner are trusted. An account that may
/// create schemas can create the extensions that the server's configuration trusts: then their types belong to a superuser,
/// and the extension to this account.
pub async fn check_types(conn: &mut PgConnection, types: &[u32], table: Option<&str>) -> Result<(), GuardError> {
    if !any_added(types) {
        return Ok(());
    }
    match catalog::changeable_type(conn, types, table).await? {
        Some(catalog::Changeable { name, owner, schema, extension }) => Err(match (schema, extension) {
            (Some(schema), _) => Refusal::ValueTypeOfForeignSchema { name, schema, owner },
            (None, Some(extension)) => Refusal::ValueTypeOfForeignExtension { name, extension, owner },
            (None, None) => Refusal::ForeignValueType { name },
        }
        .into()),
        None => Ok(()),
    }
}

/// Whether one of these types is not the server's own. Those are made of each other alone.
fn any_added(types: &[u32]) -> bool {
    types.iter().any(|oid| *oid >= FIRST_ADDED)
}

/// A query reads tables and views of the source schemas. A view may read any table of its owner, but never the server's own
/// tables, which every account may read, nor Vitrina's.
fn check_relation(relation: &catalog::Relation, author: Author, schemas: &SourceSchemas) -> Result<(), Refusal> {
    let catalog::Relation { schema, name, .. } = relation;
    let system = schema.starts_with("pg_") || schema == "information_schema";
    let within_reach = match author {
        Author::User => schemas.allows(schema),
        Author::Operator => schemas.allows(schema) || !system && !OWN_SCHEMAS.contains(&schema.as_str()),
    };
    let full_name = format!("{schema}.{name}");
    if !within_reach || !matches!(relation.kind.as_str(), "r" | "p" | "v" | "m" | "f") {
        return Err(schemas.refuse(full_name, Some(schema)));
    }
    match author {
        Author::User if !relation.readable => Err(Refusal::Unreadable { name: full_name }),
        Author::User | Author::Operator => Ok(()),
    }
}
