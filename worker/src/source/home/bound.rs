//! From where to where a run reads.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use tokio::sync::{Mutex, OnceCell};
use vitrina_shared::{
    domain::{
        Checkpoint, Position, RunId,
        checkpoint::key_time,
        clock_key::{self, ClockKey},
    },
    store::{
        backends,
        horizon::{self, Due, Horizon, Reread, Writers},
        pages,
        runs::{Debts, OpenRun, Start},
    },
};

use super::{HomeReading, PageSql};
use crate::{
    clock::{self, DatabaseClock},
    error::BatchError,
    source::{Bound, Walk},
};

/// How long a worker waits for writers before it gives the job back.
const WAIT_FOR_WRITERS: Duration = Duration::from_secs(2);

/// The server's timestamps have no less.
const MICROSECOND: TimeDelta = TimeDelta::microseconds(1);

/// Keys of [`Bound::Writers`] that are settled once some transactions have ended. They are looked up once: a run that waits anew
/// for all that are writing would never begin.
#[derive(Debug, Default)]
pub struct Settling(OnceCell<(Option<String>, Mutex<Writers>)>);

pub async fn find(reading: &HomeReading, connection: &mut PgConnection, run: &OpenRun) -> Result<Start, BatchError> {
    let walk = &reading.walk;
    refuse_unreachable_rows(connection, run.id, walk).await?;
    let mut start = match walk.settles_by {
        Bound::None => Start::default(),
        Bound::Clock | Bound::Day => by_clock(connection, &reading.clock, run, walk).await?,
        Bound::Writers => by_writers(reading, connection, run).await?,
    };
    if walk.starts_over {
        from_the_beginning(connection, run.id, walk, &mut start).await?;
    }
    if walk.nulls_first() {
        start.after = nulls_again(run, start.after);
    }
    Ok(start)
}

pub async fn greatest_key(
    reading: &HomeReading,
    connection: &mut PgConnection,
    run: RunId,
) -> Result<Option<String>, BatchError> {
    let found = read_first(connection, run, &PageSql::incremental(&reading.walk).greatest_key()).await?;
    Ok(found.and_then(|found| found.0.into_iter().next().flatten()))
}

/// A full run of an incremental pipeline reads everything, and notes before its first page up to where everything is settled.
/// What the pipeline owes stays owed: the run may fail, and whatever follows it must read that then.
async fn from_the_beginning(
    connection: &mut PgConnection,
    run: RunId,
    walk: &Walk,
    start: &mut Start,
) -> Result<(), BatchError> {
    start.after = None;
    (start.debts.settled, start.debts.rewind) = (Default::default(), None);
    let Some(upper) = start.upper.as_ref().filter(|_| walk.leaves_settled()) else { return Ok(()) };
    let query = PageSql::incremental(walk).last_settled();
    let mut tx = backends::begin(connection, run.0, "begin read only").await?;
    let found = pages::read_below(&mut tx, &query, upper, walk.settles_by == Bound::Clock).await?;
    tx.rollback().await?;
    let mut values = found.map(|found| found.0.into_iter()).into_iter().flatten();
    start.leaves = values.next().flatten().map(|key| Checkpoint { key, id: values.next().flatten() });
    Ok(())
}

/// Before the first NULL key, and after those where the run would have begun.
fn nulls_again(run: &OpenRun, after: Option<Position>) -> Option<Position> {
    let then = after.or_else(|| run.checkpoint_from.as_ref().map(Position::after))?;
    Some(Position([None, None].into_iter().chain(then.0).collect()))
}

/// A row whose key is NULL would be in no page: better no mart than one that silently lacks rows.
async fn refuse_unreachable_rows(connection: &mut PgConnection, run: RunId, walk: &Walk) -> Result<(), BatchError> {
    let Some(query) = PageSql::of(walk).unreachable() else { return Ok(()) };
    if read_first(connection, run, &query).await?.is_none() {
        return Ok(());
    }
    Err(BatchError::fatal(format!(
        "the query returns rows whose {} is NULL, which no page would reach: leave them out, or set options.null_keys to `first`",
        walk.names().join(" or "),
    )))
}

/// Up to the start of the oldest open transaction; from the checkpoint, or from before it where rows are owed.
async fn by_clock(
    connection: &mut PgConnection,
    clock: &DatabaseClock,
    run: &OpenRun,
    walk: &Walk,
) -> Result<Start, BatchError> {
    let (key_type, hidden_cut) = (walk.key_type(), walk.hidden_cut());
    let mut horizon = read_horizon(connection, clock, run.id).await?;
    let unseen = std::mem::take(&mut horizon.unseen);
    let unseen = wait_for_unseen(connection, unseen, &horizon.server).await?;
    let step = clock::went_back(&horizon).inspect(|from| clock::report_step(*from, 1));
    let again = horizon.due_from.into_iter().chain(step).min();
    let is_past = |key: &str, since| clock_key::is_past(key, key_type, since);
    let allowing = |since, key: &str| clock_key::allowing_for_grain(since, key, key_type, hidden_cut);
    let rewind = again.zip(horizon.checkpoint.as_deref()).map(|(since, key)| (allowing(since, key), key));
    let rewind = rewind.filter(|(since, key)| is_past(key, *since)).map(|(since, _)| since);
    let after = run.checkpoint_from.as_ref().and_then(|checkpoint| {
        let key = checkpoint.key.as_str();
        let lookback = Some(TimeDelta::seconds(walk.lookback_seconds.into())).filter(|seconds| !seconds.is_zero());
        let lookback = lookback.and_then(|seconds| Some(key_time(key)? - seconds));
        // The bound of an earlier run that is run again is unknown; the runs after it have read what was missing.
        let is_current = horizon.checkpoint.as_deref() == Some(key);
        let unsettled =
            is_current.then(|| clock_key::unsettled_since(key, key_type, horizon.last, hidden_cut)).flatten();
        let again = again.map(|since| allowing(since, key));
        [lookback, unsettled, again].into_iter().flatten().min().filter(|since| is_past(key, *since))
    });
    Ok(Start {
        upper: Some(clock_key::bound(horizon.upper, key_type)),
        after: after.map(|since| Position::after(&before(since, walk.settles_by))),
        horizon: Some(horizon.upper),
        server: Some(horizon.server),
        debts: Debts {
            settled: horizon.due,
            rewind: rewind.map(|since| before(since, walk.settles_by)),
            incurred: horizon.passed.into_iter().chain(unseen).collect(),
        },
        ..Start::default()
    })
}

/// Reads the horizon and the clock. If the clock went back since the last reading, all pipelines that walk by it read again.
async fn read_horizon(connection: &mut PgConnection, clock: &DatabaseClock, run: RunId) -> Result<Horizon, BatchError> {
    let asked = Instant::now();
    let horizon = horizon::read(connection, run, horizon::PATIENCE).await?;
    if !clock.note(connection, asked, horizon.clock).await? {
        return Ok(horizon);
    }
    Ok(horizon::read(connection, run, horizon::PATIENCE).await?)
}

/// Waits for transactions whose start the server does not show. Those that stay open are passed: their rows are read again later.
async fn wait_for_unseen(
    connection: &mut PgConnection,
    unseen: Vec<Reread>,
    server: &str,
) -> Result<Vec<Reread>, BatchError> {
    if unseen.is_empty() {
        return Ok(unseen);
    }
    let transactions: Vec<_> = unseen.iter().map(|reread| reread.transaction.clone()).collect();
    if ended(connection, &transactions, server).await? {
        return Ok(Vec::new());
    }
    tracing::warn!(
        transactions = unseen.len(),
        "transactions are open whose start cannot be seen: prepared ones, or without pg_read_all_stats or track_activities; \
         everything since the last run is read again once they have ended"
    );
    Ok(unseen)
}

/// Waits until these transactions, which the server has named, have ended under these names. Whether they did in time.
async fn ended(connection: &mut PgConnection, transactions: &[String], server: &str) -> Result<bool, BatchError> {
    let deadline = Instant::now() + WAIT_FOR_WRITERS;
    while !transactions.is_empty() && horizon::any_open(connection, transactions, server).await? {
        if Instant::now() > deadline {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(true)
}

/// Every key that was given out until now is settled once the transactions that are writing now have ended.
async fn by_writers(reading: &HomeReading, connection: &mut PgConnection, run: &OpenRun) -> Result<Start, BatchError> {
    let relations: Vec<_> = reading.walk.reader.relations.iter().cloned().collect();
    let look_up = async || {
        // The greatest key first: a transaction that was given a smaller one was writing then, or is writing now.
        let greatest = greatest_key(reading, connection, run.id).await?;
        Ok::<_, BatchError>((greatest, horizon::writers(connection, &relations).await?.into()))
    };
    let (greatest, writers) = reading.settling.0.get_or_try_init(look_up).await?;
    let mut writers = writers.lock().await;
    while let Some(server) = &writers.server {
        if !ended(connection, &writers.transactions, server).await? {
            return Err(BatchError::NotYet("a transaction is writing to the source"));
        }
        // A prepared transaction outlives a crash, and is called otherwise then. No other one is waited for: a run that
        // waits for all that write meanwhile would never begin.
        let recovered = horizon::writers(connection, &relations).await?.recovered(&writers);
        if recovered.transactions.is_empty() {
            break;
        }
        *writers = recovered;
    }
    let settled = run.owed_step.iter().map(|noted| Due { transaction: String::new(), noted: noted.clone() });
    let from = run.checkpoint_from.as_ref().filter(|_| reading.walk.ties_again);
    let after = from.map(|checkpoint| Position(vec![Some(checkpoint.key.clone()), None]));
    // No step of the clock matters to keys that do not come from it.
    let debts = Debts { settled: settled.collect(), ..Debts::default() };
    Ok(Start { upper: greatest.clone(), after, debts, ..Start::default() })
}

/// The list in the first row of a query, read in a transaction that a cancellation of the run finds.
async fn read_first(connection: &mut PgConnection, run: RunId, query: &str) -> Result<Option<Position>, BatchError> {
    let mut tx = backends::begin(connection, run.0, "begin read only").await?;
    let found = pages::read_first(&mut tx, query, &[]).await?;
    tx.rollback().await?;
    Ok(found)
}

/// Before the first row of the transactions that began at this time or later. A query that pages itself begins *after* a key.
fn before(since: DateTime<Utc>, bound: Bound) -> Checkpoint {
    let key = match bound {
        Bound::Day => clock_key::smallest_key(since, ClockKey::Date),
        Bound::Clock | Bound::Writers | Bound::None => clock_key::text(since - MICROSECOND),
    };
    Checkpoint { key, id: None }
}
