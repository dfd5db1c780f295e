//! Which rows of the source should be in the target by now.
//!
//! | pipeline | its rows are |
//! |---|---|
//! | full, no unfinished run | all of them; what changed since the last run has drifted |
//! | full, a run is unfinished | in the middle of being replaced: the comparison waits |
//! | incremental | those up to the checkpoint; what is after it is in flight |
//! | incremental, owes a reread | those below the keys that must be read again |
//! | incremental, before its first run | all of them |
//! | incremental, in its first batch | none |
//!
//! A batch writes its rows and its checkpoint at once, so in one snapshot these never contradict each other.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Mode, PipelineId, RunStatus, Status, clock_key},
    store::{
        horizon, pipelines, runs,
        state::{self, State},
    },
};

use super::Subject;
use crate::{error::BatchError, source::Scope};

/// How much later than it took it a transaction publishes its start, at most: `etl.run_batch` allows for that.
const LATEST_START: TimeDelta = TimeDelta::seconds(1);

/// How long a report waits for a run to end.
const PATIENCE: TimeDelta = TimeDelta::minutes(10);

/// Reads the scope in the snapshot that rows are compared in.
pub async fn read(tx: &mut PgConnection, subject: &Subject, asked_at: DateTime<Utc>) -> Result<Scope, BatchError> {
    let pipeline = subject.pipeline.id;
    if subject.draft().mode == Mode::Full {
        refuse_unfinished(tx, pipeline, asked_at).await?;
        return Ok(Scope::Everything);
    }
    if let Some(state) = state::find(tx, pipeline).await? {
        let owed = horizon::owed_from(tx, pipeline).await?;
        let owed = owed_from(&state, owed, subject.walk().hidden_cut());
        return Ok(Scope::UpTo { checkpoint: state.checkpoint, owed });
    }
    let running = runs::find_active(tx, pipeline).await?.is_some();
    Ok(if running { Scope::Nothing } else { Scope::Everything })
}

/// The key from which on rows will be read again: of passed transactions, or with the checkpoint's own coarse key.
fn owed_from(state: &State, owed: Option<DateTime<Utc>>, hidden: TimeDelta) -> Option<String> {
    let key = &state.checkpoint.key;
    let key_type = clock_key::type_of(key);
    let horizon = state.horizon.map(|horizon| horizon + LATEST_START);
    let unsettled = horizon.and_then(|horizon| clock_key::unsettled_since(key, key_type, Some(horizon), hidden));
    let owed = owed.map(|since| clock_key::allowing_for_grain(since, key, key_type, hidden));
    [owed, unsettled].into_iter().flatten().min().map(|since| clock_key::smallest_key(since, key_type))
}

/// Gives the report back while a run of the pipeline is unfinished.
pub async fn refuse_unfinished(
    connection: &mut PgConnection,
    pipeline: PipelineId,
    asked_at: DateTime<Utc>,
) -> Result<(), BatchError> {
    let found = pipelines::find(connection, &pipeline.into()).await?;
    let found = found.ok_or_else(|| BatchError::RunEnded("the pipeline is gone".to_owned()))?;
    let writer = runs::writer_of(connection, found.draft.final_target().0).await?;
    // Another pipeline's run on the same target is as much in the way.
    let other = writer.filter(|writer| writer.pipeline_id != pipeline);
    if !found.status.has_unfinished_run() && other.is_none() {
        return Ok(());
    }
    if found.status == Status::Paused {
        return Err(BatchError::fatal("the pipeline's run is paused: let it go on, or cancel it"));
    }
    if let Some(other) = other.filter(|other| other.status == RunStatus::Paused) {
        let name = other.pipeline;
        return Err(BatchError::fatal(format!(
            "the run of pipeline `{name}`, which writes the same target, is paused: let it go on, or cancel it"
        )));
    }
    // By the clock that wrote the other time.
    let now: DateTime<Utc> = sqlx::query_scalar("select clock_timestamp()").fetch_one(connection).await?;
    if now - asked_at > PATIENCE {
        return Err(BatchError::fatal("the pipeline's run did not end while the report waited for it"));
    }
    Err(BatchError::NotYet("a run of the pipeline is unfinished"))
}
