//! The first rows as they would be written, written nowhere.
//!
//! Their source returns them as JSON, the plan's steps change them here, and the server makes of them what the target's
//! types would.

use std::time::Instant;

use futures_util::TryStreamExt;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        ColumnType, Report, SourceColumn, Task,
        report::{MAX_PREVIEW_ROWS, Preview, PreviewColumn},
        task_plan,
        transform::Registry,
    },
    reports::HeldReport,
    sql::{quote, record},
};

use super::{finish, subject};
use crate::{
    environment::Environment,
    error::BatchError,
    sink::Subject,
    source::{RowForm, RowsQuery, Scope, Walk, Wanted},
    step::{Arriving, ProcessedRow},
};

/// The client waits for the preview, so a query that takes longer is cancelled.
const LIMITED: &str = "begin read only; set local statement_timeout = '30s'; set local lock_timeout = '2s'; \
    set local idle_in_transaction_session_timeout = '10min'";
const DOCUMENTS: &str = "select doc from etl_page.read($1, $2, 'infinity', 0, false) as documents (doc text)";
/// The widest row that is shown, in bytes. Wider ones do not leave the server.
const WIDEST_ROW: u32 = 64 * 1024;
/// All rows together.
const WIDEST_RESULT: usize = 1024 * 1024;

pub async fn show_rows(env: &Environment, job: &HeldReport, report: &Report, rows: u32) -> Result<(), BatchError> {
    let begun = Instant::now();
    let (subject, sink) = subject::open(env, job, report, as_shown).await?;
    subject.refuse_impure("a preview")?;
    // Those that arrive and that the target keeps, with the types that it keeps them in.
    let arriving = subject.reader().arriving.iter();
    let columns: Vec<_> = arriving.filter_map(|column| Some((column, sink.column_type(column)?))).collect();
    let described = columns.iter().map(|(column, type_name)| described(column, type_name)).collect();
    let mut preview = Preview { rows: Vec::new(), omitted: 0, refused: Vec::new(), took_ms: 0, columns: described };
    let mut session = env.sessions(&env.reports, report.id.0).acquire().await?;
    let mut tx = session.begin_named(LIMITED).await?;
    let arriving = first_rows(env, &subject, &mut tx, rows, &mut preview).await?;
    preview.rows = raw(write(&mut tx, &columns, &arriving).await?)?;
    tx.rollback().await?;
    drop(session);
    end(env, job, preview, begun).await
}

/// Shows what a step that need not be in the pipeline's plan makes of rows of its query. It is executed also if it is not pure:
/// that is what the client asks for.
pub async fn try_step(
    env: &Environment,
    job: &HeldReport,
    report: &Report,
    (rows, step): (u32, &Task),
) -> Result<(), BatchError> {
    let begun = Instant::now();
    let (subject, _) = subject::open(env, job, report, as_shown).await?;
    let (query, _) = subject.draft().reader().ok_or_else(|| BatchError::fatal("the pipeline has no query"))?;
    let tasks = [Task::reader(query), Task { order_index: 2, target_table: None, ..step.clone() }];
    let own = env.steps.current();
    env.lacking.refuse(&own, &mut *env.reports.acquire().await?, (&tasks, None)).await?;
    let stages = stages(own.transforms(), &subject, &tasks)?;
    let columns = stages[1].iter().map(|column| described(column, &column.type_name)).collect();
    let steps = own.sequence(&tasks, &[], Arriving { stages: &stages, arrays_as_text: false })?;
    let subject = Subject { steps, ..subject };
    let mut preview = Preview { rows: Vec::new(), omitted: 0, refused: Vec::new(), took_ms: 0, columns };
    let mut session = env.sessions(&env.reports, report.id.0).acquire().await?;
    let mut tx = session.begin_named(LIMITED).await?;
    preview.rows = raw(first_rows(env, &subject, &mut tx, rows, &mut preview).await?)?;
    tx.rollback().await?;
    drop(session);
    end(env, job, preview, begun).await
}

fn as_shown(walk: Walk) -> Walk {
    Walk { form: RowForm::Document, max_row_bytes: WIDEST_ROW, ..walk }
}

fn described(column: &SourceColumn, type_name: &str) -> PreviewColumn {
    PreviewColumn { name: column.name.clone(), type_name: type_name.to_owned() }
}

/// The columns before and after a step, which is checked like one of a plan.
fn stages(transforms: &Registry, subject: &Subject, tasks: &[Task]) -> Result<[Vec<SourceColumn>; 2], BatchError> {
    let problems = task_plan::problems(tasks, transforms);
    let said = problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ");
    let configured = transforms.configure(&tasks[1]).and_then(Result::ok).filter(|_| problems.is_empty());
    let configured = configured.ok_or_else(|| BatchError::fatal(said))?;
    let before = subject.reader().columns.clone();
    let mut after = before.clone();
    configured.declared().columns(&mut after).map_err(BatchError::fatal)?;
    Ok([before, after])
}

/// The first rows of the query after the subject's steps.
async fn first_rows(
    env: &Environment,
    subject: &Subject,
    tx: &mut PgConnection,
    rows: u32,
    preview: &mut Preview,
) -> Result<Vec<String>, BatchError> {
    let waiting = env.in_hand.waits(subject.context.id).begin();
    let first = Wanted::First(rows.min(MAX_PREVIEW_ROWS));
    let query = RowsQuery { wanted: first, scope: Scope::Everything, bodies: true };
    let read = subject.reading.rows(tx, query).map_ok(|row| row.doc).try_collect().await?;
    let _resting = waiting.rest();
    pass_through(subject, read, preview).await
}

fn raw(rows: Vec<String>) -> Result<Vec<Box<RawValue>>, BatchError> {
    let raw = |row| RawValue::from_string(row).map_err(|error| BatchError::fatal(error.to_string()));
    rows.into_iter().map(raw).collect()
}

async fn end(env: &Environment, job: &HeldReport, mut preview: Preview, begun: Instant) -> Result<(), BatchError> {
    preview.took_ms = begun.elapsed().as_millis() as u64;
    let mut tx = env.reports.begin().await?;
    finish(&mut tx, job, &preview).await?;
    Ok(tx.commit().await?)
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
async fn write(
    tx: &mut PgConnection,
    columns: &[(&SourceColumn, String)],
    rows: &[String],
) -> Result<Vec<String>, BatchError> {
    let types = record(columns.iter().map(|(column, _)| (column.name.as_str(), column.cast_type())));
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
    Ok(sqlx::query_scalar(DOCUMENTS).bind(query).bind(rows).fetch_all(tx).await?)
}

/// Written explicitly, a cast to text of some length would cut what a run refuses.
fn value((column, type_name): &(&SourceColumn, String)) -> String {
    let name = quote(&column.name);
    let is_cut = ColumnType::of(type_name).is_cut_by_casts();
    if is_cut { format!("arrived.{name}") } else { format!("arrived.{name}::{type_name} as {name}") }
}
