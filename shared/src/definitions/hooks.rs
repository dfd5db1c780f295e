//! The list of functions that hooks may call, which the owner of the database writes.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{
    domain::{hooks::is_function_name, is_reserved},
    sql,
    store::hooks,
};

/// The role that calls them.
const CALLER: &str = "vitrina_hook";

#[derive(Debug, thiserror::Error)]
pub enum HookListError {
    #[error("`{0}` is no name of a function with its schema, in lower case and without quotes, such as `shop.refund`")]
    NoName(String),
    #[error(
        "`{0}` is in a schema of Vitrina's or of the server's own: make a function in a schema of yours that calls it"
    )]
    Reserved(String),
    #[error(
        "there is no function {0}(jsonb): create it with one argument, whose type is jsonb and which is not variadic"
    )]
    NoFunction(String),
    #[error("`{0}` is not on the list")]
    NotListed(String),
    #[error(
        "{CALLER} may not call {name}: this account could not grant it ({said}). The owner of the function does it with: {grants}"
    )]
    NotGranted { name: String, said: String, grants: String },
    #[error("this account may not write the list ({0}): use the account that runs `vitrina migrate`")]
    Denied(String),
    #[error(transparent)]
    Database(sqlx::Error),
}

impl From<sqlx::Error> for HookListError {
    fn from(error: sqlx::Error) -> Self {
        denial(&error).map_or(Self::Database(error), Self::Denied)
    }
}

/// What the server says, if this account may not do what it was asked for.
fn denial(error: &sqlx::Error) -> Option<String> {
    let refused = error.as_database_error().filter(|refused| refused.code().as_deref() == Some("42501"));
    refused.map(|refused| refused.message().to_owned())
}

/// Puts a function on the list as it is now, and lets `vitrina_hook` call it. Returns the role with whose rights it executes.
pub async fn allow_function(connection: &mut PgConnection, name: &str) -> Result<String, HookListError> {
    let (schema, function) = parts(name)?;
    if is_reserved(schema) {
        return Err(HookListError::Reserved(name.to_owned()));
    }
    let mut tx = connection.begin().await?;
    let found = hooks::find_function(&mut tx, name).await?;
    let found = found.ok_or_else(|| HookListError::NoFunction(name.to_owned()))?;
    let grants = format!(
        "grant usage on schema {schema} to {CALLER}; grant execute on function {schema}.{function}(jsonb) to {CALLER}",
        schema = sql::quote(schema),
        function = sql::quote(function),
    );
    let said = try_statements(&mut tx, &grants).await?;
    hooks::put(&mut tx, name, found.oid).await?;
    if let [(_, problem), ..] = &hooks::problems(&mut tx, &[name.to_owned()]).await?[..] {
        let said = said.unwrap_or_else(|| format!("it {problem}"));
        return Err(HookListError::NotGranted { name: name.to_owned(), said, grants });
    }
    tx.commit().await?;
    Ok(if found.has_owners_rights { found.owner } else { CALLER.to_owned() })
}

/// Takes a function off the list, and the right to call it from `vitrina_hook`. Returns what the owner of the function must execute
/// for that, where this account may not.
pub async fn revoke_function(connection: &mut PgConnection, name: &str) -> Result<Option<String>, HookListError> {
    let (schema, function) = parts(name)?;
    let mut tx = connection.begin().await?;
    if !hooks::remove(&mut tx, name).await? {
        return Err(HookListError::NotListed(name.to_owned()));
    }
    let (quoted, mut revokes) = (sql::quote(schema), Vec::new());
    if hooks::find_function(&mut tx, name).await?.is_some() {
        revokes.push(format!("revoke execute on function {quoted}.{}(jsonb) from {CALLER}", sql::quote(function)));
    }
    if hooks::lacks_schema(&mut tx, schema).await? {
        revokes.push(format!("revoke usage on schema {quoted} from {CALLER}"));
    }
    let revokes = revokes.join("; ");
    let refused = try_statements(&mut tx, &revokes).await?;
    tx.commit().await?;
    Ok(refused.map(|_| revokes))
}

fn parts(name: &str) -> Result<(&str, &str), HookListError> {
    let parts = name.split_once('.').filter(|_| is_function_name(name));
    parts.ok_or_else(|| HookListError::NoName(name.to_owned()))
}

/// Executes statements. Returns what the server says where this account may not.
async fn try_statements(tx: &mut PgConnection, statements: &str) -> sqlx::Result<Option<String>> {
    let mut attempt = tx.begin().await?;
    match sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut *attempt).await {
        Ok(_) => attempt.commit().await.map(|()| None),
        Err(error) => {
            attempt.rollback().await?;
            denial(&error).map(Some).ok_or(error)
        }
    }
}
