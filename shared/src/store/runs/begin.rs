//! Takes a run up: what it was requested with, and where it begins.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use crate::{
    domain::{Checkpoint, FullStrategy, Mode, PipelineDraft, PipelineId, Position, RunId, RunStatus},
    store::horizon::{Due, Reread},
};

/// An unfinished run, as the worker that takes it up sees it.
#[derive(Debug)]
pub struct OpenRun {
    pub id: RunId,
    pub pipeline_id: PipelineId,
    pub mode: Mode,
    pub status: RunStatus,
    pub started_at: Option<DateTime<Utc>>,
    pub checkpoint_from: Option<Checkpoint>,
    pub inputs: PipelineDraft,
    /// The index that it writes, or the table in which it gathers its rows, once it was begun.
    pub target_id: Option<String>,
    /// The index that the pipeline's checkpoint belongs to.
    pub checkpoint_of: Option<String>,
    /// The mart's table and files now.
    pub target_files: Option<Value>,
    /// Whether the mart was replaced since the run began, or since its checkpoint's run did if it has not begun.
    pub is_other_mart: bool,
    /// The number of the next batch of the range that was asked for.
    pub next_batch: i64,
    pub after: Option<Position>,
    pub is_walked: bool,
    pub is_cut: bool,
    /// The columns that it walks by, once it was begun; before, those that its checkpoint is of.
    pub walks_by: Option<Json<Vec<WalkedColumn>>>,
    /// Whether one of them is not as it was when that was noted.
    pub is_retyped: bool,
    /// The row that says that the pipeline must read again because the clock went back.
    pub owed_step: Option<String>,
    /// The fingerprint of the relations that were asked for.
    pub catalog: Option<String>,
    /// The code and the keys that its steps were begun with (`store::worker_steps`).
    pub code: Option<Vec<String>>,
}

/// A column that a run walks by, as it was when its keys were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkedColumn {
    /// Its type, with length or precision and collation.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The table or view whose column it is, zero where it is none.
    pub relation: u32,
    pub number: i16,
}

impl OpenRun {
    /// How a full run writes a mart, once it was begun. It goes on like that whatever its target looks like by then: pages
    /// that were gathered are not in the mart, and others were not gathered.
    pub fn strategy(&self) -> Option<FullStrategy> {
        let gathers = self.target_id.is_some();
        self.started_at.map(|_| if gathers { FullStrategy::Swap } else { FullStrategy::Merge })
    }
}

/// Reads a run unless it has ended, where one of its ranges stands, and whether these relations are as they were.
pub async fn open(
    connection: &mut PgConnection,
    id: RunId,
    range_no: i32,
    relations: Option<&[String]>,
) -> sqlx::Result<Option<OpenRun>> {
    sqlx::query_as!(
        OpenRun,
        r#"
        select r.id as "id: RunId", r.pipeline_id as "pipeline_id: PipelineId", r.mode as "mode: Mode",
               r.status as "status: RunStatus", r.started_at, r.checkpoint_from as "checkpoint_from: Checkpoint",
               r.inputs as "inputs: PipelineDraft", r.target_id, f.target_id as checkpoint_of,
               m.files as target_files,
               coalesce(etl.is_other_mart(coalesce(r.target_files, f.target_files), m.files), false) as "is_other_mart!",
               g.next_batch, g.after as "after: Position", g.finished_at is not null as "is_walked!",
               exists (select from etl.etl_run_ranges o where o.run_id = r.id and o.range_no > 0) as "is_cut!",
               g.walks_by as "walks_by: Json<Vec<WalkedColumn>>",
               etl.note_walk(g.walks_by) is distinct from g.walks_by as "is_retyped!",
               (select w.xmin::text from etl.etl_rereads w
                where w.pipeline_id = r.pipeline_id and w.transaction = '') as owed_step,
               etl.catalog_of($3) as catalog, r.code
        from etl.etl_runs r
        join etl.etl_run_ranges g on g.run_id = r.id and g.range_no = $2
        left join etl.etl_state s on s.pipeline_id = r.pipeline_id
        left join etl.etl_runs f on f.id = s.run_id
        cross join lateral etl.files_of(r.target) m (files)
        where r.id = $1 and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
        "#,
        id as RunId,
        range_no,
        relations,
    )
    .fetch_optional(connection)
    .await
}

/// What is known of a run when its first batch begins.
#[derive(Debug, Default)]
pub struct Start {
    pub upper: Option<String>,
    /// Where it begins instead of at its checkpoint.
    pub after: Option<Position>,
    /// How many of its ranges are walked, where it was requested with more than one and begins now.
    pub ranges: Option<i32>,
    /// The time behind the bound, where keys come from the clock.
    pub horizon: Option<DateTime<Utc>>,
    pub server: Option<String>,
    /// What was owed and is read now, and what is owed from now on.
    pub debts: Debts,
    /// The checkpoint that a full run of an incremental pipeline leaves.
    pub leaves: Option<Checkpoint>,
    /// The index that it writes, or the table in which it gathers its rows.
    pub target_id: Option<String>,
    pub target_files: Option<Value>,
    /// Why it begins at the first row, if it does.
    pub anew: Option<Anew>,
    /// The columns that it walks by; none where they are those that were noted, and as they were.
    pub walks_by: Option<Vec<WalkedColumn>>,
    /// The code and the keys of its steps; none where it has no such steps.
    pub code: Option<Vec<String>>,
}

/// Why a checkpoint says nothing about what is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anew {
    /// It is of another target than stands under the name now.
    OtherTarget,
    /// The columns that its key and id are of have other types now.
    Retyped,
}

/// How a run's start changes what its pipeline must read again.
#[derive(Debug, Default, PartialEq)]
pub struct Debts {
    pub settled: Vec<Due>,
    /// The pipeline's checkpoint moves back to here.
    pub rewind: Option<Checkpoint>,
    /// What must be read again by a later run.
    pub incurred: Vec<Reread>,
}

/// Notes the columns that a range is walked by: they have new names and the same types.
pub(crate) async fn note_walk(
    tx: &mut PgConnection,
    id: RunId,
    range_no: i32,
    walks_by: &Vec<WalkedColumn>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_run_ranges set walks_by = etl.note_walk($3) where run_id = $1 and range_no = $2",
        id as RunId,
        range_no,
        Json(walks_by) as Json<&Vec<WalkedColumn>>,
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub async fn set_total(connection: &mut PgConnection, id: RunId, rows: i64) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set rows_total = $2 where id = $1", id as RunId, rows)
        .execute(connection)
        .await?;
    Ok(())
}
