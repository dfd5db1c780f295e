//! What the server's catalog says of types: what a domain, an array or a range is made of in the end, and whether `=` tells
//! every two values apart that read differently.

use crate::{
    domain::{ColumnType, Equal},
    sql::literals,
};

/// What a column's type is made of.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct ValueType {
    /// The type behind a domain, with its length; `record` for a composite. None where the type is neither.
    pub resolved: Option<String>,
    /// The type of the elements, bounds or values in the end, without its length.
    pub leaf: String,
    pub is_enum: bool,
    /// Whether texts are equal only where they are the same; true for types without a collation.
    pub deterministic: bool,
}

/// `leaf`: what each type of `start (place, type, modifier, collated_by)` is made of. `plain` is the type without its domains,
/// a range as a whole; `type` goes on to the type of a range's bounds.
pub(crate) fn leaves(start: &str) -> String {
    format!(
        r"
        start as ({start}),
        part as (
            select place, type, modifier, collated_by, '' as suffix, false as domain, false as bound, null::oid as range
            from start
            union all
            select p.place, step.*
            from part p
            join pg_type t on t.oid = p.type
            cross join lateral (
                select t.typbasetype, t.typtypmod, p.collated_by, p.suffix, true, p.bound, p.range where t.typtype = 'd'
                union all
                select t.typelem, p.modifier, p.collated_by, p.suffix || case when p.bound then '' else '[]' end, p.domain, p.bound, p.range
                from pg_type e where e.oid = t.typelem and e.typarray = t.oid
                union all
                select r.rngsubtype, -1, r.rngcollation, p.suffix, p.domain, true, coalesce(p.range, t.oid)
                from pg_range r where t.oid in (r.rngtypid, r.rngmultitypid)
            ) as step
        ),
        leaf as (
            select p.place, p.suffix, p.domain, t.typtype = 'c' as composite, t.typtype = 'e' as is_enum,
                   format_type(p.type, null) as leaf,
                   case when t.typtype = 'c' then 'record' else format_type(coalesce(p.range, p.type), case when p.bound then null else p.modifier end)
                   end || p.suffix as plain,
                   coalesce(c.collisdeterministic, true) as deterministic,
                   case
                       when p.suffix = '' and not p.bound and t.oid = any ({sign}) then 'sign'
                       when t.oid = any ({scale}) and p.modifier >= 0 then 'equality'
                       when p.suffix = '' and not p.bound and t.oid = any ({scale}) then 'scale'
                       when t.oid = any ({blanks}) and p.modifier >= 0 and coalesce(c.collisdeterministic, true) then 'equality'
                       -- The operators of enums do not take domains.
                       when (t.typtype = 'e' and not p.domain or t.oid = any ({same})) and coalesce(c.collisdeterministic, true) then 'equality'
                       else 'image'
                   end as identity
            from part p
            join pg_type t on t.oid = p.type
            left join pg_collation c on c.oid = p.collated_by
            where t.typtype <> 'd'
              and not exists (select from pg_type e where e.oid = t.typelem and e.typarray = t.oid)
              and not exists (select from pg_range r where t.oid in (r.rngtypid, r.rngmultitypid))
        )",
        sign = types(Equal::Sign),
        scale = types(Equal::Scale),
        blanks = types(Equal::Blanks),
        same = types(Equal::Same),
    )
}

/// The server's types whose `=` is of this kind.
fn types(equal: Equal) -> String {
    format!("array[{}]::regtype[]::oid[]", literals(ColumnType::names_equal(equal)))
}
