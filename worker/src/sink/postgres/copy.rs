//! Puts a page down in a table of the session, by binary COPY, from where one statement writes it to a mart.

use futures_util::{Stream, TryStreamExt};
use sqlx::{PgConnection, postgres::PgCopyIn};
use vitrina_shared::sql::copy::CopyRows;

use crate::{error::BatchError, sink::Row};

/// Puts the rows down in `pg_temp.vitrina_page`, numbered from 1. Returns how many there were.
pub async fn put_down(
    tx: &mut PgConnection,
    rows: impl Stream<Item = Result<Row, BatchError>> + Send,
) -> Result<i64, BatchError> {
    sqlx::query("select etl.stage_page()").execute(&mut *tx).await?;
    let mut copy = tx.copy_in_raw("copy pg_temp.vitrina_page (place, doc) from stdin (format binary)").await?;
    match send(&mut copy, rows).await {
        Ok(places) => {
            copy.finish().await?;
            Ok(places)
        }
        Err(error) => {
            copy.abort("the page could not be read").await?;
            Err(error)
        }
    }
}

async fn send(
    copy: &mut PgCopyIn<&mut PgConnection>,
    rows: impl Stream<Item = Result<Row, BatchError>> + Send,
) -> Result<i64, BatchError> {
    let mut rows = std::pin::pin!(rows);
    let mut sent = CopyRows::default();
    let mut places: i64 = 0;
    while let Some(row) = rows.try_next().await? {
        places += 1;
        if i32::try_from(row.doc.len()).is_err() {
            return Err(BatchError::fatal("a row has more than two gigabytes"));
        }
        // A `json` travels as its text.
        sent.add(&[Some(&places.to_be_bytes()), Some(row.doc.as_bytes())]);
        if sent.is_full() {
            copy.send(sent.bytes()).await?;
            sent.clear();
        }
    }
    sent.end();
    copy.send(sent.bytes()).await?;
    Ok(places)
}
