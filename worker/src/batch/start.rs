//! From where to where a run reads, decided once when it begins.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Checkpoint, Position, RunId, checkpoint::key_time},
    store::{
        backends,
        horizon::{self, Reread},
        pages,
        runs::{Debts, OpenRun, Start},
        swaps,
    },
};

use super::{
    plan::{Bound, Plan, Settling},
    pushdown::Completion,
};
use crate::error::BatchError;

/// How long a worker waits for writers before it gives the job back.
const WAIT_FOR_WRITERS: Duration = Duration::from_secs(2);

/// Decides from where to where a run reads.
pub(super) async fn find(mut connection: &mut PgConnection, run: &OpenRun, plan: &Plan) -> Result<Start, BatchError> {
    refuse_unreachable_rows(&mut connection, run.id, plan).await?;
    if let Some(Completion::Swap { gathering, .. }) = &plan.completion {
        swaps::create(&mut connection, gathering).await?;
    }
    let mut start = match plan.bound {
        Bound::None => Start::default(),
        Bound::Clock => by_clock(&mut connection, run, plan).await?,
        Bound::Writers => by_writers(&mut connection, run.id, plan).await?,
    };
    if plan.nulls_first {
        start.after = nulls_again(run, start.after);
    }
    Ok(start)
}

/// Before the first NULL key, and after those where the run would have begun.
fn nulls_again(run: &OpenRun, after: Option<Position>) -> Option<Position> {
    let then = after.or_else(|| run.checkpoint_from.as_ref().map(Position::after))?;
    Some(Position([None, None].into_iter().chain(then.0).collect()))
}

/// A row whose key is NULL would be in no page: better no mart than one that silently lacks rows.
async fn refuse_unreachable_rows(connection: &mut PgConnection, run: RunId, plan: &Plan) -> Result<(), BatchError> {
    let Some(query) = &plan.unreachable else { return Ok(()) };
    if read_first(connection, run, query).await?.is_none() {
        return Ok(());
    }
    let names: Vec<_> = plan.walk.iter().map(|column| column.name.as_str()).collect();
    Err(BatchError::fatal(format!(
        "the query returns rows whose {} is NULL, which no page would reach: leave them out, or set options.null_keys to `first`",
        names.join(" or "),
    )))
}

/// Up to the start of the oldest open transaction; from the checkpoint, or from before it where rows are owed.
async fn by_clock(connection: &mut PgConnection, run: &OpenRun, plan: &Plan) -> Result<Start, BatchError> {
    let checkpoint = run.checkpoint_from.as_ref().and_then(|checkpoint| key_time(&checkpoint.key));
    let horizon = horizon::look(connection, run.id, checkpoint, horizon::PATIENCE).await?;
    let mut after = checkpoint
        .filter(|_| plan.lookback_seconds > 0)
        .map(|key| key - TimeDelta::seconds(plan.lookback_seconds.into()));
    let mut debts = Debts::default();
    if let Some(owed) = horizon.owed
        && !horizon.prepared
        && horizon.oldest.is_none_or(|oldest| oldest > owed.once_past)
    {
        debts.settled = true;
        if checkpoint.is_some_and(|key| key >= owed.from_key) {
            let from = just_before(owed.from_key);
            debts.rewind = Some(Checkpoint { key: text(from), id: None });
            after = Some(after.map_or(from, |key| key.min(from)));
        }
    }
    debts.incurred = horizon.passed.map(|(oldest, newest)| Reread { from_key: oldest, once_past: newest });
    Ok(Start { upper: Some(horizon.upper_text), after: after.map(|key| Position(vec![Some(text(key)), None])), debts })
}

/// Every key that was given out until now is settled once those who are writing now have ended.
async fn by_writers(connection: &mut PgConnection, run: RunId, plan: &Plan) -> Result<Start, BatchError> {
    let Settling { greatest, writers } =
        plan.settling.get_or_try_init(|| look_up_writers(connection, run, plan)).await?;
    let deadline = tokio::time::Instant::now() + WAIT_FOR_WRITERS;
    while !writers.is_empty() && horizon::any_open(connection, writers).await? {
        if tokio::time::Instant::now() > deadline {
            return Err(BatchError::NotYet("a transaction is writing to the source"));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(Start { upper: greatest.clone(), ..Start::default() })
}

/// The greatest key first: whoever was given a smaller one was writing then, or is writing now.
async fn look_up_writers(connection: &mut PgConnection, run: RunId, plan: &Plan) -> Result<Settling, BatchError> {
    let last = match &plan.greatest_key {
        Some(query) => read_first(connection, run, query).await?,
        None => None,
    };
    let writers = horizon::writers(connection, &plan.relations).await?;
    Ok(Settling { greatest: last.and_then(|last| last.0.into_iter().next().flatten()), writers })
}

/// The list in the first row of a query, read in a transaction that a cancellation of the run finds.
async fn read_first(connection: &mut PgConnection, run: RunId, query: &str) -> Result<Option<Position>, BatchError> {
    let mut tx = backends::begin(connection, run.0, "begin read only").await?;
    let found = pages::read_first(&mut tx, query, &[]).await?;
    tx.rollback().await?;
    Ok(found)
}

/// The server's text form of a timestamp.
fn text(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S%.6f+00").to_string()
}

/// A page begins *after* a key; the server's timestamps have microseconds.
fn just_before(time: DateTime<Utc>) -> DateTime<Utc> {
    time - TimeDelta::microseconds(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_survives_the_way_from_text_and_back() {
        for form in ["2026-01-02 03:04:05.123456+00", "2026-01-02 03:04:05+00"] {
            let time = key_time(form).expect(form);
            assert_eq!(key_time(&text(time)), Some(time));
        }
        assert_eq!(key_time("infinity"), None);
    }
}
