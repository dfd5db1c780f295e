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

use futures_util::future::BoxFuture;
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
use super::{
    Answer, PageQuery, PageStream, Reading, RowStream, RowsQuery, Scope, Source, SourceCount, Walk, WorkHandle,
};
use crate::{clock::DatabaseClock, session::Sessions};

#[derive(Debug, Clone)]
pub struct Home {
    pub describing: Describing,
    /// Schemas that queries may read.
    pub schemas: SourceSchemas,
    /// Reads pages whose rows pass through the worker, while they are written over another connection.
    pub reading: PgPool,
    /// What the database's clock said last.
    pub clock: Arc<DatabaseClock>,
}

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

    fn describe<'a>(&'a self, draft: &'a PipelineDraft) -> BoxFuture<'a, sqlx::Result<Described>> {
        Box::pin(validation::describe(&self.describing, draft, &self.schemas))
    }

    fn open(&self, walk: Walk) -> Arc<dyn Reading> {
        let (pool, clock) = (self.reading.clone(), self.clock.clone());
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

impl Reading for HomeReading {
    fn walk(&self) -> &Walk {
        &self.walk
    }

    fn bound<'a>(&'a self, home: &'a mut PgConnection, run: &'a OpenRun) -> Answer<'a, Start> {
        Box::pin(bound::find(self, home, run))
    }

    fn page(&self, work: WorkHandle, page: PageQuery) -> PageStream {
        pages::begin(Sessions::new(&self.pool, work), PageStatement::of(&self.walk, page))
    }

    fn greatest_key<'a>(&'a self, home: &'a mut PgConnection, run: RunId) -> Answer<'a, Option<String>> {
        Box::pin(bound::greatest_key(self, home, run))
    }

    fn estimate<'a>(&'a self, home: &'a mut PgConnection, run: RunId, page: &'a PageQuery) -> Answer<'a, Option<i64>> {
        Box::pin(estimate::rows_left(home, run, &self.walk, page))
    }

    fn fixed_share<'a>(
        &'a self,
        home: &'a mut PgConnection,
        run: RunId,
        page: &'a PageQuery,
    ) -> Answer<'a, Option<f64>> {
        Box::pin(estimate::fixed_share(home, run, &self.walk, page))
    }

    fn rows<'a>(&'a self, home: &'a mut PgConnection, query: RowsQuery) -> RowStream<'a> {
        rows::read(home, &self.walk, query)
    }

    fn count<'a>(
        &'a self,
        home: &'a mut PgConnection,
        scope: &'a Scope,
        control: Option<&'a str>,
        newest_only: bool,
    ) -> Answer<'a, SourceCount> {
        Box::pin(rows::count(home, &self.walk, (scope, control, newest_only)))
    }
}
