//! The SQL of a page: read, upsert and report in one statement, so that no row leaves the server.
//!
//! A page's statement returns `(rows_read, rows_written, last, more)`. It executes with the rights to write marts, and the
//! user's query within it with the rights to read sources (`confined`). Both get six parameters: `$1`, `$2` the key and id
//! after which the page begins, `$3` its bound, `$4` its size, for queries that page by themselves; `$5` where it begins and
//! `$6` its bound, as text, for those that we page.

use vitrina_shared::{
    domain::{NullKeys, PipelineDraft, SourceColumn},
    guard::ParameterTypes,
    sql::{quote, quoted},
    validation::Reader,
};

use super::plan::{Bound, WalkColumn};
use crate::{confined, sink::PostgresSink};

/// How many rows a page has. They are counted once.
pub(super) const TOTAL: &str = "total as (select count(*) as rows from page)";

/// Everything a page's statement is made of.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    pub inputs: &'a PipelineDraft,
    pub reader: &'a Reader,
    /// The columns of the target's key.
    pub key: &'a [String],
    /// The mart that its rows go to, if they go to one.
    pub sink: Option<&'a PostgresSink>,
    pub walk: &'a [WalkColumn],
    /// The columns that tell the newest of several rows of one key; none where the query returns each key once.
    pub versions: &'a [WalkColumn],
    pub bound: Bound,
}

impl Page<'_> {
    /// The whole statement, which writes to a mart.
    pub fn statement(&self, sink: &PostgresSink) -> String {
        // Rows that are gathered count as written when they change the mart.
        let counted = if sink.gathers() { "select 0::bigint" } else { "select count(*) from written" };
        // Where every row was written, `on conflict` has seen to it that no key came twice.
        let written = match self.fail_on_repeated_key() {
            Some(fail) => {
                format!("tally.rows + case when tally.rows < total.rows then coalesce(({fail}), 0) else 0 end")
            }
            None => "tally.rows".to_owned(),
        };
        format!(
            "with page as materialized ({rows}), {TOTAL},
            written as ({write}),
            tally (rows) as ({counted})
            select total.rows, {written}, ({last}), ({more})
            from total, tally",
            rows = self.read_confined(&self.rows(), self.reader.columns.iter()),
            write = sink.insert(&self.newest(&sink.mart.names())),
            last = self.last(),
            more = self.more(),
        )
    }

    /// Fails if the page has a key twice, with the SQLSTATE of `on conflict`: a value of two rows is none. Null otherwise; none
    /// where keys may come twice, or where something else refuses that. `on conflict` alone would not: a row that is as the
    /// target has it already is not written. Rows of one key are never cut apart, so a page shows all of them.
    pub(super) fn fail_on_repeated_key(&self) -> Option<String> {
        if !self.versions.is_empty() || self.sink.is_none_or(|sink| sink.gathers() || sink.mart.changing().is_empty()) {
            return None;
        }
        let column = |name: &String| {
            let collation = self.reader.columns.iter().find(|column| &column.name == name)?.collation.as_ref();
            // A collation of the source may take different keys for one.
            Some(format!("page.{}{}", quote(name), if collation.is_some() { " collate \"C\"" } else { "" }))
        };
        let key: Vec<_> = self.key.iter().filter_map(column).collect();
        Some(format!(
            "select 0::bigint
            from (select from page group by {} having count(*) > 1 limit 1) as repeated, generate_series(1, 2)",
            key.join(", "),
        ))
    }

    /// The page's last row. It is found first and written as text then, not the other way round.
    pub(super) fn last(&self) -> String {
        let values: Vec<_> = self.walk_names("newest").iter().map(|name| format!("{name}::text")).collect();
        let newest: Vec<_> = self.walk_names("page").iter().map(|name| format!("{name} desc nulls last")).collect();
        // A page that we ordered is read in its order. Comparing its rows once more would cost as much as reading them.
        let place = if self.pages_itself() {
            format!("order by {}", newest.join(", "))
        } else {
            "offset (select greatest(rows - 1, 0) from total)".to_owned()
        };
        // In the middle of NULL keys the place to go on from afterwards is carried along.
        let then = match self.walk_names("newest").first() {
            Some(key) if self.nulls_first() => format!(" || case when {key} is null then ($5)[3:4] end"),
            Some(_) | None => String::new(),
        };
        format!(
            "select array[{values}]{then} from (select {walk} from page {place} limit 1) as newest",
            values = values.join(", "),
            walk = self.walk_names("page").join(", "),
        )
    }

    /// Whether there may be more rows after this page; null if the page did not get further.
    pub(super) fn more(&self) -> String {
        if !self.pages_itself() {
            return "total.rows >= $4".to_owned();
        }
        let names = self.walk_names("page");
        let key = names.first().cloned().unwrap_or_default();
        format!(
            "select case when bool_and({key} is not null and coalesce($5 is null or ({names}) > ({values}), true)) is false
                  then null else count(*) > 0 end
            from page",
            names = names.join(", "),
            values = self.begin_values(),
        )
    }

    /// The values of the row where the page begins, with their types.
    fn begin_values(&self) -> String {
        let typed = |(place, column): (usize, &WalkColumn)| format!("($5)[{}]::{}", place + 1, column.type_name);
        self.walk.iter().enumerate().map(typed).collect::<Vec<_>>().join(", ")
    }

    fn pages_itself(&self) -> bool {
        !self.reader.query.placeholders().is_empty()
    }

    /// What a select around the query returns, as a relation of a statement that writes.
    fn read_confined<'c>(&self, query: &str, columns: impl IntoIterator<Item = &'c SourceColumn>) -> String {
        confined::read(query, columns, self.bound == Bound::Clock)
    }

    /// The query's rows of this page.
    pub(super) fn rows(&self) -> String {
        let columns = confined::names(&self.reader.columns);
        if self.pages_itself() {
            return format!("select {columns} from ({}\n) as source", self.query());
        }
        let mut order = self.walk_names("source");
        if self.nulls_first() {
            order[0].push_str(" nulls first");
        }
        // With ties: rows that a page cannot tell apart are never cut apart.
        format!(
            "select {columns} from ({query}\n) as source where {after} and {bound} order by {order} fetch first ($4) rows with ties",
            query = self.query(),
            after = self.after(),
            bound = self.below_bound(),
            order = order.join(", "),
        )
    }

    pub(super) fn query(&self) -> String {
        let type_of = |place: usize| self.walk.get(place).map_or("text", |column| column.type_name.as_str()).to_owned();
        self.reader.query.render(&ParameterTypes { key: type_of(0), id: type_of(1) })
    }

    /// Whether NULL keys are read before all others, in every run: they have no place after a checkpoint.
    pub fn nulls_first(&self) -> bool {
        let wanted = self.inputs.options.null_keys == Some(NullKeys::First);
        wanted && self.bound != Bound::None && !self.pages_itself()
    }

    /// The columns of the walk, of the given relation.
    pub(super) fn walk_names(&self, relation: &str) -> Vec<String> {
        self.walk.iter().map(|column| format!("{relation}.{}", quote(&column.name))).collect()
    }

    /// The condition of being after the row where the page begins.
    fn after(&self) -> String {
        if !self.nulls_first() {
            return format!("($5 is null or {})", self.beyond(1));
        }
        // Without a key the page begins among the NULL keys; the third and fourth value say where it goes on after them.
        let (key, id) = (&self.walk[0], &self.walk[1]);
        let (key_name, id_name) = (quote(&key.name), quote(&id.name));
        let id_type = &id.type_name;
        format!(
            "case when $5 is null then true
                  when ($5)[1] is not null then {beyond}
                  when source.{key_name} is null then ($5)[2] is null or source.{id_name} > ($5)[2]::{id_type}
                  else ($5)[3] is null or {then} end",
            beyond = self.beyond(1),
            then = self.beyond(3),
        )
    }

    /// The condition of being after the row whose values stand from this place on. Without an id the page begins with the key.
    fn beyond(&self, place: usize) -> String {
        let names = self.walk_names("source");
        let value = |(offset, column): (usize, &WalkColumn)| format!("($5)[{}]::{}", place + offset, column.type_name);
        let values: Vec<_> = self.walk.iter().enumerate().map(value).collect();
        let after = format!("({}) > ({})", names.join(", "), values.join(", "));
        match (self.bound, names.as_slice(), values.as_slice()) {
            (Bound::Clock | Bound::Day | Bound::Writers, [key, _], [first, _]) => {
                format!("case when ($5)[{}] is null then {key} >= {first} else {after} end", place + 1)
            }
            _ => after,
        }
    }

    /// The condition of being below the bound of the run.
    pub(super) fn below_bound(&self) -> String {
        let Some(key) = self.walk.first() else { return "true".to_owned() };
        let name = quote(&key.name);
        let null = if self.nulls_first() { format!("source.{name} is null or ") } else { String::new() };
        match self.bound {
            Bound::None => "true".to_owned(),
            Bound::Clock | Bound::Day => format!("({null}source.{name} < $6::{})", key.type_name),
            Bound::Writers => format!("({null}source.{name} <= $6::{})", key.type_name),
        }
    }

    /// The keys of all rows that the query returns now.
    pub fn keys(&self) -> String {
        let column = |name: &String| self.reader.columns.iter().find(|column| &column.name == name);
        let key = quoted(self.key.iter().map(String::as_str));
        let query = format!("select {key} from ({}\n) as source", self.query());
        self.read_confined(&query, self.key.iter().filter_map(column))
    }

    /// The page's rows, for an incremental pipeline the newest of each key: a source may have several versions of one.
    pub(super) fn newest(&self, names: &str) -> String {
        if self.versions.is_empty() {
            return format!("select {names} from page");
        }
        let value = |name: &String| match self.sink {
            Some(sink) => sink.mart.stored_key("page", name),
            None => format!("page.{}", quote(name)),
        };
        let key = self.key.iter().map(value).collect::<Vec<_>>().join(", ");
        let newest: Vec<_> =
            self.versions.iter().map(|column| format!("{} desc nulls last", quote(&column.name))).collect();
        format!("select distinct on ({key}) {names} from page order by {key}, {}", newest.join(", "))
    }

    /// Reads the greatest key, as a list of one text. Not by `max`, which not every type has.
    pub fn greatest_key(&self) -> String {
        let key = self.walk.first().map(|column| quote(&column.name)).unwrap_or_default();
        format!(
            "select array[source.{key}::text] from ({query}\n) as source
            where source.{key} is not null order by source.{key} desc limit 1",
            query = self.query(),
        )
    }

    /// Reads a list if there is a row that no page would reach, where the walk's columns may be NULL.
    pub fn unreachable(&self) -> Option<String> {
        if self.pages_itself() {
            return None;
        }
        let nullable: Vec<_> = self
            .walk
            .iter()
            .skip(usize::from(self.nulls_first()))
            .filter(|column| column.nullable != Some(false))
            .map(|column| format!("source.{} is null", quote(&column.name)))
            .collect();
        (!nullable.is_empty()).then(|| {
            format!(
                "select '{{}}'::text[] from ({}\n) as source where {} limit 1",
                self.query(),
                nullable.join(" or "),
            )
        })
    }

    /// The rows that the run will read, without limit, for the planner's estimate.
    pub fn estimate(&self) -> String {
        if self.pages_itself() {
            return format!("select from ({}\n) as source", self.query());
        }
        format!("select from ({}\n) as source where {} and {}", self.query(), self.after(), self.below_bound())
    }
}
