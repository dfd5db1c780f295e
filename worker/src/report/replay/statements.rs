//! The SQL of a replay: the rows as they are now, and the upsert of one of them.

use vitrina_shared::{
    domain::TargetName,
    sql::{self, literal, quote},
};

use crate::{
    pushdown::{arrived, read_back},
    report::subject::Subject,
    source::RowForm,
};

/// Returns the letter, the key and the JSON text of each row that is there, for the letters of `($5)[3]`:
/// pairs of an id and a key. Of a row with more than `most` bytes there is only its size. Of several versions the newest is the one that a run would write.
pub fn read_current(subject: &Subject, most: u32) -> String {
    let form = match subject.target {
        TargetName::Mart(_) => RowForm::ReadBack,
        TargetName::Index(_) => RowForm::Document,
    };
    let wanted: Vec<_> = subject
        .key
        .iter()
        .filter_map(|name| subject.reader.columns.iter().find(|column| &column.name == name))
        .enumerate()
        .map(|(place, column)| format!("(w -> 1 ->> {})::{} as k{place}", literal(&column.name), column.cast_type()))
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
                 select distinct on (wanted.letter) wanted.letter, {key} as key, {doc} as doc
                 from ({query}\n) as source join wanted on {same}
                 order by wanted.letter{newest}
             )
             select array[coalesce(json_agg(json_build_array(
                 letter, key, case when octet_length(doc) <= {most} then doc end, octet_length(doc)
             )), '[]')::text]
             from current",
        wanted = wanted.join(", "),
        doc = form.row("source", &subject.reader.columns),
        query = subject.query(),
        same = same.join(" and "),
        newest = subject.newest_first(),
        key = subject.key_texts(),
    )
}

/// Writes the row of `($5)[3]`, unless the mart has it already.
pub fn upsert(subject: &Subject, table: &str) -> String {
    let own = |name: &str| subject.columns.iter().find(|own| own.name == name);
    let pairs: Vec<_> =
        subject.reader.arriving.iter().filter_map(|column| Some((column, own(&column.name)?))).collect();
    let columns: Vec<_> = pairs.iter().map(|(column, _)| *column).collect();
    let names = columns.iter().map(|column| column.name.as_str());
    let changing = pairs.iter().map(|(_, own)| *own).filter(|own| own.can_change(&subject.key));
    let changing: Vec<_> = changing.map(|own| (own.name.as_str(), own.identity)).collect();
    let rows = format!("select {} from {}", arrived(&columns), read_back(&columns, "($5)[3]::json"));
    format!(
        "with written as ({upsert}) select 0::bigint, count(*), null::text[], false from written",
        upsert = sql::upsert(table, names, &subject.key, &changing, &rows),
    )
}
