//! `etl.etl_write_numbers`: which of two writes to one document is the newer.
//!
//! A number is taken *before* the rows are read that are written with it. So the writer with the greater number has read later,
//! and a request that comes late, of a worker that was taken for dead or of an attempt that was repeated, has a smaller one.
//! No clock is asked: one that is set back would make every newer write the older one.

use sqlx::PgConnection;

/// What found versions can raise the numbers to. As many are left above it, or one document with a made-up version
/// would use up the numbers of all indexes.
pub const MOST_PASSED: i64 = 8_796_093_022_206 / 2;

/// Takes a number for writes that come before the end of a transaction, over a connection without one: a crash of the server must
/// not give it out again, so it is on disk before it is used.
pub async fn take(connection: &mut PgConnection) -> sqlx::Result<i64> {
    let number = sqlx::query_scalar!(r#"select nextval('etl.etl_write_numbers') as "number!""#)
        .fetch_one(&mut *connection)
        .await?;
    super::flush(connection).await?;
    Ok(number)
}

/// Makes sure that all numbers from now on are greater than this one, which was found where it should not be: the database
/// is an older copy of itself, or another writer has written. Nothing is done, and false returned, above [`MOST_PASSED`].
pub async fn pass(connection: &mut PgConnection, number: i64) -> sqlx::Result<bool> {
    if number > MOST_PASSED {
        return Ok(false);
    }
    sqlx::query!(
        "select setval('etl.etl_write_numbers', least($1, 8796093022206)) from etl.etl_write_numbers where last_value < $1",
        number,
    )
    .fetch_optional(connection)
    .await?;
    Ok(true)
}
