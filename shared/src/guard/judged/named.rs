//! Layer 1, with the server's help: checks the functions that a query names, for an early and clear message.
//!
//! A name that has allowed and forbidden overloads passes here: which of them is called, the query's tree knows.

use sqlx::PgConnection;

use super::super::allowed::{Author, SAMPLINGS, Use};
use super::super::{FunctionName, GuardError, Refusal, SourceQuery, SourceSchemas};
use super::catalog::{self, Called};

/// Refuses functions that may do more than compute.
pub async fn check_functions(
    conn: &mut PgConnection,
    query: &SourceQuery,
    schemas: &SourceSchemas,
) -> Result<(), GuardError> {
    let calls = query.functions().iter().map(|function| (function.clone(), false));
    let attributes = query.attributes.iter().map(|name| (FunctionName { schema: None, name: name.clone() }, true));
    let named: Vec<_> = calls.chain(attributes).collect();
    for (function, overloads) in catalog::overloads(conn, &named).await? {
        if overloads.is_empty() && function.schema.is_some() {
            return Err(Refusal::UnknownFunction { function }.into());
        }
        for part in overloads.iter().filter(|called| called.by != Use::Call) {
            part.facts.judge(part.by, Author::User, schemas)?;
        }
        if !SAMPLINGS.contains(&function.name.as_str()) {
            check_overloads(&overloads, schemas)?;
        }
    }
    Ok(())
}

/// Refuses a name of which every overload is refused.
fn check_overloads(overloads: &[Called], schemas: &SourceSchemas) -> Result<(), Refusal> {
    let mut refusal = None;
    for overload in overloads.iter().filter(|called| called.by == Use::Call) {
        match overload.facts.judge(Use::Call, Author::User, schemas) {
            Ok(()) => return Ok(()),
            Err(refused) => refusal = Some(refused),
        }
    }
    refusal.map_or(Ok(()), Err)
}
