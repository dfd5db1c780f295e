//! The SQL of a replay: the rows as they are now.

use vitrina_shared::sql::{literal, quote};

use crate::sink::Subject;

/// Returns the letter, the key and the JSON text of each row that is there, for the letters of `($5)[3]`:
/// pairs of an id and a key. Of a row with more than `most` bytes there is only its size. Of several versions the newest is the one that a run would write.
pub fn read_current(subject: &Subject, most: u32) -> String {
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
        doc = subject.form.row("source", &subject.reader.columns),
        query = subject.query(),
        same = same.join(" and "),
        newest = subject.newest_first(),
        key = subject.key_texts(),
    )
}
