//! The SQL of a page, and of what a run asks of its source besides.
//!
//! Statements get six parameters: `$1`, `$2` the key and id after which the page begins, `$3` its bound, `$4` its size, for queries
//! that page by themselves; `$5` where it begins and `$6` its bound, as text, for those that we page.

use vitrina_shared::{
    domain::SourceColumn,
    guard::ParameterTypes,
    sql::{quote, quoted},
};

use super::confined;
use crate::source::{Bound, Walk, WalkColumn};

/// How many rows a page has. They are counted once.
pub const TOTAL: &str = "total as (select count(*) as rows from page)";

#[derive(Debug, Clone, Copy)]
pub struct PageSql<'a> {
    walk: &'a Walk,
    columns: &'a [WalkColumn],
    bound: Bound,
}

impl<'a> PageSql<'a> {
    pub fn of(walk: &'a Walk) -> Self {
        Self { walk, columns: &walk.columns, bound: walk.bound }
    }

    /// Those of the incremental runs of the same pipeline.
    pub fn incremental(walk: &'a Walk) -> Self {
        Self { walk, columns: &walk.versions, bound: walk.settles_by }
    }

    pub fn walk(&self) -> &'a Walk {
        self.walk
    }

    /// Fails if the page has a key twice, with the SQLSTATE of `on conflict`; null otherwise. None where keys may come twice, or
    /// where something else refuses that. `on conflict` does not notice two rows of which one is unchanged, because unchanged rows
    /// are not written. Rows of one key are never cut apart, so a page has all of them.
    pub fn fail_on_repeated_key(&self) -> Option<String> {
        let column = |name: &str| {
            let collation = self.source_column(name)?.collation.as_ref();
            // A collation of the source may take different keys for one.
            Some(format!("page.{}{}", quote(name), if collation.is_some() { " collate \"C\"" } else { "" }))
        };
        let key: Vec<_> = self.walk.key.iter().filter_map(|key| column(&key.name)).collect();
        self.walk.keys_once.then(|| {
            format!(
                "select 0::bigint
                from (select from page group by {} having count(*) > 1 limit 1) as repeated, generate_series(1, 2)",
                key.join(", "),
            )
        })
    }

    /// The page's last row. It is found first and written as text then, not the other way round.
    pub fn last(&self) -> String {
        let values: Vec<_> = self.names("newest").iter().map(|name| format!("{name}::text")).collect();
        let newest: Vec<_> = self.names("page").iter().map(|name| format!("{name} desc nulls last")).collect();
        // A page that we ordered is read in its order. Comparing its rows once more would cost as much as reading them.
        let place = if self.pages_itself() {
            format!("order by {}", newest.join(", "))
        } else {
            "offset (select greatest(rows - 1, 0) from total)".to_owned()
        };
        // In the middle of NULL keys the place to go on from afterwards is carried along.
        let then = match self.names("newest").first() {
            Some(key) if self.nulls_first() => format!(" || case when {key} is null then ($5)[3:4] end"),
            Some(_) | None => String::new(),
        };
        format!(
            "select array[{values}]{then} from (select {walk} from page {place} limit 1) as newest",
            values = values.join(", "),
            walk = self.names("page").join(", "),
        )
    }

    /// Whether there may be more rows after this page; null if the page did not get further.
    pub fn more(&self) -> String {
        if !self.pages_itself() {
            return "total.rows >= $4".to_owned();
        }
        let names = self.names("page");
        let key = names.first().cloned().unwrap_or_default();
        format!(
            "select case when bool_and({key} is not null and coalesce($5 is null or ({names}) > ({values}), true)) is false
                  then null else count(*) > 0 end
            from page",
            names = names.join(", "),
            values = self.values(1).join(", "),
        )
    }

    /// The query's rows of this page.
    pub fn rows(&self) -> String {
        // By name: a query that says `*` may have others by now, or these in another order.
        let columns = quoted(self.walk.reader.columns.iter().map(|column| column.name.as_str()));
        if self.pages_itself() {
            return format!("select {columns} from ({}\n) as source", self.query());
        }
        let mut order = self.names("source");
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

    /// Selects all rows that the query returns, as a relation of a statement that compares or writes.
    pub fn all(&self) -> String {
        self.read_columns(self.walk.reader.columns.iter().collect())
    }

    /// Likewise their keys of the target.
    pub fn keys(&self) -> String {
        self.read_columns(self.walk.key.iter().filter_map(|key| self.source_column(&key.name)).collect())
    }

    fn read_columns(&self, columns: Vec<&SourceColumn>) -> String {
        let names = quoted(columns.iter().map(|column| column.name.as_str()));
        self.read_confined(&format!("select {names} from ({}\n) as source", self.query()), columns)
    }

    /// What a select around the query returns, as a relation of a statement that writes.
    pub fn read_confined<'c>(&self, query: &str, columns: impl IntoIterator<Item = &'c SourceColumn>) -> String {
        confined::read(query, columns, self.bound == Bound::Clock)
    }

    /// The query, with `$1` to `$4` for its placeholders. It is for `etl_page.read` alone.
    pub fn query(&self) -> String {
        let type_of =
            |place: usize| self.columns.get(place).map_or("text", |column| column.type_name.as_str()).to_owned();
        self.walk.reader.query.render(&ParameterTypes { key: type_of(0), id: type_of(1) })
    }

    /// The page's rows, for an incremental pipeline the newest of each key: a source may have several versions of one.
    pub fn newest(&self, names: &str) -> String {
        if self.walk.versions.is_empty() {
            return format!("select {names} from page");
        }
        let key: Vec<_> = self.walk.key.iter().map(|key| format!("page.{}{}", quote(&key.name), key.cast)).collect();
        let key = key.join(", ");
        format!("select distinct on ({key}) {names} from page order by {key}{}", self.newest_first("page"))
    }

    /// The order that puts the newest version of a row first: `, page.modified desc nulls last …`.
    pub fn newest_first(&self, relation: &str) -> String {
        let newest = |column: &WalkColumn| format!(", {relation}.{} desc nulls last", quote(&column.name));
        self.walk.versions.iter().map(newest).collect()
    }

    /// Reads the greatest key, as a list of one text. Not by `max`, which not every type has.
    pub fn greatest_key(&self) -> String {
        let key = self.columns.first().map(|column| quote(&column.name)).unwrap_or_default();
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
            .columns
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

    /// Reads the last row below the bound, as a list of its key and id: the checkpoint of an incremental run that has read
    /// everything up to there.
    pub fn last_settled(&self) -> String {
        let names = self.names("source");
        let texts: Vec<_> = names.iter().map(|name| format!("{name}::text")).collect();
        let known: Vec<_> = names.iter().map(|name| format!("{name} is not null")).collect();
        let newest: Vec<_> = names.iter().map(|name| format!("{name} desc")).collect();
        format!(
            "select array[{texts}] from ({query}\n) as source
            where {known} and {bound} order by {newest} limit 1",
            texts = texts.join(", "),
            query = self.query(),
            known = known.join(" and "),
            bound = self.below_bound(),
            newest = newest.join(", "),
        )
    }

    /// The rows that the run will read, without limit, for the planner's estimate.
    pub fn all_rows(&self) -> String {
        if self.pages_itself() {
            return format!("select from ({}\n) as source", self.query());
        }
        format!("select from ({}\n) as source where {} and {}", self.query(), self.after(), self.below_bound())
    }

    pub fn source_column(&self, name: &str) -> Option<&'a SourceColumn> {
        self.walk.reader.columns.iter().find(|column| column.name == name)
    }

    fn pages_itself(&self) -> bool {
        self.walk.reader.pages_itself()
    }

    fn nulls_first(&self) -> bool {
        self.walk.null_keys_first && self.bound != Bound::None
    }

    pub fn names(&self, relation: &str) -> Vec<String> {
        self.columns.iter().map(|column| format!("{relation}.{}", quote(&column.name))).collect()
    }

    /// The values of the row where the page begins that stand from this place on, with their types.
    fn values(&self, place: usize) -> Vec<String> {
        let typed = |(offset, column): (usize, &WalkColumn)| format!("($5)[{}]::{}", place + offset, column.type_name);
        self.columns.iter().enumerate().map(typed).collect()
    }

    /// The condition of being after the row where the page begins.
    fn after(&self) -> String {
        if !self.nulls_first() {
            return format!("($5 is null or {})", self.beyond(1));
        }
        // Without a key the page begins among the NULL keys; the third and fourth value say where it goes on after them.
        let (key, id) = (&self.columns[0], &self.columns[1]);
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
        let (names, values) = (self.names("source"), self.values(place));
        let after = format!("({}) > ({})", names.join(", "), values.join(", "));
        match (self.bound, names.as_slice(), values.as_slice()) {
            (Bound::Clock | Bound::Day | Bound::Writers, [key, _], [first, _]) => {
                format!("case when ($5)[{}] is null then {key} >= {first} else {after} end", place + 1)
            }
            _ => after,
        }
    }

    /// The condition of being below the bound of the run.
    fn below_bound(&self) -> String {
        let Some(key) = self.columns.first() else { return "true".to_owned() };
        let name = quote(&key.name);
        let null = if self.nulls_first() { format!("source.{name} is null or ") } else { String::new() };
        match self.bound {
            Bound::None => "true".to_owned(),
            Bound::Clock | Bound::Day => format!("({null}source.{name} < $6::{})", key.type_name),
            Bound::Writers => format!("({null}source.{name} <= $6::{})", key.type_name),
        }
    }
}
