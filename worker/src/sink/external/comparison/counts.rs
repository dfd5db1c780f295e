//! How many rows and documents there are, and the least and greatest values of one column.

use vitrina_shared::{domain::SourceColumn, store::compared::Totals};

use super::{Comparison, SNAPSHOT};
use crate::{confined::quote, elasticsearch::same_value, error::BatchError, sink::Scope};

/// Types whose order is the same in an index. Values of others are not told.
const ORDERED: &[&str] = &[
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "date",
    "timestamp with time zone",
    "timestamp without time zone",
    "uuid",
];

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

    /// Counts both sides.
    pub async fn count(&self) -> Result<Counted, BatchError> {
        let mut counted = self.count_source(false).await?;
        if !self.is_there {
            return Ok(counted);
        }
        counted.target_rows = self.sink.count().await?.cast_signed();
        if let Some(column) = self.control().filter(|column| is_ordered(&column.type_name)) {
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
        let control = match self.control().filter(|column| is_ordered(&column.type_name)) {
            // It has no `min` of its own, and its text has the same order.
            Some(column) if column.type_name == "uuid" => format!("source.{}::text collate \"C\"", quote(&column.name)),
            Some(column) => format!("source.{}", quote(&column.name)),
            None => "null::text".to_owned(),
        };
        let (only, order) = self.of.subject.newest_only(newest_only);
        let query = format!(
            "select count(*) filter (where settled), count(*) filter (where not settled),
                    to_json(min(c) filter (where settled))::text, to_json(max(c) filter (where settled))::text
             from (select {only} {settled} as settled, {control} as c from ({query}\n) as source {order}) as rows",
            settled = scope.settled(&self.of.subject),
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

fn is_ordered(type_name: &str) -> bool {
    let name = type_name.split('(').next().unwrap_or_default();
    ORDERED.contains(&name) || ORDERED.contains(&type_name)
}
