//! Whether rows can be kept from being skipped that become visible late: after rows with greater keys were read.
//!
//! | key | is safe because |
//! |---|---|
//! | `timestamptz`, `date` | it comes from the database's clock: a transaction that is open is waited for |
//! | a number of a sequence | one that has taken a number holds a lock until it ends |
//! | any other | the user says so |
//!
//! What no look at this server can know is refused, with what to do instead.

use sqlx::PgConnection;

use super::Reader;
use crate::{
    domain::{Mode, PipelineDraft, Problem, SourceColumn},
    store::sources::{self, Sequence, SourceKinds},
};

/// What to say of a key that nothing is known about.
const SAY_SO: &str = "If rows become visible in the order of this key, set options.key_order to `commit`; otherwise walk by \
                      a timestamptz that is set to now() with every change, or use mode `full`";

/// What keeps an incremental pipeline from finding all rows that become visible late.
pub(super) async fn problems(
    connection: &mut PgConnection,
    draft: &PipelineDraft,
    reader: &Reader,
    query_field: &str,
) -> Result<Vec<Problem>, sqlx::Error> {
    let place = reader.columns.iter().position(|column| Some(&column.name) == draft.incremental_key.as_ref());
    let Some(place) = place.filter(|_| draft.mode == Mode::Incremental) else { return Ok(Vec::new()) };
    let relations: Vec<_> = reader.relations.iter().cloned().collect();
    let sources = sources::behind(connection, &relations).await?;
    let of_sources = source_problem(draft, &sources).map(|message| Problem::new(query_field, message));
    let key = &reader.columns[place];
    if key.own_type().clock().is_some() {
        let of_bins = bins_problem(draft, key, &sources).map(|message| Problem::new("incremental_key", message));
        return Ok(of_bins.into_iter().chain(of_sources).collect());
    }
    let sequences = sources::sequences(connection, reader.origins.get(place).copied().unwrap_or_default()).await?;
    let of_key = key_problem(draft, key, &sequences).map(|message| Problem::new("incremental_key", message));
    Ok(of_key.into_iter().chain(of_sources).collect())
}

/// Of `date_trunc` the keys themselves show how coarse they are. A bin may have any width, which no key shows: rows come late
/// into one that was read.
fn bins_problem(draft: &PipelineDraft, key: &SourceColumn, sources: &SourceKinds) -> Option<String> {
    let is_column = key.nullable.is_some();
    let says_so = draft.options.lookback_seconds.is_some_and(|seconds| seconds > 0);
    if is_column
        || says_so
        || sources.binned.is_empty() && !draft.reader().is_some_and(|(query, _)| calls_date_bin(query))
    {
        return None;
    }
    let name = &key.name;
    Some(format!(
        "`{name}` is no column of a table, and date_bin is called: a row that comes late into a bin that was read has a key \
         that was read. Walk by the column itself and select the bin under another name or, if `{name}` is a timestamptz, \
         set options.lookback_seconds to the width of the bins"
    ))
}

/// Whether the function is named, however it is written.
fn calls_date_bin(query: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    query.split(|letter| !is_part(letter)).any(|word| word.eq_ignore_ascii_case("date_bin"))
}

fn key_problem(draft: &PipelineDraft, key: &SourceColumn, sequences: &[Sequence]) -> Option<String> {
    let name = &key.name;
    if key.own_type().is_local_clock() {
        return Some(format!(
            "column `{name}` is a timestamp without time zone, which is no point in time until the time zone of its writers is \
             known: select `({name} at time zone 'UTC') as {name}` with that time zone, and have an index on that expression"
        ));
    }
    sequences.iter().find_map(|sequence| sequence_problem(name, sequence)).or_else(|| {
        let is_known = matches!(sequences, [sequence] if sequence.is_own && sequence.increment == 1);
        (!is_known && draft.options.key_order.is_none()).then(|| unknown(name, sequences))
    })
}

/// What is wrong with a key's sequence, whatever the user says of it.
fn sequence_problem(key: &str, sequence: &Sequence) -> Option<String> {
    let name = &sequence.name;
    if sequence.cache > 1 {
        return Some(format!(
            "column `{key}` gets its numbers from the sequence {name}, of which every session takes {} at once: a row may come \
             at any time with a number behind greater ones. Say `alter sequence {name} cache 1`, walk by a timestamptz that is \
             set to now() with every change, or use mode `full`",
            sequence.cache
        ));
    }
    if sequence.cycles {
        return Some(format!(
            "column `{key}` gets its numbers from the sequence {name}, which begins anew after its last number, behind rows \
             that were read. Say `alter sequence {name} no cycle`, walk by a timestamptz that is set to now() with every \
             change, or use mode `full`"
        ));
    }
    (sequence.increment < 0)
        .then(|| format!("column `{key}` gets its numbers from the sequence {name}, which counts down"))
}

fn unknown(key: &str, sequences: &[Sequence]) -> String {
    match sequences.iter().find(|sequence| sequence.increment > 1) {
        Some(Sequence { name, increment, .. }) => format!(
            "column `{key}` gets its numbers from the sequence {name}, which counts by {increment}: applications take such \
             numbers in blocks and use them later. {SAY_SO}"
        ),
        None if sequences.len() > 1 => format!(
            "column `{key}` gets its numbers from {}: a partition that counts by itself has numbers behind those that were read. \
             Have all partitions take them from one sequence. {SAY_SO}",
            sequences.iter().map(|sequence| sequence.name.as_str()).collect::<Vec<_>>().join(" and "),
        ),
        None => format!(
            "rows may commit in another order than `{key}`, and a run could skip some: it is neither a timestamptz nor a column \
             of a table whose default is the next number of a sequence. {SAY_SO}"
        ),
    }
}

fn source_problem(draft: &PipelineDraft, sources: &SourceKinds) -> Option<String> {
    if let Some(name) = sources.materialized.first() {
        return Some(format!(
            "{name} is a materialized view: a refresh brings rows with old keys, which an incremental run does not find. Read \
             the tables that it is made of, or use mode `full`"
        ));
    }
    let says_so =
        draft.options.key_order.is_some() || draft.options.lookback_seconds.is_some_and(|seconds| seconds > 0);
    let (name, why) = match (sources.foreign.first(), sources.subscribed.first()) {
        (Some(name), _) => {
            (name, "is a foreign table: which transactions are open on its server cannot be seen from here")
        }
        (None, Some(name)) => (name, "gets rows by a subscription, with keys of the server that they come from"),
        (None, None) => return None,
    };
    (!says_so).then(|| {
        format!(
            "{name} {why}. Set options.lookback_seconds to how late rows may come, set options.key_order to `commit` if they \
             come in the order of their keys, or use mode `full`"
        )
    })
}
