//! Puts a page down in a table of the session, by binary COPY, from where one statement writes it to a mart.

use futures_util::{Stream, TryStreamExt};
use sqlx::{PgConnection, postgres::PgCopyIn};

use crate::{error::BatchError, sink::Row};

/// What is sent at once. A longer row is sent whole.
const CHUNK: usize = 64 * 1024;

/// Signature, flags and the length of an extension, as binary COPY begins.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// A tuple without a number of fields is the end.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();

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
    let mut chunk = HEADER.to_vec();
    let mut places = 0;
    while let Some(row) = rows.try_next().await? {
        places += 1;
        append(&mut chunk, places, &row.doc)?;
        if chunk.len() >= CHUNK {
            copy.send(chunk.as_slice()).await?;
            chunk.clear();
        }
    }
    chunk.extend(TRAILER);
    copy.send(chunk.as_slice()).await?;
    Ok(places)
}

/// A tuple of two fields, each behind its length. A `json` travels as its text.
fn append(chunk: &mut Vec<u8>, place: i64, doc: &str) -> Result<(), BatchError> {
    let too_long = |_| BatchError::fatal("a row has more than two gigabytes");
    chunk.extend(2_i16.to_be_bytes());
    chunk.extend(8_i32.to_be_bytes());
    chunk.extend(place.to_be_bytes());
    chunk.extend(i32::try_from(doc.len()).map_err(too_long)?.to_be_bytes());
    chunk.extend(doc.as_bytes());
    Ok(())
}
