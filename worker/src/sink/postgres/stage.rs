//! Puts a page down in a table of the session, from where one statement writes it to a mart.
//!
//! A part of the page is one statement, sent in one piece. COPY would send its end as a packet of its own, which waits for the
//! server's delayed acknowledgement of the packet before: 40 ms for every page.

use futures_util::Stream;
use sqlx::PgConnection;

use crate::{error::BatchError, sink::Row, source::fill_block};

const INSERT: &str = "insert into pg_temp.vitrina_page (place, doc)
    select $2 + part.place, part.doc::json from unnest($1::text[]) with ordinality as part (doc, place)";

/// Puts the rows down in `pg_temp.vitrina_page`, numbered from 1. Returns how many there were.
pub async fn put_down(
    tx: &mut PgConnection,
    rows: impl Stream<Item = Result<Row, BatchError>> + Send,
) -> Result<i64, BatchError> {
    sqlx::query("select etl.stage_page()").execute(&mut *tx).await?;
    let mut rows = std::pin::pin!(rows);
    let mut places = 0_i64;
    loop {
        let (part, more) = fill_block(&mut rows, |row: &Row| row.doc.len()).await?;
        let part: Vec<String> = part.into_iter().map(|row| row.doc).collect();
        if part.iter().any(|doc| i32::try_from(doc.len()).is_err()) {
            return Err(BatchError::fatal("a row has more than two gigabytes"));
        }
        if !part.is_empty() {
            sqlx::query(INSERT).bind(&part).bind(places).execute(&mut *tx).await?;
            places += i64::try_from(part.len()).unwrap_or(i64::MAX);
        }
        if !more {
            return Ok(places);
        }
    }
}
