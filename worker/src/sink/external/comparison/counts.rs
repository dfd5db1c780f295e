//! How many rows and documents there are, and the least and greatest values of one column.

use vitrina_shared::{
    domain::{SourceColumn, column_type::Extremes},
    sql::quote,
    store::comparison::Totals,
};

use super::{Comparison, SNAPSHOT};
use crate::{elasticsearch::same_value, error::BatchError, sink::Scope};

const COUNT: &str = "select * from etl_page.read($1, $2, 'infinity', 9223372036854775807, true)
    as counted (source_rows bigint, in_flight bigint, least text, greatest text)";

/// Numbers of both sides. Values are in JSON.
#[derive(Debug, Default)]
pub struct Counted {
    pub source_rows: i64,
    pub target_rows: i64,
    pub in_flight: i64,
    source: [Option<String>; 2],
    target: [Option<String>; 2],
}

impl Counted {
    /// The numbers alone.
    pub fn totals(&self) -> Totals {
        let Self { source_rows, target_rows, in_flight, .. } = *self;
        Totals { source_rows, target_rows, in_flight, ..Totals::default() }
    }

    /// Whether the values agree, as far as the index can tell them.
    pub fn bounds_agree(&self) -> bool {
        self.source.iter().zip(&self.target).all(|pair| match pair {
            (Some(source), Some(target)) => same_value(source, target),
            (_, None) | (None, _) => true,
        })
    }

    /// The values as people read them: the source's least and greatest, then the index's.
    pub fn shown(&self) -> [Option<String>; 4] {
        let text = |value: &Option<String>| {
            let json = value.as_deref()?;
            Some(serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned()))
        };
        [text(&self.source[0]), text(&self.source[1]), text(&self.target[0]), text(&self.target[1])]
    }
}

impl Comparison<'_> {
    /// The column whose least and greatest values are told: what grows with every change, or else the key.
    pub fn control(&self) -> Option<&SourceColumn> {
        let name = self.of.subject.draft().incremental_key.as_ref().filter(|name| self.fields.contains(name));
        let name = name.or(self.of.subject.key.first()).filter(|name| self.of.subject.is_untouched(name))?;
        self.of.subject.reader.columns.iter().find(|column| &column.name == name)
    }

    /// The same, where an index has its values in the same order. Values of others are not told.
    fn ordered_control(&self) -> Option<&SourceColumn> {
        self.control().filter(|column| column.own_type().is_ordered_in_index())
    }

    /// Counts both sides.
    pub async fn count(&self) -> Result<Counted, BatchError> {
        let mut counted = self.count_source(false).await?;
        if !self.is_there {
            return Ok(counted);
        }
        counted.target_rows = self.sink.count().await?.cast_signed();
        if let Some(column) = self.ordered_control() {
            counted.target = [self.sink.extreme(column, false).await?, self.sink.extreme(column, true).await?];
        }
        Ok(counted)
    }

    /// Where the source has several versions of rows, only the newest ones have anything to say.
    pub async fn leave_out_versions(&self, counted: &mut Counted, totals: &Totals) -> Result<(), BatchError> {
        if totals.source_rows + totals.in_flight < counted.source_rows + counted.in_flight {
            counted.source = self.count_source(true).await?.source;
        }
        Ok(())
    }

    async fn count_source(&self, newest_only: bool) -> Result<Counted, BatchError> {
        let mut session = self.of.sessions.acquire().await?;
        let mut tx = session.begin_named(SNAPSHOT).await?;
        let scope = self.of.scope(&mut tx).await?;
        let control = match self.ordered_control() {
            // Its text has the same order.
            Some(column) if column.own_type().extremes() == Extremes::AsArray => {
                format!("source.{}::text collate \"C\"", quote(&column.name))
            }
            Some(column) => format!("source.{}", quote(&column.name)),
            None => "null::text".to_owned(),
        };
        let (only, order) = self.of.subject.newest_only(newest_only);
        let query = format!(
            "select count(*) filter (where settled), count(*) filter (where not settled),
                    to_json(min(c) filter (where settled))::text, to_json(max(c) filter (where settled))::text
             from (select {only} {settled} as settled, {control} as c from ({query}\n) as source {order}) as rows",
            settled = scope.settled(self.of.subject),
            query = self.of.subject.query(),
        );
        let (source_rows, in_flight, least, greatest) =
            sqlx::query_as(COUNT).bind(query).bind(parameters(&scope)).fetch_one(&mut *tx).await?;
        tx.rollback().await?;
        Ok(Counted { source_rows, in_flight, source: [least, greatest], ..Counted::default() })
    }
}

/// What queries get as `$5`: the scope, where those that compare marts have it.
pub fn parameters(scope: &Scope) -> Vec<Option<String>> {
    [None, None].into_iter().chain(scope.parameters()).collect()
}
