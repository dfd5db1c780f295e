//! `etl.etl_limits`: token buckets that all workers share, on the database's clock.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::interval;

/// What an operator sets: so many tokens in each period, and up to `burst` at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub tokens: i32,
    pub period_seconds: f64,
    pub burst: i32,
}

#[derive(Debug)]
pub struct Limit {
    pub name: String,
    pub tokens: i32,
    pub period_seconds: f64,
    pub burst: i32,
    /// When a token is there again; in the past where one is there now.
    pub free_at: Option<DateTime<Utc>>,
    pub rests_until: Option<DateTime<Utc>>,
}

/// A token was taken, or none was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// It is reserved; use it after this wait.
    Taken(Duration),
    /// None can be reserved before this wait is over.
    NotBefore(Duration),
}

/// Takes a token of a limit, one that counts within `ahead` at the latest. None where there is no such limit.
pub async fn take(connection: &mut PgConnection, name: &str, ahead: Duration) -> sqlx::Result<Option<Token>> {
    // The cell rate algorithm: `spent_until` moves on by a token's share of the period, and a token counts when it is less than
    // burst - 1 of these shares ahead of the clock.
    let taken = sqlx::query_scalar!(
        r#"
        update etl.etl_limits as l
        set spent_until = greatest(l.spent_until, clock.now) + make_interval(secs => l.period_seconds::float8 / l.tokens),
            updated_at = clock.now
        from (select clock_timestamp() as now offset 0) as clock
        where l.name = $1 and coalesce(l.rests_until, clock.now) <= clock.now
          and greatest(l.spent_until, clock.now) - make_interval(secs => l.period_seconds::float8 / l.tokens * (l.burst - 1))
              <= clock.now + $2
        returning extract(epoch from l.spent_until - make_interval(secs => l.period_seconds::float8 / l.tokens * l.burst)
                                     - clock.now)::float8 as "after!"
        "#,
        name,
        interval(ahead) as _,
    )
    .fetch_optional(&mut *connection)
    .await?;
    if let Some(after) = taken {
        return Ok(Some(Token::Taken(seconds(after))));
    }
    let free = sqlx::query_scalar!(
        r#"
        select extract(epoch from greatest(
                   spent_until - make_interval(secs => period_seconds::float8 / tokens * (burst - 1)), rests_until
               ) - clock_timestamp())::float8 as "after!"
        from etl.etl_limits
        where name = $1
        "#,
        name,
    )
    .fetch_optional(connection)
    .await?;
    Ok(free.map(|after| Token::NotBefore(seconds(after))))
}

fn seconds(after: f64) -> Duration {
    Duration::try_from_secs_f64(after.max(0.0)).unwrap_or(Duration::MAX)
}

/// Blocks the limit for `pause`, as the service asked.
pub async fn rest(connection: &mut PgConnection, name: &str, pause: Duration) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_limits set rests_until = greatest(rests_until, clock_timestamp() + $2) where name = $1",
        name,
        interval(pause) as _,
    )
    .execute(connection)
    .await
    .map(drop)
}

/// Makes a limit or changes it, and returns it with whether it is new. What was taken before counts by the new rate, and as what
/// fills the bucket at most: a limit that was one a day does not hold back for a day any more.
pub async fn put(connection: &mut PgConnection, name: &str, rate: Rate) -> sqlx::Result<(Limit, bool)> {
    let row = sqlx::query!(
        r#"
        insert into etl.etl_limits as l (name, tokens, period_seconds, burst)
        values ($1, $2, $3::float8::numeric, $4)
        on conflict (name) do update
        set tokens = excluded.tokens, period_seconds = excluded.period_seconds, burst = excluded.burst, rests_until = null,
            updated_at = now(),
            spent_until = case
                when l.spent_until > clock_timestamp() then clock_timestamp() + least(
                    (l.spent_until - clock_timestamp())
                        * ((excluded.period_seconds / excluded.tokens) / (l.period_seconds / l.tokens))::float8,
                    -- Tokens are taken up to a second ahead.
                    make_interval(secs => 1 + excluded.period_seconds::float8 / excluded.tokens * excluded.burst)
                )
                else l.spent_until
            end
        returning name, tokens, period_seconds::float8 as "period_seconds!", burst, rests_until,
                  case when isfinite(spent_until)
                       then spent_until - make_interval(secs => period_seconds::float8 / tokens * (burst - 1)) end as free_at,
                  xmax = 0 as "is_new!"
        "#,
        name,
        rate.tokens,
        rate.period_seconds,
        rate.burst,
    )
    .fetch_one(connection)
    .await?;
    let limit = Limit {
        name: row.name,
        tokens: row.tokens,
        period_seconds: row.period_seconds,
        burst: row.burst,
        free_at: row.free_at,
        rests_until: row.rests_until,
    };
    Ok((limit, row.is_new))
}

pub async fn list(connection: &mut PgConnection) -> sqlx::Result<Vec<Limit>> {
    sqlx::query_as!(
        Limit,
        r#"
        select name, tokens, period_seconds::float8 as "period_seconds!", burst, rests_until,
               case when isfinite(spent_until)
                    then spent_until - make_interval(secs => period_seconds::float8 / tokens * (burst - 1)) end as free_at
        from etl.etl_limits
        order by name
        "#,
    )
    .fetch_all(connection)
    .await
}

pub async fn exists(connection: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(r#"select exists (select from etl.etl_limits where name = $1) as "is_there!""#, name)
        .fetch_one(connection)
        .await
}

/// Removes a limit that no plan names. Returns whether it did.
pub async fn delete(connection: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    let deleted = sqlx::query!(
        r#"
        delete from etl.etl_limits
        where name = $1
          and not exists (select from etl.etl_pipeline_tasks t
                          where t.task_type = 'RUST' and t.body = 'http' and t.options ->> 'limit' = $1)
        "#,
        name,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

/// The names of the pipelines whose plans name a limit.
pub async fn named_by(connection: &mut PgConnection, name: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"
        select p.name
        from etl.etl_pipelines p
        where exists (select from etl.etl_pipeline_tasks t
                      where t.pipeline_id = p.id and t.task_type = 'RUST' and t.body = 'http' and t.options ->> 'limit' = $1)
        order by p.name
        "#,
        name,
    )
    .fetch_all(connection)
    .await
}

/// Which of these limits there are.
pub async fn known(connection: &mut PgConnection, names: &[String]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select name from etl.etl_limits where name = any($1)", names).fetch_all(connection).await
}
