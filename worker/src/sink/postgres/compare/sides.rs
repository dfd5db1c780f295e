//! Source and target as SQL that can be compared: the same keys, the same types, the same hash.
//!
//! Every name is quoted, every value is a parameter, and the query executes in `etl_page.read`.

use vitrina_shared::{
    domain::{ColumnType, Identity, Mode, SourceColumn, column_type::Extremes, report::Depth},
    sql::{identified, quote},
    store::tables::TargetColumn,
};

use crate::{
    sink::{Subject, postgres::mart::Mart},
    source::{KeyColumn, Scope, home::PageSql},
};

pub struct Sides<'a> {
    pub subject: &'a Subject,
    pub source: PageSql<'a>,
    pub mart: &'a Mart,
    /// Whether values are compared, or keys alone.
    pub depth: Depth,
    pub scope: &'a Scope,
}

impl Sides<'_> {
    /// The columns that are compared: the query's, as far as the target has them.
    pub fn compared(&self) -> Vec<(&SourceColumn, &TargetColumn)> {
        let own = |name: &str| self.mart.columns.iter().find(|own| own.name == name);
        let source = self.subject.reader().columns.iter().filter(|column| self.subject.is_untouched(&column.name));
        source.filter_map(|column| Some((column, own(&column.name)?))).collect()
    }

    /// Those of the key, in its order.
    fn key(&self) -> Vec<(&SourceColumn, &TargetColumn)> {
        let compared = self.compared();
        let of_key = |key: &KeyColumn| compared.iter().find(|(column, _)| column.name == key.name).copied();
        self.subject.walk().key.iter().filter_map(of_key).collect()
    }

    /// `k1, k2 …`, of the given relation.
    pub fn key_names(&self, relation: &str) -> Vec<String> {
        (1..=self.subject.walk().key.len()).map(|place| format!("{relation}.k{place}")).collect()
    }

    pub fn key_types(&self) -> Vec<&str> {
        self.key().into_iter().map(|(_, own)| own.type_name.as_str()).collect()
    }

    pub fn same_key(&self, one: &str, other: &str) -> String {
        let pairs = self.key_names(one).into_iter().zip(self.key_names(other));
        pairs.map(|(one, other)| format!("{one} = {other}")).collect::<Vec<_>>().join(" and ")
    }

    /// The column whose least and greatest values are reported: what grows with every change, or else the key.
    pub fn control(&self) -> Option<(&SourceColumn, &TargetColumn)> {
        let compared = self.compared();
        let key = self.subject.draft().incremental_key.as_ref();
        let grows = compared.iter().find(|(column, _)| Some(&column.name) == key).copied();
        grows.or_else(|| self.key().into_iter().next())
    }

    /// The source's rows with `k1 …`, their hash `h`, `settled`, the control column `c`, and `more`; of several versions of a row
    /// the newest, which is the one that is written.
    pub fn source(&self, only: &str, more: &str) -> String {
        let walk = self.source.names("source").into_iter().enumerate().map(|(n, name)| format!(", {name} as w{n}"));
        let rows = self.source_rows(&format!("{more}{}", walk.collect::<String>()));
        let rows = format!("select rows.* from ({rows}) as rows where {only}");
        if self.subject.draft().mode == Mode::Full || self.subject.reader().pages_itself() {
            return rows;
        }
        let names = self.key_names("rows").join(", ");
        let newest = (0..self.subject.walk().columns.len()).map(|n| format!("rows.w{n} desc nulls last"));
        let newest = newest.collect::<Vec<_>>().join(", ");
        format!("select distinct on ({names}) rows.* from ({rows}) as rows order by {names}, {newest}")
    }

    /// All versions of them: enough where keys do not repeat, and a hint where they do.
    pub fn source_versions(&self) -> String {
        self.source_rows("")
    }

    fn source_rows(&self, more: &str) -> String {
        format!(
            "select {keys}, {hash} as h, {settled} as settled, {control} as c{more} from ({rows}) as source",
            keys = self.keys(Side::Source),
            hash = self.hash(Side::Source),
            settled = self.source.settled(self.scope),
            control = self.control_value(Side::Source),
            rows = self.source.all(),
        )
    }

    /// The target's rows with `k1 …`, their hash `h` and the control column `c`.
    pub fn target(&self, only: &str) -> String {
        format!(
            "select rows.* from (
                 select {keys}, {hash} as h, {control} as c from analytics.{table} as target
             ) as rows where {only}",
            keys = self.keys(Side::Target),
            hash = self.hash(Side::Target),
            control = self.control_value(Side::Target),
            table = quote(&self.mart.table),
        )
    }

    /// In which part of all keys a row is.
    pub fn bucket(&self, relation: &str, buckets: u32) -> String {
        format!("({} & {})", self.key_hash(&self.key_names(relation)), buckets - 1)
    }

    /// The hash of a key. That of a single column is asked of its type: a record costs as much again as its values.
    fn key_hash(&self, values: &[String]) -> String {
        let types = self.key_types();
        if let ([value], [own]) = (values, types.as_slice())
            && let Some(function) = ColumnType::of(own).hash_function()
        {
            return format!("coalesce({function}({value}, 0), 0)");
        }
        let hashed = |(value, own): (&String, &str)| {
            if ColumnType::of(own).hashes_itself() { value.clone() } else { format!("({value})::text") }
        };
        let values: Vec<_> = values.iter().zip(types).map(hashed).collect();
        format!("hash_record_extended(row({}), 0)", values.join(", "))
    }

    pub fn target_keys(&self) -> String {
        self.keys(Side::Target)
    }

    pub fn target_key_values(&self) -> Vec<String> {
        self.key_values(Side::Target)
    }

    fn keys(&self, side: Side) -> String {
        let named = |(place, value): (usize, String)| format!("{value} as k{}", place + 1);
        self.key_values(side).into_iter().enumerate().map(named).collect::<Vec<_>>().join(", ")
    }

    fn key_values(&self, side: Side) -> Vec<String> {
        let value = |pair: (&SourceColumn, &TargetColumn)| {
            let collate = if pair.1.own_type().is_of_texts() { " collate \"C\"" } else { "" };
            format!("({}{collate})", side.value(pair))
        };
        self.key().into_iter().map(value).collect()
    }

    fn hash(&self, side: Side) -> String {
        if self.depth != Depth::Rows {
            return self.key_hash(&self.key_values(side));
        }
        let values: Vec<_> = self
            .compared()
            .into_iter()
            .flat_map(|pair| {
                let value = format!("({})", side.value(pair));
                // As a run distinguishes them.
                let identity = pair.1.identity;
                if identity != Identity::Image && pair.1.own_type().hashes_itself() {
                    identified(&value, identity)
                } else {
                    vec![format!("{value}::text collate \"C\"")]
                }
            })
            .collect();
        format!("hash_record_extended(row({}), 0)", values.join(", "))
    }

    fn control_value(&self, side: Side) -> String {
        let Some(pair) = self.control() else { return "null::text".to_owned() };
        let value = side.value(pair);
        match pair.1.own_type().extremes() {
            Extremes::Own => value,
            Extremes::AsArray => format!("array[{value}]"),
            Extremes::AsText => format!("({value})::text collate \"C\""),
        }
    }

    /// A value of the control column, or the least or greatest of them, as it is shown.
    pub fn control_text(&self, value: &str) -> String {
        let in_array = self.control().is_some_and(|(_, own)| own.own_type().extremes() == Extremes::AsArray);
        if in_array { format!("({value})[1]::text") } else { format!("({value})::text") }
    }
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Source,
    Target,
}

impl Side {
    /// The value of a column, of the target's type.
    fn value(self, (column, own): (&SourceColumn, &TargetColumn)) -> String {
        let name = quote(&own.name);
        match self {
            Self::Target => format!("target.{name}"),
            Self::Source if column.type_oid == own.type_oid && !own.type_name.contains('(') => format!("source.{name}"),
            Self::Source => format!("source.{name}::{}", own.type_name),
        }
    }
}
