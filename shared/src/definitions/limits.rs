//! Limits of calls to services.

use sqlx::PgPool;

use crate::{
    domain::{Problem, transform::http::check_limit},
    lifecycle::Cause,
    store::limits::{self, Limit, Rate},
};

/// As the checks of the table.
const MOST_TOKENS: i32 = 1_000_000;
const SHORTEST_PERIOD: f64 = 0.001;
const LONGEST_PERIOD: f64 = 86_400.0;

#[derive(Debug, thiserror::Error)]
pub enum SetLimitError {
    #[error("wrong fields: {}", .0.len())]
    Wrong(Vec<Problem>),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum ForgetLimitError {
    #[error("there is no limit `{0}`")]
    NoLimit(String),
    #[error("limit `{limit}` is named by {}: change or delete that first", .pipelines.join(", "))]
    Named { limit: String, pipelines: Vec<String> },
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Makes a limit or changes it: workers take tokens by the new rate from now on. Returns it with whether it is new.
pub async fn set_limit(db: &PgPool, name: &str, rate: Rate, cause: Cause<'_>) -> Result<(Limit, bool), SetLimitError> {
    let problems = problems(name, rate);
    if !problems.is_empty() {
        return Err(SetLimitError::Wrong(problems));
    }
    let (limit, is_new) = limits::put(&mut *db.acquire().await?, name, rate).await?;
    let Rate { tokens, period_seconds, burst } = rate;
    tracing::info!(limit = name, tokens, period_seconds, burst, is_new, actor = cause.actor, "limit set");
    Ok((limit, is_new))
}

fn problems(name: &str, Rate { tokens, period_seconds, burst }: Rate) -> Vec<Problem> {
    let mut problems: Vec<_> =
        check_limit(name).err().map(|refusal| Problem::new("name", refusal)).into_iter().collect();
    for (field, number) in [("tokens", tokens), ("burst", burst)] {
        if !(1..=MOST_TOKENS).contains(&number) {
            problems.push(Problem::new(field, format!("takes 1 to {MOST_TOKENS}")));
        }
    }
    if !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&period_seconds) {
        problems.push(Problem::new("period_seconds", format!("takes {SHORTEST_PERIOD} to {LONGEST_PERIOD}")));
    }
    problems
}

/// Removes a limit that no pipeline's plan names.
pub async fn forget_limit(db: &PgPool, name: &str, cause: Cause<'_>) -> Result<(), ForgetLimitError> {
    let no_limit = || ForgetLimitError::NoLimit(name.to_owned());
    if check_limit(name).is_err() {
        return Err(no_limit());
    }
    let mut connection = db.acquire().await?;
    if limits::delete(&mut connection, name).await? {
        tracing::info!(limit = name, actor = cause.actor, "limit removed");
        return Ok(());
    }
    if !limits::exists(&mut connection, name).await? {
        return Err(no_limit());
    }
    let names = limits::named_by(&mut connection, name).await?;
    let pipelines = names.into_iter().map(|name| format!("`{name}`")).collect();
    Err(ForgetLimitError::Named { limit: name.to_owned(), pipelines })
}
