//! The database of Vitrina itself as a source.
//!
//! `statements` is the SQL of a page and of what is asked besides, `documents` that of its rows as JSON, `confined` how a user's
//! query stands in it. `bound` decides from where to where a run reads, `pages` reads, `estimate` asks the planner, `rows` reads for reports.

mod bound;
mod confined;
mod documents;
mod estimate;
mod pages;
mod rows;
mod statements;

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::{PgConnection, PgPool};
use vitrina_shared::{
    domain::{PipelineDraft, RunId},
    guard::{Describing, SourceSchemas},
    store::runs::{OpenRun, Start},
    validation::{self, Described},
};

use self::{bound::Settling, pages::PageStatement};
pub use self::{
    confined::document,
    documents::as_text,
    statements::{PageSql, TOTAL},
};
use super::{CountQuery, PageQuery, PageStream, Reading, RowStream, RowsQuery, Source, SourceCount, Walk, WorkHandle};
use crate::{clock::DatabaseClock, error::BatchError, session::Sessions};

#[derive(Debug, Clone)]
pub struct Home {
    pub describing: Describing,
    /// Schemas that queries may read.
    pub schemas: SourceSchemas,
    /// Reads pages whose rows pass through the worker, while they are written over another connection.
    pub page_pool: PgPool,
    /// What the database's clock said last.
    pub clock: Arc<DatabaseClock>,
}

#[async_trait]
impl Source for Home {
    fn kind(&self) -> &'static str {
        "home"
    }

    fn reads(&self, _: &PipelineDraft) -> bool {
        true
    }

    fn is_home(&self) -> bool {
        true
    }

    async fn describe(&self, draft: &PipelineDraft) -> Result<Described, BatchError> {
        Ok(validation::describe(&self.describing, draft, &self.schemas).await?)
    }

    fn open(&self, walk: Walk) -> Arc<dyn Reading> {
        let (pool, clock) = (self.page_pool.clone(), self.clock.clone());
        Arc::new(HomeReading { walk, pool, clock, settling: Settling::default() })
    }
}

#[derive(Debug)]
struct HomeReading {
    walk: Walk,
    pool: PgPool,
    clock: Arc<DatabaseClock>,
    settling: Settling,
}

#[async_trait]
impl Reading for HomeReading {
    fn walk(&self) -> &Walk {
        &self.walk
    }

    fn home_sql(&self) -> Option<PageSql<'_>> {
        Some(PageSql::of(&self.walk))
    }

    async fn bound(&self, home: &mut PgConnection, run: &OpenRun) -> Result<Start, BatchError> {
        bound::find(self, home, run).await
    }

    fn page(&self, work: WorkHandle, page: PageQuery) -> PageStream {
        pages::begin(Sessions::new(&self.pool, work), PageStatement::of(&self.walk, page))
    }

    async fn greatest_key(&self, home: &mut PgConnection, run: RunId) -> Result<Option<String>, BatchError> {
        bound::greatest_key(self, home, run).await
    }

    async fn estimate(&self, home: &mut PgConnection, run: RunId, page: &PageQuery) -> Result<Option<i64>, BatchError> {
        estimate::rows_left(home, (run, &self.walk, page)).await
    }

    async fn fixed_share(
        &self,
        home: &mut PgConnection,
        run: RunId,
        page: &PageQuery,
    ) -> Result<Option<f64>, BatchError> {
        estimate::fixed_share(home, (run, &self.walk, page)).await
    }

    fn rows<'a>(&'a self, home: &'a mut PgConnection, query: RowsQuery) -> RowStream<'a> {
        rows::read(home, &self.walk, query)
    }

    async fn count(&self, home: &mut PgConnection, query: CountQuery<'_>) -> Result<SourceCount, BatchError> {
        rows::count(home, &self.walk, query).await
    }
}
