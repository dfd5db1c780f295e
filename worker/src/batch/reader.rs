//! Reads a page in blocks of rows and takes them through the plan's steps.

use futures_util::{Stream, TryStreamExt, stream};
use sqlx::{FromRow, PgConnection, Row as _, postgres::PgRow};
use vitrina_shared::domain::{ErrorClass, Position};

use super::streaming::{PageEnd, too_long};
use crate::{
    elasticsearch::id_of_row,
    error::BatchError,
    in_hand::Waiting,
    rejected::{MOST_REJECTED_BYTES, too_much_rejected},
    sink::{Rejected, Row},
    step::{Fate, Sequence, StepContext},
};

/// A block is passed on once it has this many bytes.
const BLOCK_BYTES: usize = 512 * 1024;

/// The items of a page: the statement is the one of [`super::pushdown::Page::read`].
const READ: &str = "select key, doc, rows_read, last, more, bytes from etl_page.read($1, $2, $3, $4, $5)
    as page (key text[], doc text, rows_read bigint, last text[], more boolean, bytes bigint)";

/// What a page is read with. Two that are equal read the same page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuery {
    /// The statement, of [`super::pushdown::Page::read`].
    pub statement: String,
    /// Rows in a page.
    pub page_size: i64,
    /// Whether the key is a `timestamptz`.
    pub by_time: bool,
    /// The row after which it begins.
    pub after: Option<Position>,
    /// The bound that it is read up to.
    pub upper: Option<String>,
}

/// What is done with the rows of a page.
#[derive(Debug, Clone, Copy)]
pub struct Handling<'a> {
    /// What changes the rows.
    pub steps: &'a Sequence,
    /// What the steps reach the world through.
    pub context: &'a StepContext,
    /// The wait for the server that rests while steps execute.
    pub waiting: Option<&'a Waiting>,
    /// How large a row may be.
    pub max_row_bytes: u32,
    /// How many rows may be put aside; none where the first one ends the batch.
    pub rejects_allowed: Option<u64>,
}

/// What is known of a page once all its rows were read.
#[derive(Debug, Default)]
pub struct Remains {
    end: Option<PageEnd>,
    /// Rows that a step refused, or that are too long.
    pub rejected: Vec<Rejected>,
    /// How much those take.
    rejected_bytes: usize,
}

impl Remains {
    /// What the reader said of the page.
    pub fn whole(&mut self) -> Result<PageEnd, BatchError> {
        self.end.take().ok_or_else(|| BatchError::fatal("the page was not read to its end"))
    }
}

/// A row of the page or, without a `doc`, what is to be said of the page.
#[derive(Debug)]
pub struct Item {
    key: Option<Vec<Option<String>>>,
    doc: Option<String>,
    rows_read: Option<i64>,
    last: Option<Position>,
    more: Option<bool>,
    /// How long the row is, where it is too long: its `doc` has the key alone.
    too_long: Option<i64>,
}

/// By position: there are very many of them, and most have a `doc` and nothing else to say.
impl FromRow<'_, PgRow> for Item {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let key = row.try_get(0)?;
        let doc: Option<String> = row.try_get(1)?;
        if doc.is_some() {
            return Ok(Self { key, doc, rows_read: None, last: None, more: None, too_long: row.try_get(5)? });
        }
        let (rows_read, last, more) = (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
        Ok(Self { key, doc, rows_read, last, more, too_long: None })
    }
}

impl Item {
    /// About what it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.doc.as_ref().map_or(0, String::len)
    }
}

/// Reads a page item by item.
pub fn items<'a>(
    connection: &'a mut PgConnection,
    query: &'a PageQuery,
) -> impl Stream<Item = sqlx::Result<Item>> + Send + Unpin + 'a {
    sqlx::query_as::<_, Item>(READ)
        .bind(&query.statement)
        .bind(&query.after)
        .bind(&query.upper)
        .bind(query.page_size)
        .bind(query.by_time)
        .fetch(connection)
}

/// Takes items until they fill a block. Whether there may be more.
pub async fn fill_block<T>(
    items: &mut (impl Stream<Item = sqlx::Result<T>> + Unpin),
    bytes: impl Fn(&T) -> usize,
) -> sqlx::Result<(Vec<T>, bool)> {
    let (mut block, mut taken) = (Vec::new(), 0);
    while let Some(item) = items.try_next().await? {
        taken += bytes(&item);
        block.push(item);
        if taken >= BLOCK_BYTES {
            return Ok((block, true));
        }
    }
    Ok((block, false))
}

/// Gathers items into blocks.
pub fn blocks(items: impl Stream<Item = sqlx::Result<Item>> + Unpin) -> impl Stream<Item = sqlx::Result<Vec<Item>>> {
    stream::try_unfold(Some(items), async |items| {
        let Some(mut items) = items else { return Ok(None) };
        let (block, more) = fill_block(&mut items, Item::bytes).await?;
        Ok(Some((block, more.then_some(items))))
    })
}

/// The rows of a page after all steps. `remains` is whole when the stream has ended.
pub fn rows<'a>(
    blocks: impl Stream<Item = sqlx::Result<Vec<Item>>> + 'a,
    handling: Handling<'a>,
    remains: &'a mut Remains,
) -> impl Stream<Item = Result<Row, BatchError>> + 'a {
    let state = (Box::pin(blocks.map_err(BatchError::from)), remains);
    let processed = stream::try_unfold(state, move |(mut blocks, remains)| async move {
        let Some(items) = blocks.try_next().await? else { return Ok::<_, BatchError>(None) };
        let rows = process(items, handling, remains).await?;
        Ok(Some((rows, (blocks, remains))))
    });
    processed.map_ok(|rows| stream::iter(rows.into_iter().map(Ok))).try_flatten()
}

/// The rows of a block after all steps.
async fn process(items: Vec<Item>, handling: Handling<'_>, remains: &mut Remains) -> Result<Vec<Row>, BatchError> {
    let (mut keys, mut docs) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
    for item in items {
        let Some(doc) = item.doc else {
            remains.end = Some(PageEnd { rows_read: item.rows_read.unwrap_or(0), last: item.last, more: item.more });
            continue;
        };
        let key = item.key.unwrap_or_default();
        match item.too_long {
            Some(bytes) => remains.reject(&key, doc, too_long(bytes, handling.max_row_bytes), handling)?,
            None => {
                keys.push(key);
                docs.push(doc);
            }
        }
    }
    let fates = {
        let _resting = handling.waiting.map(Waiting::rest);
        handling.steps.run(handling.context, docs).await?
    };
    let mut rows = Vec::with_capacity(fates.len());
    for (key, fate) in keys.into_iter().zip(fates) {
        match fate {
            Fate::Passed(doc) => rows.push(Row { key, doc }),
            Fate::Rejected { doc, reason } => remains.reject(&key, doc, reason, handling)?,
            Fate::Dropped => {}
        }
    }
    Ok(rows)
}

impl Remains {
    /// Puts a row aside, unless those are too many or too large by now.
    fn reject(
        &mut self,
        key: &[Option<String>],
        doc: String,
        error: String,
        handling: Handling<'_>,
    ) -> Result<(), BatchError> {
        self.rejected_bytes += doc.len();
        self.rejected.push(Rejected { id: id_of_row(key), doc, error });
        if self.rejected_bytes > MOST_REJECTED_BYTES {
            let message = too_much_rejected("steps refuse");
            return Err(BatchError::Failed { class: ErrorClass::Row, message });
        }
        refuse_too_many(&self.rejected, key, handling.rejects_allowed)
    }
}

fn refuse_too_many(rejected: &[Rejected], key: &[Option<String>], allowed: Option<u64>) -> Result<(), BatchError> {
    let Some(last) = rejected.last().filter(|_| rejected.len() as u64 > allowed.unwrap_or(0)) else { return Ok(()) };
    let key: Vec<_> = key.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
    let message = match allowed {
        None => format!("row {}: {}", key.join(", "), last.error),
        Some(_) => {
            format!("more rows were refused than max_rejects allows; the last one, {}: {}", key.join(", "), last.error)
        }
    };
    Err(BatchError::Failed { class: ErrorClass::Row, message })
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;
    use vitrina_shared::domain::{PipelineId, Task, TaskKind};

    use super::*;
    use crate::step::StepRegistry;

    /// `mask`, which refuses what is no text.
    fn steps() -> Sequence {
        let options = serde_json::Map::from_iter([("columns".to_owned(), json!(["v"]))]);
        let task_type = TaskKind::Rust;
        let task = Task { order_index: 2, task_type, body: "mask".to_owned(), target_table: None, options };
        StepRegistry::default().sequence(&[task], &[]).expect("a plan of one step")
    }

    fn context() -> StepContext {
        StepContext {
            pipeline: PipelineId::generate(),
            id: Uuid::nil(),
            correlation_id: String::new(),
            cancelled: CancellationToken::new(),
            deadline: tokio::time::Instant::now() + std::time::Duration::from_secs(600),
        }
    }

    fn row(doc: String) -> Item {
        Item { key: None, doc: Some(doc), rows_read: None, last: None, more: None, too_long: None }
    }

    #[tokio::test]
    async fn rejected_rows_that_take_too_much_memory_end_the_batch() {
        let (steps, context) = (steps(), context());
        let handling = Handling {
            steps: &steps,
            context: &context,
            waiting: None,
            max_row_bytes: 1 << 30,
            rejects_allowed: Some(1000),
        };
        let no_text = format!(r#"{{"v":["{}"]}}"#, "x".repeat(MOST_REJECTED_BYTES / 10));
        for (count, ends) in [(9, false), (10, true)] {
            let mut remains = Remains::default();
            let items = stream::iter((0..count).map(|_| Ok(row(no_text.clone()))));
            let read: Result<Vec<_>, _> = rows(blocks(items), handling, &mut remains).try_collect().await;
            match read {
                Ok(rows) => assert!(!ends && rows.is_empty() && remains.rejected.len() == count),
                Err(error) => assert!(ends && error.to_string().contains("more than 64 MiB together"), "{error}"),
            }
        }
    }

    #[tokio::test]
    async fn a_block_ends_with_its_bytes_and_the_last_one_with_the_page() {
        let third = format!(r#"{{"v":"{}"}}"#, "x".repeat(BLOCK_BYTES / 3));
        let items = stream::iter((0..7).map(|_| Ok(row(third.clone()))));
        let sizes: Vec<_> = blocks(items).map(|block| block.expect("a block").len()).collect().await;
        assert_eq!(sizes, [3, 3, 1]);
    }
}
