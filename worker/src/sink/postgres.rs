//! Marts: tables of `analytics` in the home database, written inside the batch's transaction.
//!
//! `mart` is the table and the SQL that writes it; `stage` and `merge` write rows that passed through the worker; `completion`
//! makes the mart equal to the query after the last page of a full run; `compare` and `replay` are for reports.

mod compare;
mod completion;
mod key_cast;
mod mart;
mod merge;
mod pushdown;
mod replay;
mod stage;

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::{Connection, PgConnection, PgPool};
use vitrina_shared::{
    domain::{FullStrategy, Mode, RunId, RunStatus, SourceColumn, TargetName},
    sql::quote,
    store::{runs::OpenRun, swaps, tables},
    validation::{FoundTarget, TargetPlace},
};

use super::{
    BatchError, Compared, Comparing, Completed, InsideSink, Opening, PageWrite, Prepared, RemovalLimit, Replayed, Row,
    RunOpening, Sink, SinkKind, SinkRows, Subject, Writing,
};
use crate::{
    session::Session,
    source::{RowForm, home::PageSql},
};
use completion::Completion;
use merge::Merge;

pub use mart::Mart;

/// How tables begin in which runs gather their rows.
const SWAP_PREFIX: &str = "swap_";

#[derive(Debug)]
pub struct Marts;

#[derive(Debug)]
pub struct PostgresSink {
    mart: Mart,
    /// The table in which a run gathers its rows, instead of the mart.
    gathered_in: Option<String>,
    merge: Merge,
    /// What a full run does after its last page.
    completion: Option<Completion>,
    limit: RemovalLimit,
}

#[async_trait]
impl SinkKind for Marts {
    fn scheme(&self) -> &'static str {
        TargetName::MART_SCHEMA
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Arc<dyn Sink>, BatchError> {
        Ok(Arc::new(PostgresSink::open(opening)?))
    }

    fn relation(&self, target: &TargetName) -> Option<String> {
        match target {
            TargetName::Mart(table) => Some(format!("analytics.{}", quote(table))),
            TargetName::External(..) => None,
        }
    }

    /// Reads the columns of the mart anew, their types with schemas: users' queries run where no schema but the server's own is
    /// visible.
    async fn complete_target(&self, db: &mut PgConnection, target: &mut FoundTarget) -> Result<(), BatchError> {
        let TargetPlace::Mart(name, table) = &mut target.place else { return Ok(()) };
        let mut tx = db.begin().await?;
        sqlx::raw_sql("set local search_path = pg_catalog, pg_temp").execute(&mut *tx).await?;
        table.columns = tables::read_mart(&mut tx, name, &target.entry.key).await?.columns;
        Ok(tx.rollback().await?)
    }

    /// A table that is still in use is left for the next time: a wait for its lock would hold up all others.
    async fn give_up(&self, db: &PgPool) -> Result<Vec<(String, String)>, BatchError> {
        let mut connection = db.acquire().await?;
        for table in swaps::abandoned(&mut connection, SWAP_PREFIX).await? {
            if let Err(error) = swaps::remove(&mut connection, &table).await {
                tracing::debug!(table, error = %error, "a table could not be removed");
            }
        }
        Ok(Vec::new())
    }
}

impl PostgresSink {
    fn open(opening: &Opening<'_>) -> Result<Self, BatchError> {
        let (mart, inputs) = (Mart::of(opening)?, opening.inputs);
        let full = opening.run.filter(|_| opening.mode == Mode::Full);
        let swaps =
            |run: &RunOpening| run.begun.unwrap_or_else(|| mart.strategy(inputs, run.can_sweep)) == FullStrategy::Swap;
        // A query that pages by itself does not walk by the mart's key.
        let walks_by_key = !opening.reader.pages_itself();
        let gathered_in = full.filter(|run| walks_by_key && swaps(run)).map(|run| swap_table(run.id));
        let completion = full.map(|_| match &gathered_in {
            Some(table) => mart.swap(table),
            None => mart.sweep(inputs.mode),
        });
        let merge = Merge::of(&mart, gathered_in.as_deref());
        Ok(Self { merge, mart, gathered_in, completion, limit: RemovalLimit::of(inputs) })
    }

    /// Whether rows are gathered beside the mart, which changes all at once.
    fn gathers(&self) -> bool {
        self.gathered_in.is_some()
    }

    /// Writes what a select returns, or gathers it.
    fn insert(&self, rows: &str) -> String {
        match &self.gathered_in {
            None => self.mart.upsert(rows),
            Some(table) => mart::gather(table, &self.mart.names(), rows),
        }
    }
}

fn swap_table(run: RunId) -> String {
    format!("{SWAP_PREFIX}{}", run.0.simple())
}

#[async_trait]
impl Sink for PostgresSink {
    fn row_form(&self) -> RowForm {
        RowForm::ReadBack
    }

    fn column_type(&self, column: &SourceColumn) -> Option<String> {
        self.mart.columns.iter().find(|own| own.name == column.name).map(|own| own.type_name.clone())
    }

    async fn prepare(&self, connection: &mut PgConnection, run: &OpenRun) -> Result<Prepared, BatchError> {
        let begins = run.status == RunStatus::Queued && run.started_at.is_none();
        if let Some(Completion::Swap { gathering, .. }) = &self.completion {
            if begins {
                swaps::create(connection, gathering).await?;
            }
            return Ok(Prepared { target_id: begins.then(|| gathering.table.clone()), anew: false });
        }
        if run.is_other_mart && !begins {
            return Err(BatchError::fatal(format!(
                "`analytics.{}` was created anew, truncated or rewritten since the run began, and what it wrote may be gone. Run \
                 the pipeline again: it begins at the first row",
                self.mart.table,
            )));
        }
        let anew = run.is_other_mart && run.checkpoint_from.is_some();
        if anew {
            tracing::warn!(
                mart = self.mart.table,
                "the mart was created anew, truncated or rewritten: the run begins at the first row"
            );
        }
        Ok(Prepared { target_id: None, anew })
    }

    fn writing(&self) -> Writing<'_> {
        Writing::Inside(self)
    }

    async fn compare<'a>(
        &'a self,
        of: &'a Comparing<'a>,
        session: &'a mut Session,
    ) -> Result<Compared<'a>, BatchError> {
        compare::compare(&self.mart, &self.limit, of, session).await
    }

    async fn replay(
        &self,
        _subject: &Subject,
        tx: &mut PgConnection,
        rows: &[Row],
        _number: i64,
    ) -> Result<Vec<Replayed>, BatchError> {
        replay::write(&self.mart, tx, rows).await
    }

    fn key_cast(&self, column: &str) -> String {
        self.mart.key_cast(column)
    }

    /// A value of two rows is none. Rows that are gathered have a unique index.
    fn refuses_repeated_keys(&self) -> bool {
        !self.gathers() && !self.mart.changing().is_empty()
    }

    fn sweeps(&self) -> bool {
        matches!(self.completion, Some(Completion::Sweep { .. }))
    }

    fn pushdown(&self, pages: PageSql<'_>) -> Option<String> {
        Some(pushdown::statement(pages, self))
    }
}

#[async_trait]
impl InsideSink for PostgresSink {
    async fn stage(&self, tx: &mut PgConnection, rows: SinkRows<'_, Row>) -> Result<i64, BatchError> {
        stage::put_down(tx, rows).await
    }

    fn write_staged(&self, staged: i64, rejects_allowed: Option<i64>) -> PageWrite {
        match rejects_allowed {
            None => self.merge.all(),
            Some(most) => self.merge.those_accepted(staged, most),
        }
    }

    fn completes(&self) -> bool {
        self.completion.is_some()
    }

    async fn complete(&self, tx: &mut PgConnection, run: RunId, keys: Option<&str>) -> Result<Completed, BatchError> {
        match &self.completion {
            Some(completion) => completion.execute(tx, run, keys, (&self.mart, &self.limit)).await,
            None => Ok(Completed::default()),
        }
    }
}
