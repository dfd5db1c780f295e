//! Writes rows to a mart, one by one, in the transaction that closes their letters.

use sqlx::{Connection, PgConnection};
use vitrina_shared::{domain::report::ReplayOutcome, store::pages};

use super::{mart::Mart, merge::arrived};
use crate::{
    error::{BatchError, is_row_error},
    sink::{Replayed, Row},
};

/// Writes the rows; those that are refused leave no trace.
pub async fn write(mart: &Mart, tx: &mut PgConnection, rows: &[Row]) -> Result<Vec<Replayed>, BatchError> {
    let statement = format!(
        "with written as ({}) select 0::bigint, count(*), null::text[], false from written",
        mart.upsert(&arrived(mart, "", "($5)[3]::json")),
    );
    // A constraint that is checked at the end of the transaction would not name the row it refuses.
    sqlx::raw_sql("set constraints all immediate").execute(&mut *tx).await?;
    let mut fates = Vec::with_capacity(rows.len());
    for row in rows {
        let mut attempt = tx.begin().await?;
        match pages::execute(&mut attempt, &statement, &[Some(row.doc.clone())]).await {
            Ok(outcome) => {
                attempt.commit().await?;
                let written = outcome.rows_written > 0;
                fates.push(Ok(if written { ReplayOutcome::Written } else { ReplayOutcome::Unchanged }));
            }
            Err(error) => {
                attempt.rollback().await?;
                fates.push(Err(refusal(error)?));
            }
        }
    }
    Ok(fates)
}

/// What the server has against a row: its values or a constraint. Anything else ends the replay.
fn refusal(error: sqlx::Error) -> Result<String, BatchError> {
    let of_the_row = is_row_error(&error);
    let error = BatchError::from(error);
    if let BatchError::Failed { message, .. } = &error
        && of_the_row
    {
        return Ok(message.clone());
    }
    Err(error)
}
