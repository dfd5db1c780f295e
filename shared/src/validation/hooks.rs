//! Whether the functions that hooks name may be called.

use sqlx::PgConnection;

use crate::{
    domain::{Hooks, Problem, hooks::is_function_name},
    store,
};

const FORM: &str = "a hook is the name of a function with its schema, in lower case and without quotes: `shop.refund`";

/// What is wrong with hooks in this database, each with its field.
pub async fn problems(connection: &mut PgConnection, hooks: &Hooks) -> Result<Vec<Problem>, sqlx::Error> {
    if hooks.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = hooks.named().map(|(_, name)| name.to_owned()).collect();
    let found = store::hooks::problems(connection, &names).await?;
    let problems = hooks.named().filter_map(|(field, name)| {
        let (_, problem) = found.iter().find(|(found, _)| found == name)?;
        Some(Problem::new(field, if is_function_name(name) { explain(name, problem) } else { FORM.to_owned() }))
    });
    Ok(problems.collect())
}

fn explain(name: &str, problem: &str) -> String {
    format!(
        "`{name}` {problem}: the owner of the database puts it there as it is now, with `vitrina hooks allow {name}`"
    )
}
