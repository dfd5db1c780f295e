//! Takes a page that comes from its source row by row through the plan's transforms.

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use vitrina_shared::domain::{
    ErrorClass,
    transform::{Document, Transform},
};

use crate::{
    elasticsearch::id_of_row,
    error::BatchError,
    rejected::{MOST_REJECTED_BYTES, too_much_rejected},
    sink::{Rejected, Row},
    source::{Item, PageEnd, PageStream, too_long},
};

/// What is done with the rows of a page.
#[derive(Debug, Clone, Copy)]
pub struct Handling<'a> {
    /// What changes the rows.
    pub transforms: &'a [Box<dyn Transform>],
    /// How large a row may be.
    pub max_row_bytes: u32,
    /// How many rows may be put aside; none where the first one ends the batch.
    pub rejects_allowed: Option<u64>,
}

/// What is known of a page once all its rows were read.
#[derive(Debug, Default)]
pub struct Remains {
    end: Option<PageEnd>,
    /// Rows that a transform refused, or that are too long.
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

/// The rows among the items of a page. `remains` is whole when the stream has ended.
pub fn rows<'a>(
    page: PageStream,
    handling: Handling<'a>,
    remains: &'a mut Remains,
) -> impl Stream<Item = Result<Row, BatchError>> + 'a {
    page.map_ok(|items| stream::iter(items.into_iter().map(Ok)))
        .try_flatten()
        .map(move |item| item.and_then(|item| receive(item, handling, remains)))
        .filter_map(|row| std::future::ready(row.transpose()))
}

/// A row, or nothing where the item was none.
fn receive(item: Item, handling: Handling<'_>, remains: &mut Remains) -> Result<Option<Row>, BatchError> {
    let (key, doc, longer) = match item {
        Item::Row { key, doc, too_long } => (key, doc, too_long),
        Item::End(end) => {
            remains.end = Some(end);
            return Ok(None);
        }
    };
    let outcome = match longer {
        Some(bytes) => Err(too_long(bytes, handling.max_row_bytes)),
        None => transformed(&doc, handling.transforms),
    };
    match outcome {
        Ok(changed) => Ok(Some(Row { key, doc: changed.unwrap_or(doc) })),
        Err(error) => {
            remains.rejected_bytes += doc.len();
            remains.rejected.push(Rejected { id: id_of_row(&key), doc, error });
            if remains.rejected_bytes > MOST_REJECTED_BYTES {
                let message = too_much_rejected("transforms refuse");
                return Err(BatchError::Failed { class: ErrorClass::Row, message });
            }
            refuse_too_many(&remains.rejected, &key, handling.rejects_allowed)?;
            Ok(None)
        }
    }
}

/// The row after all transforms; none where there are none.
pub fn transformed(doc: &str, transforms: &[Box<dyn Transform>]) -> Result<Option<String>, String> {
    if transforms.is_empty() {
        return Ok(None);
    }
    let mut row = Document::parse(doc).map_err(|error| error.to_string())?;
    for transform in transforms {
        transform.apply(&mut row)?;
    }
    row.to_text().map(Some).map_err(|error| error.to_string())
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
    use vitrina_shared::domain::SourceColumn;

    use super::*;

    /// Refuses every row.
    #[derive(Debug)]
    struct Refusal;

    impl Transform for Refusal {
        fn columns(&self, _: &mut Vec<SourceColumn>) -> Result<(), String> {
            Ok(())
        }

        fn touches(&self) -> Vec<&str> {
            Vec::new()
        }

        fn apply(&self, _: &mut Document) -> Result<(), String> {
            Err("no".to_owned())
        }
    }

    fn row(bytes: usize) -> Item {
        let doc = format!(r#"{{"v":"{}"}}"#, "x".repeat(bytes));
        Item::Row { key: Vec::new(), doc, too_long: None }
    }

    #[tokio::test]
    async fn rejected_rows_that_take_too_much_memory_end_the_batch() {
        let transforms: [Box<dyn Transform>; 1] = [Box::new(Refusal)];
        let handling = Handling { transforms: &transforms, max_row_bytes: 1 << 30, rejects_allowed: Some(1000) };
        let tenth = MOST_REJECTED_BYTES / 10;
        for (count, ends) in [(9, false), (10, true)] {
            let mut remains = Remains::default();
            let blocks = stream::iter((0..count).map(move |_| Ok(vec![row(tenth)]))).boxed();
            let read: Result<Vec<_>, _> = rows(blocks, handling, &mut remains).try_collect().await;
            match read {
                Ok(rows) => assert!(!ends && rows.is_empty() && remains.rejected.len() == count),
                Err(error) => assert!(ends && error.to_string().contains("more than 64 MiB together"), "{error}"),
            }
        }
    }
}
