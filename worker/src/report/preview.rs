//! The first rows as they would be written, written nowhere.
//!
//! The server reads them as JSON, the plan's steps change them here, and the server makes of them what the target's
//! types would.

use std::time::Instant;

use serde_json::value::RawValue;
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        ColumnType, Report,
        report::{MAX_PREVIEW_ROWS, Preview, PreviewColumn},
    },
    reports::HeldReport,
    sql::{quote, record},
};

use super::{encode, subject};
use crate::{
    environment::Environment,
    error::BatchError,
    sink::{Sink, Subject},
    step::ProcessedRow,
};

/// Somebody waits: a query that takes longer must be looked at otherwise.
const LIMITED: &str = "begin read only; set local statement_timeout = '30s'; set local lock_timeout = '2s'";
const DOCUMENTS: &str = "select doc from etl_page.read($1, $2, 'infinity', $3, $4) as documents (doc text)";
/// The widest row that is shown, in bytes. Wider ones do not leave the server.
const WIDEST_ROW: i32 = 64 * 1024;
/// All rows together.
const WIDEST_RESULT: usize = 1024 * 1024;

/// Makes the preview.
pub async fn make(
    env: &Environment,
    job: &HeldReport,
    report: &Report,
    rows: u32,
) -> Result<Box<RawValue>, BatchError> {
    let begun = Instant::now();
    let (subject, sink) = subject::look(env, job, report).await?;
    subject.refuse_impure("a preview")?;
    let columns = columns(&subject, &*sink);
    let mut preview =
        Preview { rows: Vec::new(), omitted: 0, refused: Vec::new(), took_ms: 0, columns: described(&columns) };
    let waiting = env.in_hand.waits(report.id.0).begin();
    let mut session = env.sessions(&env.reports, report.id.0).acquire().await?;
    let mut tx = session.begin_named(LIMITED).await?;
    let read = read(&mut tx, &subject, rows.min(MAX_PREVIEW_ROWS)).await?;
    let resting = waiting.rest();
    let arriving = pass_through(&subject, read, &mut preview).await?;
    drop(resting);
    for row in write(&mut tx, &columns, &arriving).await? {
        preview.rows.push(RawValue::from_string(row).map_err(|error| BatchError::fatal(error.to_string()))?);
    }
    tx.rollback().await?;
    preview.took_ms = begun.elapsed().as_millis() as u64;
    encode(&preview)
}

/// A column of the preview, as it arrives and as it is written.
struct Shown {
    name: String,
    arrives_as: String,
    written_as: String,
}

/// The columns that arrive and that the target keeps.
fn columns(subject: &Subject, sink: &dyn Sink) -> Vec<Shown> {
    let shown = subject.reader.arriving.iter().filter_map(|column| {
        let arrives_as = column.cast_type();
        Some(Shown { name: column.name.clone(), arrives_as, written_as: sink.column_type(column)? })
    });
    shown.collect()
}

fn described(columns: &[Shown]) -> Vec<PreviewColumn> {
    let described = |column: &Shown| PreviewColumn { name: column.name.clone(), type_name: column.written_as.clone() };
    columns.iter().map(described).collect()
}

/// The query's rows in the order in which a first run would read them, each as JSON; none where it is too wide.
async fn read(tx: &mut PgConnection, subject: &Subject, rows: u32) -> Result<Vec<Option<String>>, BatchError> {
    let order: Vec<_> = subject.walk().iter().map(|column| format!("source.{}", quote(&column.name))).collect();
    let query = format!(
        "select case when octet_length(doc) <= {WIDEST_ROW} then doc end
         from (
             select row_to_json(first.*)::text as doc
             from (select * from ({query}\n) as source order by {order} limit $4::bigint) as first
         ) as documents",
        query = subject.query(),
        order = order.join(", "),
    );
    let nowhere: Option<Vec<String>> = None;
    Ok(sqlx::query_scalar(DOCUMENTS).bind(query).bind(nowhere).bind(i64::from(rows)).bind(true).fetch_all(tx).await?)
}

/// The rows after all steps, without those that are too wide or refused.
async fn pass_through(
    subject: &Subject,
    rows: Vec<Option<String>>,
    preview: &mut Preview,
) -> Result<Vec<String>, BatchError> {
    preview.omitted = rows.iter().filter(|row| row.is_none()).count() as u32;
    let mut arriving = Vec::new();
    let mut bytes = 0;
    for fate in subject.take_through_steps(rows.into_iter().flatten().collect()).await? {
        match fate {
            ProcessedRow::Passed(doc) => {
                bytes += doc.len();
                if bytes <= WIDEST_RESULT { arriving.push(doc) } else { preview.omitted += 1 }
            }
            ProcessedRow::Rejected { reason, .. } => preview.refused.push(reason),
            ProcessedRow::Dropped => {}
        }
    }
    Ok(arriving)
}

/// What the target's types make of the rows, `$5`. Casts to them execute like a query: they can only read.
async fn write(tx: &mut PgConnection, columns: &[Shown], rows: &[String]) -> Result<Vec<String>, BatchError> {
    let types = record(columns.iter().map(|column| (column.name.as_str(), column.arrives_as.clone())));
    let values: Vec<_> = columns.iter().map(value).collect();
    let query = format!(
        "select row_to_json(written.*)::text
         from unnest($5) with ordinality as d (doc, place)
         cross join lateral (
             select {values} from json_to_record(d.doc::json) as arrived ({types})
         ) as written
         order by d.place",
        values = values.join(", "),
    );
    Ok(sqlx::query_scalar(DOCUMENTS).bind(query).bind(rows).bind(0_i64).bind(false).fetch_all(tx).await?)
}

/// Written explicitly, a cast to text of some length would cut what a run refuses.
fn value(column: &Shown) -> String {
    let name = quote(&column.name);
    if ColumnType::of(&column.written_as).is_cut_by_casts() {
        return format!("arrived.{name}");
    }
    format!("arrived.{name}::{} as {name}", column.written_as)
}
