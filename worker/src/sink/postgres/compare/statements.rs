//! The statements of a comparison. Each returns one `jsonb`, as [`etl_mart.compare`] wants it; those of a repair return what
//! `etl_mart.run` wants.
//!
//! `coarse` hashes both sides once, in buckets of keys; `narrow` looks into those buckets that differ. So neither the
//! worker nor the server ever holds more than the buckets' sums and the rows of a few of them.
//!
//! [`etl_mart.compare`]: ../../../../../migrations/functions/etl_mart.compare.sql

use vitrina_shared::{
    domain::{Mode, report::Depth},
    sql::{literal, quote},
    store::tables::TargetColumn,
};

use super::sides::Sides;
use crate::source::Scope;

/// Into how many parts keys are divided: enough to leave most rows alone, few enough for the server's memory.
pub const BUCKETS: u32 = 4096;
/// Keys that a statement returns; where more differ they are only counted.
pub const MOST_KEYS: usize = 1000;

/// Which rows a closer look is taken at.
#[derive(Debug, Clone, PartialEq)]
pub enum Closer {
    /// Those in these buckets.
    Buckets(Vec<u32>),
    /// Those whose keys are listed in `($5)[6]`.
    Keys,
}

#[derive(Debug)]
pub enum RepairStatement {
    /// Removes what is extra, or writes what is missing or different.
    Change(String),
    /// Removes rows that are written anew: only where nothing is lost by it.
    MakeRoom(String),
}

impl Closer {
    /// Whether every row is looked at: where most buckets differ, choosing among them costs more than it saves.
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::Buckets(buckets) if buckets.len() > BUCKETS as usize / 2)
    }
}

impl Sides<'_> {
    /// Counts rows and finds the least and greatest values of the control column. `exact` also where keys repeat.
    pub fn counts(&self, exact: bool) -> String {
        let source = if exact { self.source("true", "") } else { self.source_versions() };
        let flying = format!("exists (select from flying where {})", self.same_key("flying", "t"));
        format!(
            "with s as materialized (
                 select count(*) filter (where settled) as n, count(*) filter (where not settled) as flying,
                        {settled_least} as least, {settled_greatest} as greatest
                 from ({source}) as s
             ),
             flying as materialized (
                 select distinct {keys} from ({versions}) as s where not settled
             ),
             t as materialized (
                 select count(*) as n, {least} as least, {greatest} as greatest
                 from ({target}) as t where not {flying}
             )
             select jsonb_build_object(
                 'source_rows', s.n, 'target_rows', t.n, 'in_flight', s.flying,
                 'source_min', s.least, 'source_max', s.greatest, 'target_min', t.least, 'target_max', t.greatest
             )
             from s cross join t",
            settled_least = self.control_text("min(c) filter (where settled)"),
            settled_greatest = self.control_text("max(c) filter (where settled)"),
            keys = self.key_names("s").join(", "),
            versions = self.source_versions(),
            least = self.control_text("min(c)"),
            greatest = self.control_text("max(c)"),
            target = self.target("true"),
        )
    }

    /// Counts and hashes both sides in buckets, and names the buckets that differ.
    pub fn coarse(&self) -> String {
        let bucket = |relation: &str| match self.depth {
            // The hash of the key is there already.
            Depth::Keys | Depth::Counts => format!("({relation}.h & {})", BUCKETS - 1),
            Depth::Rows => self.bucket(relation, BUCKETS),
        };
        let side = |rows: &str, relation: &str, settled: &str, flying: &str| {
            format!(
                "select {bucket} as bucket, count(*){settled} as n, coalesce(sum(h){settled}, 0) as h, {flying} as flying,
                        min(c){settled} as least, max(c){settled} as greatest
                 from ({rows}) as {relation} group by 1",
                bucket = bucket(relation),
            )
        };
        let (settled, flying) = match self.scope {
            Scope::Everything => ("", "0"),
            Scope::UpTo { .. } | Scope::Nothing => (" filter (where settled)", "count(*) filter (where not settled)"),
        };
        format!(
            "with pair as materialized (
                 select coalesce(s.bucket, t.bucket) as bucket, coalesce(s.n, 0) as s_n, coalesce(s.flying, 0) as flying,
                        s.least as s_least, s.greatest as s_greatest, t.least as t_least, t.greatest as t_greatest,
                        coalesce(s.n, 0) = coalesce(t.n, 0) and coalesce(s.h, 0) = coalesce(t.h, 0) as same
                 from ({source}) as s full join ({target}) as t on s.bucket = t.bucket
             )
             select jsonb_build_object(
                 'same_rows', coalesce(sum(s_n) filter (where same), 0), 'in_flight', coalesce(sum(flying), 0),
                 'source_min', {source_min}, 'source_max', {source_max},
                 'target_min', {target_min}, 'target_max', {target_max},
                 'buckets', coalesce(jsonb_agg(bucket order by bucket) filter (where not same), '[]')
             )
             from pair",
            source = side(&self.source_versions(), "s", settled, flying),
            target = side(&self.target("true"), "t", "", "0"),
            source_min = self.control_text("min(s_least)"),
            source_max = self.control_text("max(s_greatest)"),
            target_min = self.control_text("min(t_least)"),
            target_max = self.control_text("max(t_greatest)"),
        )
    }

    /// Names the rows that differ among those that are looked at.
    pub fn narrow(&self, closer: &Closer) -> String {
        let texts: Vec<_> = self.key_names("listed").iter().map(|name| format!("{name}::text")).collect();
        format!(
            "with {found}
             select jsonb_build_object(
                 'source_rows', count(*) filter (where settled),
                 'target_rows', {target_rows},
                 'missing', count(*) filter (where kind = 'missing'),
                 'extra', count(*) filter (where kind = 'extra'),
                 'different', count(*) filter (where kind = 'different'),
                 'keys', (
                     select coalesce(jsonb_agg(jsonb_build_array(listed.kind, {texts})), '[]')
                     from (select * from found where kind is not null order by {keys} limit {MOST_KEYS}) as listed
                 )
             )
             from found",
            found = self.found(closer, ""),
            // A query that repeats a key finds the target's row as often; in mode `full` nothing is in flight.
            target_rows = match self.subject.draft().mode {
                Mode::Full => "(select count(*) from t)",
                Mode::Incremental => "count(*) filter (where in_target and coalesce(settled, true))",
            },
            texts = texts.join(", "),
            keys = self.key_names("found").join(", "),
        )
    }

    /// The values of those keys of `($5)[6]` that differ.
    pub fn details(&self) -> String {
        let compared = self.compared();
        let values = |relation: &str| -> String {
            let value = |(place, (_, own)): (usize, &(_, &TargetColumn))| {
                format!(", {relation}.{} as v{place}", quote(&own.name))
            };
            compared.iter().enumerate().map(value).collect()
        };
        let differs: Vec<_> = compared
            .iter()
            .enumerate()
            .map(|(place, (_, own))| {
                let (source, target) = (
                    format!("s.v{place}::{}::text collate \"C\"", own.type_name),
                    format!("t.v{place}::text collate \"C\""),
                );
                format!(
                    "case when {source} is distinct from {target} then jsonb_build_object({name}, jsonb_build_object(
                         'source', left({source}, 200), 'target', left({target}, 200))) else '{{}}'::jsonb end",
                    name = literal(&own.name),
                )
            })
            .collect();
        let texts: Vec<_> = self.key_names("s").iter().map(|name| format!("{name}::text")).collect();
        format!(
            "with {wanted}, s as materialized ({source})
             select coalesce(jsonb_agg(
                 jsonb_build_object('key', jsonb_build_array({texts}), 'columns', {differs})
             ), '[]')
             from s join (select {target_keys}{target_values} from analytics.{table} as target) as t on {same}",
            wanted = self.wanted(),
            source = self.source(&self.only(&Closer::Keys), &values("source")),
            texts = texts.join(", "),
            differs = differs.join(" || "),
            target_keys = self.target_keys(),
            target_values = values("target"),
            table = quote(&self.mart.table),
            same = self.same_key("s", "t"),
        )
    }

    /// Reads the rows of `($5)[6]` twice, and counts those that came differently: a query that is not deterministic.
    pub fn unsteady(&self) -> String {
        format!(
            "with {wanted},
             once as materialized (select rows.*, true as here from ({source}) as rows),
             twice as materialized (select rows.*, true as here from ({source}) as rows)
             select to_jsonb(count(*))
             from once full join twice on {same}
             where once.here is null or twice.here is null or once.h <> twice.h",
            wanted = self.wanted(),
            source = self.source(&self.only(&Closer::Keys), ""),
            same = self.same_key("once", "twice"),
        )
    }

    /// Removes the rows that are extra where that is wanted, and writes those that are missing or different. Each statement
    /// returns how many it removed and wrote. Where something besides the key is unique the removal comes first, by itself:
    /// a statement does not see what another part of it removes. So do rows that get another such value, as two may exchange
    /// theirs: they are written anew, where nothing is lost with them.
    pub fn repair(&self, closer: &Closer, remove_extra: bool) -> Vec<RepairStatement> {
        let (remove, write) = (self.remove("found.kind = 'extra'"), self.write());
        let statement = |values: &str, parts: &[&str], removed: &str, written: &str| {
            let found = self.found(closer, values);
            format!("with {found}, {} select ({removed}), ({written}), null::text[], false", parts.join(", "))
        };
        let (values, none) = (self.written_values(), "0::bigint");
        let (removed, written) = ("select count(*) from gone", "select count(*) from written");
        match (remove_extra, self.mart.unique.is_empty()) {
            (false, _) => vec![RepairStatement::Change(statement(&values, &[&write], none, written))],
            (true, true) => vec![RepairStatement::Change(statement(&values, &[&remove, &write], removed, written))],
            (true, false) => {
                let make_room = self.passes_on().map(|condition| self.remove(&condition));
                let make_room = make_room.map(|remove| statement(&values, &[&remove], none, none));
                let remove = RepairStatement::Change(statement("", &[&remove], removed, none));
                let write = RepairStatement::Change(statement(&values, &[&write], none, written));
                [remove].into_iter().chain(make_room.map(RepairStatement::MakeRoom)).chain([write]).collect()
            }
        }
    }

    /// The condition of a row of `target` giving a unique value to another one, as runs have it; none where no row may be
    /// removed for that.
    fn passes_on(&self) -> Option<String> {
        let differs = self.mart.passes_on(|place, own| format!("found.v{place}::{}", own.type_name))?;
        Some(format!("found.kind = 'different' and {differs}"))
    }

    /// `gone`: removes the rows of `target` that were found and fulfil a condition.
    fn remove(&self, condition: &str) -> String {
        let key = self.target_key_values().into_iter().zip(self.key_names("found"));
        let same: Vec<_> = key.map(|(own, found)| format!("{own} = {found}")).collect();
        format!(
            "gone as (
                 delete from analytics.{table} as target using found where {condition} and {same} returning 1
             )",
            table = quote(&self.mart.table),
            same = same.join(" and "),
        )
    }

    /// The values that are written, as the query returns them: assigned, not cast, so that one that does not fit is refused.
    fn written_values(&self) -> String {
        let value =
            |(place, (_, own)): (usize, &(_, &TargetColumn))| format!(", source.{} as v{place}", quote(&own.name));
        self.compared().iter().enumerate().map(value).collect()
    }

    /// `written`: writes what is missing or different.
    fn write(&self) -> String {
        let places: Vec<_> = (0..self.compared().len()).map(|n| format!("v{n}")).collect();
        let rows = format!("select {} from found where kind in ('missing', 'different')", places.join(", "));
        format!("written as ({})", self.mart.upsert(&rows))
    }

    /// `found`: the rows that are looked at, with their `kind` where they differ, and `more` of the source's columns.
    fn found(&self, closer: &Closer, more: &str) -> String {
        let only = self.only(closer);
        let wanted = match closer {
            Closer::Keys => format!("{}, ", self.wanted()),
            Closer::Buckets(_) => String::new(),
        };
        let keys: Vec<_> =
            (1..=self.subject.walk().key.len()).map(|n| format!("coalesce(s.k{n}, t.k{n}) as k{n}")).collect();
        let carried = (0..more.matches(" as v").count()).map(|n| format!(", s.v{n}")).collect::<String>();
        format!(
            "{wanted}s as materialized (select rows.*, true as here from ({source}) as rows),
             t as materialized (select rows.*, true as here from ({target}) as rows),
             found as materialized (
                 select {keys}, s.settled, t.here is not null as in_target{carried},
                        case when s.here is null then 'extra'
                             when not s.settled then null
                             when t.here is null then 'missing'
                             when s.h <> t.h then 'different' end as kind
                 from s full join t on {same}
             )",
            source = self.source(&only, more),
            target = self.target(&only),
            keys = keys.join(", "),
            same = self.same_key("s", "t"),
        )
    }

    /// The condition of a row being looked at.
    fn only(&self, closer: &Closer) -> String {
        match closer {
            everything if everything.is_everything() => "true".to_owned(),
            Closer::Buckets(buckets) => {
                let list: Vec<_> = buckets.iter().map(u32::to_string).collect();
                format!("{} = any('{{{}}}'::bigint[])", self.bucket("rows", BUCKETS), list.join(","))
            }
            Closer::Keys => {
                let names = self.key_names("rows").join(", ");
                format!("({names}) in (select {} from wanted)", self.key_names("wanted").join(", "))
            }
        }
    }

    /// `wanted`: the keys of `($5)[6]`.
    fn wanted(&self) -> String {
        let typed = |(place, type_name): (usize, &str)| format!("(w ->> {place})::{type_name} as k{}", place + 1);
        let keys: Vec<_> = self.key_types().into_iter().enumerate().map(typed).collect();
        format!("wanted as materialized (select {} from jsonb_array_elements(($5)[6]::jsonb) as w)", keys.join(", "))
    }
}
