//! The SQL of rows as they are now, for reports. `($5)[3]` to `($5)[5]` are the scope; the wanted ids or keys follow.

use futures_util::{StreamExt, TryStreamExt};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{SourceColumn, column_type::Extremes},
    sql::{literal, quote},
    store::dead_letters::RowKey,
};

use super::PageSql;
use crate::{
    error::BatchError,
    row_id::{DIGEST, MAX_ID_BYTES},
    source::{CountQuery, RowStream, RowsQuery, Scope, SourceCount, SourceRow, Walk, Wanted},
};

const ROWS: &str = "select * from etl_page.read($1, $2, 'infinity', $3, true)
    as source (place bigint, key text[], settled boolean, doc text, bytes bigint)";
const COUNT: &str = "select * from etl_page.read($1, $2, 'infinity', 9223372036854775807, true)
    as counted (settled bigint, in_flight bigint, least text, greatest text)";
/// Which of the wanted ids or keys a row has.
const PLACE: &str = "sought.place";

pub fn read<'a>(connection: &'a mut PgConnection, walk: &Walk, query: RowsQuery) -> RowStream<'a> {
    let statement = PageSql::of(walk).wanted_rows(&query);
    let mut parameters = query.scope.parameters();
    let mut limit = i64::MAX;
    match query.wanted {
        Wanted::All { .. } => {}
        Wanted::First(rows) => limit = rows.into(),
        Wanted::Ids(ids) => parameters.extend(ids.into_iter().map(Some)),
        Wanted::Keys(keys) => parameters.extend(keys.iter().map(|key| serde_json::to_string(key).ok())),
    }
    let rows = sqlx::query_as::<_, (i64, _, _, _, _)>(ROWS).bind(statement).bind(parameters).bind(limit);
    let row = |(place, key, settled, doc, bytes)| {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        SourceRow { place, key, settled, doc, bytes }
    };
    rows.fetch(connection).map_ok(row).map_err(BatchError::from).boxed()
}

/// Counts rows, and finds the least and greatest values of the column `control`.
pub async fn count(
    connection: &mut PgConnection,
    walk: &Walk,
    query: CountQuery<'_>,
) -> Result<SourceCount, BatchError> {
    let statement = PageSql::of(walk).counts(query);
    let counted = sqlx::query_as(COUNT).bind(statement).bind(query.scope.parameters()).fetch_one(connection);
    let (settled, in_flight, least, greatest) = counted.await?;
    Ok(SourceCount { settled, in_flight, least, greatest })
}

impl Scope {
    /// What statements get as `$5`: no place to begin after; then key, id and the key from which rows are owed.
    fn parameters(&self) -> Vec<Option<String>> {
        [None, None].into_iter().chain(self.bounds()).collect()
    }

    /// What statements get as `($5)[3]`, `[4]` and `[5]`.
    pub fn bounds(&self) -> [Option<String>; 3] {
        match self {
            Self::Everything | Self::Nothing => [None, None, None],
            Self::UpTo { checkpoint, owed } => [Some(checkpoint.key.clone()), checkpoint.id.clone(), owed.clone()],
        }
    }
}

impl PageSql<'_> {
    /// Returns place, key, `settled`, JSON and bytes of the wanted rows.
    fn wanted_rows(&self, query: &RowsQuery) -> String {
        let (key, rows) = (self.key_texts(), format!("({}\n) as source", self.query()));
        let (newest_by, place, from) = match &query.wanted {
            Wanted::All { newest_only } => (newest_only.then(|| key.clone()), "0::bigint", rows),
            Wanted::First(_) => {
                let order = self.names("source").join(", ");
                (None, "0::bigint", format!("(select * from {rows} order by {order} limit $4::bigint) as source"))
            }
            Wanted::Ids(_) => {
                let same = format!("{} collate \"C\" = sought.id", self.row_id());
                (Some(PLACE.to_owned()), PLACE, sought("value as id", &rows, &same))
            }
            Wanted::Keys(keys) => {
                (Some(PLACE.to_owned()), PLACE, sought(&self.sought_keys(), &rows, &self.same_key(keys)))
            }
        };
        let (only, order) = self.newest_of(newest_by);
        let (doc, bytes, whole) = match query.bodies {
            false => ("null::text".to_owned(), "0::bigint", String::new()),
            true => (
                format!("case when octet_length(whole.doc) <= {} then whole.doc end", self.walk().max_row_bytes),
                "octet_length(whole.doc)::bigint",
                // Not pulled up: the row is written as JSON once.
                format!(" cross join lateral (select {} as doc offset 0) as whole", self.row_as_json("source")),
            ),
        };
        let settled = self.settled(&query.scope);
        format!("select {only} {place}, {key}, {settled}, {doc}, {bytes} from {from}{whole} {order}")
    }

    /// What makes a select one of the newest row of each group: its beginning and its end.
    fn newest_of(&self, group: Option<String>) -> (String, String) {
        let newest = |by| (format!("distinct on ({by})"), format!("order by {by}{}", self.newest_first("source")));
        group.map(newest).unwrap_or_default()
    }

    /// The wanted keys, of the source's types.
    fn sought_keys(&self) -> String {
        let typed = |(n, column): (usize, &SourceColumn)| {
            format!("(value::jsonb ->> {})::{} as k{n}", literal(&column.name), column.cast_type())
        };
        self.key_columns().map(typed).collect::<Vec<_>>().join(", ")
    }

    /// The condition of a row having a wanted key. Nulls are equal as records are: unlike `is not distinct from`, that can be
    /// merged. No index serves it, so a column is compared so only if a null is wanted.
    fn same_key(&self, keys: &[RowKey]) -> String {
        let same = |(n, column): (usize, &SourceColumn)| {
            let name = quote(&column.name);
            let is_null = |key: &RowKey| key.get(&column.name).is_none_or(Option::is_none);
            match keys.iter().any(is_null) {
                true => format!("row(source.{name}::{})::record = row(sought.k{n})::record", column.cast_type()),
                false => format!("source.{name} = sought.k{n}"),
            }
        };
        self.key_columns().map(same).collect::<Vec<_>>().join(" and ")
    }

    fn key_columns(&self) -> impl Iterator<Item = (usize, &SourceColumn)> {
        self.walk().key.iter().filter_map(|key| self.source_column(&key.name)).enumerate()
    }

    /// Counts settled rows and others, with the least and greatest values of a column in the settled ones.
    fn counts(&self, CountQuery { scope, control, newest_only }: CountQuery<'_>) -> String {
        let control = match control.and_then(|name| self.source_column(name)) {
            // Its text has the same order.
            Some(column) if column.own_type().extremes() == Extremes::AsArray => {
                format!("source.{}::text collate \"C\"", quote(&column.name))
            }
            Some(column) => format!("source.{}", quote(&column.name)),
            None => "null::text".to_owned(),
        };
        let (only, order) = self.newest_of(newest_only.then(|| self.key_texts()));
        format!(
            "select count(*) filter (where settled), count(*) filter (where not settled),
                    to_json(min(c) filter (where settled))::text, to_json(max(c) filter (where settled))::text
             from (select {only} {settled} as settled, {control} as c from ({query}\n) as source {order}) as rows",
            settled = self.settled(scope),
            query = self.query(),
        )
    }

    /// The condition of a row of `source` being in the target by now. The bounds are read once, not once a row.
    pub fn settled(&self, scope: &Scope) -> String {
        let Scope::UpTo { checkpoint, owed } = scope else { return (*scope == Scope::Everything).to_string() };
        let [key, id] = &self.walk().columns[..] else { return "true".to_owned() };
        let (key_name, id_name) = (quote(&key.name), quote(&id.name));
        let (key_type, id_type) = (&key.type_name, &id.type_name);
        let mut settled = match checkpoint.id {
            Some(_) => format!(
                "(source.{key_name}, source.{id_name}) <= ((select ($5)[3]::{key_type}), (select ($5)[4]::{id_type}))"
            ),
            None => format!("source.{key_name} <= (select ($5)[3]::{key_type})"),
        };
        if owed.is_some() {
            settled.push_str(&format!(" and source.{key_name} < (select ($5)[5]::{key_type})"));
        }
        // Every run reads a row without a key anew: whether the last one saw this version of it is not known.
        format!("coalesce({settled}, false)")
    }

    fn key_texts(&self) -> String {
        format!("array[{}]", self.texts_of_key().join(", "))
    }

    /// The id of a row of `source`, as [`id_of_row`](crate::row_id::id_of_row) makes it.
    fn row_id(&self) -> String {
        let joined = match &self.texts_of_key()[..] {
            [single] => single.clone(),
            parts => {
                let escaped = |part: &String| {
                    format!("replace(replace({part}, chr(92), chr(92) || chr(92)), '|', chr(92) || '|')")
                };
                parts.iter().map(escaped).collect::<Vec<_>>().join(" || '|' || ")
            }
        };
        let bytes = format!("convert_to({joined}, 'UTF8')");
        format!(
            "coalesce(case when octet_length({bytes}) > {MAX_ID_BYTES} then '{DIGEST}' || encode(sha256({bytes}), 'hex') \
             else {joined} end, '')"
        )
    }

    fn texts_of_key(&self) -> Vec<String> {
        self.walk().key.iter().map(|key| self.key_text(&format!("source.{}", quote(&key.name)), key)).collect()
    }
}

/// Joins rows with what is sought, `columns` of each `value`. Not pulled up: every value is read once.
fn sought(columns: &str, rows: &str, same: &str) -> String {
    format!(
        "(select place - 1 as place, {columns} from unnest(($5)[6:]) with ordinality as s (value, place) offset 0) as sought
         join {rows} on {same}"
    )
}
