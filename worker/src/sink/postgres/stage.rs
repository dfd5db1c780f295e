//! Puts a page down in a table of the session, from where one statement writes it to a mart.
//!
//! A part of the page is one statement, sent in one piece. COPY would send its end as a packet of its own, which waits for the
//! server's delayed acknowledgement of the packet before: 40 ms for every page.

use futures_util::{Stream, TryStreamExt};
use sqlx::PgConnection;

use crate::{error::BatchError, sink::Row};

/// Rows are sent once they have this many bytes.
const PART_BYTES: usize = 512 * 1024;
const INSERT: &str = "insert into pg_temp.vitrina_page (place, doc)
    select $2 + part.place, part.doc::json from unnest($1::text[]) with ordinality as part (doc, place)";

/// Puts the rows down in `pg_temp.vitrina_page`, numbered from 1. Returns how many there were.
pub async fn put_down(
    tx: &mut PgConnection,
    rows: impl Stream<Item = Result<Row, BatchError>> + Send,
) -> Result<i64, BatchError> {
    sqlx::query("select etl.stage_page()").execute(&mut *tx).await?;
    let mut rows = std::pin::pin!(rows);
    let (mut part, mut bytes, mut places) = (Vec::new(), 0, 0_i64);
    loop {
        let row = rows.try_next().await?;
        let is_last = row.is_none();
        if let Some(row) = row {
            if i32::try_from(row.doc.len()).is_err() {
                return Err(BatchError::fatal("a row has more than two gigabytes"));
            }
            bytes += row.doc.len();
            part.push(row.doc);
        }
        if bytes >= PART_BYTES || is_last && !part.is_empty() {
            sqlx::query(INSERT).bind(&part).bind(places).execute(&mut *tx).await?;
            places += i64::try_from(part.len()).unwrap_or(i64::MAX);
            (bytes, part) = (0, Vec::new());
        }
        if is_last {
            return Ok(places);
        }
    }
}
