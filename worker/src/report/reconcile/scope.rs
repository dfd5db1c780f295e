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

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Checkpoint, Mode, PipelineId},
    store::{horizon, runs, state},
};

use crate::{error::BatchError, report::unfinished};

/// The rows of the source that should be in the target.
#[derive(Debug, Clone, PartialEq)]
pub enum Scope {
    /// All of them.
    Everything,
    /// Those up to a checkpoint.
    UpTo {
        /// The last row.
        checkpoint: Checkpoint,
        /// Keys from here on will be read again.
        owed: Option<DateTime<Utc>>,
    },
    /// None of them.
    Nothing,
}

/// Reads the scope in the snapshot that rows are compared in.
pub async fn read(
    tx: &mut PgConnection,
    pipeline: PipelineId,
    mode: Mode,
    asked_at: DateTime<Utc>,
) -> Result<Scope, BatchError> {
    if mode == Mode::Full {
        unfinished::refuse(tx, pipeline, asked_at).await?;
        return Ok(Scope::Everything);
    }
    if let Some(state) = state::find(tx, pipeline).await? {
        let owed = horizon::reread(tx, pipeline).await?.map(|reread| reread.from_key);
        return Ok(Scope::UpTo { checkpoint: state.checkpoint, owed });
    }
    let running = runs::find_active(tx, pipeline).await?.is_some();
    Ok(if running { Scope::Nothing } else { Scope::Everything })
}

impl Scope {
    /// What statements get as `($5)[3]`, `[4]` and `[5]`: key, id and the key from which rows are owed.
    pub fn parameters(&self) -> [Option<String>; 3] {
        match self {
            Self::Everything | Self::Nothing => [None, None, None],
            Self::UpTo { checkpoint, owed } => {
                [Some(checkpoint.key.clone()), checkpoint.id.clone(), owed.map(|time| time.to_rfc3339())]
            }
        }
    }
}
