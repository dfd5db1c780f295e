//! The SQL of a replay: the rows as they are now, and the upsert of one of them.

use crate::{
    batch::{comparable, literal, of_any_length, quote},
    report::subject::Subject,
};

/// Returns the letter, the key, the version and the JSON text of each row that is there, for the letters of `($5)[3]`:
/// pairs of an id and a key. Of a row with more than `most` bytes there is only its size. Of several versions the newest is the one that a run would write.
pub fn read_current(subject: &Subject, most: u32) -> String {
    let wanted: Vec<_> = subject
        .key
        .iter()
        .filter_map(|name| subject.reader.columns.iter().find(|column| &column.name == name))
        .enumerate()
        .map(|(place, column)| {
            format!("(w -> 1 ->> {})::{} as k{place}", literal(&column.name), of_any_length(&column.type_name))
        })
        .collect();
    let same: Vec<_> = subject
        .key
        .iter()
        .enumerate()
        .map(|(place, name)| format!("source.{} = wanted.k{place}", quote(name)))
        .collect();
    format!(
        "with wanted as materialized (
                 select (w ->> 0)::bigint as letter, {wanted} from jsonb_array_elements(($5)[3]::jsonb) as w
             ),
             current as (
                 select distinct on (wanted.letter) wanted.letter, {key} as key, {version} as version,
                        row_to_json(source.*)::text as doc
                 from ({query}\n) as source join wanted on {same}
                 order by wanted.letter{newest}
             )
             select array[coalesce(json_agg(json_build_array(
                 letter, key, version, case when octet_length(doc) <= {most} then doc end, octet_length(doc)
             )), '[]')::text]
             from current",
        wanted = wanted.join(", "),
        query = subject.query(),
        same = same.join(" and "),
        newest = subject.newest_first(),
        key = subject.key_texts(),
        version = subject.version(),
    )
}

/// Writes the row of `($5)[3]`, unless the mart has it already.
pub fn upsert(subject: &Subject, table: &str) -> String {
    let own = |name: &str| subject.columns.iter().find(|own| own.name == name);
    let pairs: Vec<_> =
        subject.reader.arriving.iter().filter_map(|column| Some((column, own(&column.name)?))).collect();
    let names: Vec<_> = pairs.iter().map(|(column, _)| quote(&column.name)).collect();
    let types: Vec<_> = pairs
        .iter()
        .map(|(column, _)| format!("{} {}", quote(&column.name), of_any_length(&column.type_name)))
        .collect();
    let changing: Vec<_> = pairs.iter().map(|(_, own)| *own).filter(|own| !subject.key.contains(&own.name)).collect();
    let action = if changing.is_empty() {
        "nothing".to_owned()
    } else {
        let list = |relation: &str| changing.iter().map(|own| comparable(relation, own)).collect::<Vec<_>>().join(", ");
        let assign: Vec<_> = changing.iter().map(|own| format!("{0} = excluded.{0}", quote(&own.name))).collect();
        let (own, new) = (list("target"), list("excluded"));
        format!("update set {} where ({own}) is distinct from ({new})", assign.join(", "))
    };
    format!(
        "with written as (
                 insert into analytics.{table} as target ({names})
                 select {names} from json_to_record(($5)[3]::json) as arrived ({types})
                 on conflict ({key}) do {action}
                 returning 1
             )
             select 0::bigint, count(*), null::text[], false from written",
        table = quote(table),
        names = names.join(", "),
        types = types.join(", "),
        key = subject.key.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", "),
    )
}
