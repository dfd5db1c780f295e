//! Calls the hooks of a run, in the transaction that records what happened.
//!
//! The run's inputs name the functions, and `etl.call_hooks` calls them: what they did and what is recorded is committed
//! together, or not at all. They are called before a status is changed, since the entry of the log lets other transitions wait.

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::LifecycleError;
use crate::{
    domain::{ErrorClass, HookEvent, HookFailure, RunId, RunStatus, error_class::without_values},
    store::hooks,
};

/// Calls the hooks of an event. The first failure is the error, and the event is rolled back with it.
async fn call(
    tx: &mut PgConnection,
    run: RunId,
    event: HookEvent,
    details: &Value,
    letters: Option<&[i64]>,
) -> Result<(), LifecycleError> {
    match failures(tx, run, event, details, letters).await?.pop() {
        Some(failure) => Err(failure.into()),
        None => Ok(()),
    }
}

async fn failures(
    tx: &mut PgConnection,
    run: RunId,
    event: HookEvent,
    details: &Value,
    letters: Option<&[i64]>,
) -> sqlx::Result<Vec<HookFailure>> {
    let failed = hooks::call(tx, run, event.as_str(), details, letters).await?;
    let failed = failed.into_iter();
    Ok(failed.map(|one| HookFailure { event, function: one.hook, state: one.state, message: one.message }).collect())
}

pub(super) async fn before_run(tx: &mut PgConnection, run: RunId) -> Result<(), LifecycleError> {
    call(tx, run, HookEvent::BeforeRun, &json!({ "status": RunStatus::Running.as_str() }), None).await
}

pub async fn after_batch(tx: &mut PgConnection, run: RunId, batch: i64) -> Result<(), LifecycleError> {
    call(tx, run, HookEvent::AfterBatch, &json!({ "batch": batch }), None).await
}

/// For each of these letters, which were opened in the transaction.
pub async fn on_row_rejected(tx: &mut PgConnection, run: RunId, letters: &[i64]) -> Result<(), LifecycleError> {
    call(tx, run, HookEvent::OnRowRejected, &json!({}), Some(letters)).await
}

/// Calls them under a savepoint: one failure undoes what all of them did.
pub(super) async fn on_success(tx: &mut PgConnection, run: RunId) -> Result<(), LifecycleError> {
    let mut attempt = tx.begin().await?;
    call(&mut attempt, run, HookEvent::OnSuccess, &json!({ "status": RunStatus::Success.as_str() }), None).await?;
    attempt.commit().await?;
    Ok(())
}

/// Calls the hooks of a run that fails. Returns what is to be noted with the run, if some fail themselves: they never keep it
/// from its end.
pub(super) async fn on_failure(
    tx: &mut PgConnection,
    run: RunId,
    (class, error): (ErrorClass, &str),
) -> Result<Option<String>, LifecycleError> {
    if !hooks::has(tx, run, HookEvent::OnFailure.as_str()).await? {
        return Ok(None);
    }
    let details = json!({ "status": RunStatus::Failed.as_str(), "error": error, "error_class": class.as_str() });
    let mut attempt = tx.begin().await?;
    let failures = match failures(&mut attempt, run, HookEvent::OnFailure, &details, None).await {
        Ok(failures) => {
            attempt.commit().await?;
            failures
        }
        Err(sqlx::Error::Database(refused)) => {
            attempt.rollback().await?;
            let code = refused.code().unwrap_or_default();
            let (function, message) = ("etl.call_hooks".to_owned(), refused.message().to_owned());
            vec![HookFailure { event: HookEvent::OnFailure, function, state: code.into_owned(), message }]
        }
        Err(error) => return Err(error.into()),
    };
    let said: Vec<_> = failures.iter().map(ToString::to_string).collect();
    for failure in &said {
        tracing::error!(run_id = %run, error = %without_values(failure), "a hook failed with the run's end");
    }
    Ok((!said.is_empty()).then(|| said.join("\n")))
}
