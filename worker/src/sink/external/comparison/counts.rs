//! How many rows and documents there are, and the least and greatest values of one column.

use vitrina_shared::{domain::SourceColumn, store::comparison::Totals};

use super::{ExternalComparison, SNAPSHOT};
use crate::{
    error::BatchError,
    sink::{Bounds, external::fingerprint::same_value},
    source::{CountQuery, SourceCount},
};

/// Numbers of both sides. Values are in JSON.
#[derive(Debug)]
pub struct ExternalCounts {
    pub totals: Totals,
    source: [Option<String>; 2],
    target: [Option<String>; 2],
}

impl ExternalCounts {
    /// Whether the values agree, as far as the sink can tell them.
    pub fn bounds_agree(&self) -> bool {
        self.source.iter().zip(&self.target).all(|pair| match pair {
            (Some(source), Some(target)) => same_value(source, target),
            (_, None) | (None, _) => true,
        })
    }

    /// The values as people read them.
    pub fn shown(&self) -> Bounds {
        let text = |value: &Option<String>| {
            let json = value.as_deref()?;
            Some(serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned()))
        };
        let ([source_min, source_max], [target_min, target_max]) =
            (self.source.each_ref().map(text), self.target.each_ref().map(text));
        Bounds { source_min, source_max, target_min, target_max }
    }
}

impl ExternalComparison<'_> {
    /// The column whose least and greatest values are reported: what grows with every change, or else the key.
    pub fn control(&self) -> Option<&SourceColumn> {
        let name = self.of.subject.draft().incremental_key.as_ref().filter(|name| self.fields.contains(name));
        let name = name.or(self.of.subject.walk().key.first().map(|key| &key.name));
        self.of.subject.column(name.filter(|name| self.of.subject.is_untouched(name))?)
    }

    /// The same, where the sink has its values in the same order. Values of other columns are not reported.
    fn ordered_control(&self) -> Option<&SourceColumn> {
        self.control().filter(|column| self.sink.keeps_order(column))
    }

    pub async fn count(&self) -> Result<ExternalCounts, BatchError> {
        let mut counted = self.count_source(false).await?;
        if !self.is_there {
            return Ok(counted);
        }
        counted.totals.target_rows = self.sink.count().await?.cast_signed();
        if let Some(column) = self.ordered_control() {
            counted.target = [self.sink.extreme(column, false).await?, self.sink.extreme(column, true).await?];
        }
        Ok(counted)
    }

    /// Where the source has several versions of rows, only the newest ones have anything to say.
    pub async fn leave_out_versions(&self, counted: &mut ExternalCounts, totals: &Totals) -> Result<(), BatchError> {
        if totals.source_rows + totals.in_flight < counted.totals.source_rows + counted.totals.in_flight {
            counted.source = self.count_source(true).await?.source;
        }
        Ok(())
    }

    async fn count_source(&self, newest_only: bool) -> Result<ExternalCounts, BatchError> {
        let mut session = self.of.sessions.acquire().await?;
        let mut tx = session.begin_named(SNAPSHOT).await?;
        let scope = self.of.scope(&mut tx).await?;
        let control = self.ordered_control().map(|column| column.name.as_str());
        let SourceCount { settled: source_rows, in_flight, least, greatest } =
            self.of.subject.reading.count(&mut tx, CountQuery { scope: &scope, control, newest_only }).await?;
        tx.rollback().await?;
        let totals = Totals { source_rows, in_flight, ..Totals::default() };
        Ok(ExternalCounts { totals, source: [least, greatest], target: [None, None] })
    }
}
