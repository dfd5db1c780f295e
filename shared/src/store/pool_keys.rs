//! `etl.etl_pool_keys`: what became of the keys of a pool. A key is known by a fingerprint alone.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::interval;

/// The longest rest of a key whose service does not say when it may be used again.
const LONGEST_REST: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub struct PoolKey {
    pub pool: String,
    pub fingerprint: String,
    pub used_at: Option<DateTime<Utc>>,
    pub rests_until: Option<DateTime<Utc>>,
    pub refused_at: Option<DateTime<Utc>>,
    pub refused_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// The fingerprint of the key that was used least recently.
    Key(String),
    /// All keys rest; the first one for so long.
    Resting(Duration),
    /// The service does not accept any of them.
    Refused,
}

/// Chooses among the keys that a worker has.
pub async fn choose(connection: &mut PgConnection, pool: &str, fingerprints: &[String]) -> sqlx::Result<Chosen> {
    let chosen = sqlx::query_scalar!(
        r#"
        update etl.etl_pool_keys as k
        set used_at = clock_timestamp()
        where (k.pool, k.fingerprint) = (
            select pool, fingerprint
            from etl.etl_pool_keys
            where pool = $1 and fingerprint = any($2) and refused_at is null
              and (rests_until is null or rests_until <= clock_timestamp())
            order by used_at nulls first
            limit 1
            for no key update skip locked
        )
        returning k.fingerprint
        "#,
        pool,
        fingerprints,
    )
    .fetch_optional(&mut *connection)
    .await?;
    if let Some(fingerprint) = chosen {
        return Ok(Chosen::Key(fingerprint));
    }
    let rests = sqlx::query!(
        r#"
        select count(*) filter (where refused_at is null) as "usable!",
               -- One that does not rest was locked just now, by another call that takes it.
               min(coalesce(extract(epoch from rests_until - clock_timestamp())::float8, 0)) filter (where refused_at is null)
                   as rests
        from etl.etl_pool_keys
        where pool = $1 and fingerprint = any($2)
        "#,
        pool,
        fingerprints,
    )
    .fetch_one(connection)
    .await?;
    Ok(match (rests.usable, rests.rests) {
        (0, _) | (_, None) => Chosen::Refused,
        (_, Some(rests)) => Chosen::Resting(Duration::try_from_secs_f64(rests.max(0.0)).unwrap_or(LONGEST_REST)),
    })
}

/// Makes the keys of a pool known.
pub async fn introduce(connection: &mut PgConnection, pool: &str, fingerprints: &[String]) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        insert into etl.etl_pool_keys (pool, fingerprint)
        select $1, unnest($2::text[])
        on conflict do nothing
        "#,
        pool,
        fingerprints,
    )
    .execute(connection)
    .await
    .map(drop)
}

/// The service asked this key to slow down: it rests as long as the service has said, or else longer each time.
pub async fn rest(
    connection: &mut PgConnection,
    pool: &str,
    fingerprint: &str,
    asked: Option<Duration>,
) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_pool_keys
        set strikes = least(strikes + 1, 30),
            rests_until = clock_timestamp() + coalesce($3, least(make_interval(secs => 2 ^ least(strikes, 20)), $4))
        where pool = $1 and fingerprint = $2
        "#,
        pool,
        fingerprint,
        asked.map(interval) as _,
        interval(LONGEST_REST) as _,
    )
    .execute(connection)
    .await
    .map(drop)
}

/// The service answered with this key: it need not rest longer than at first next time.
pub async fn answered(connection: &mut PgConnection, pool: &str, fingerprint: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_pool_keys set strikes = 0 where pool = $1 and fingerprint = $2 and strikes > 0",
        pool,
        fingerprint,
    )
    .execute(connection)
    .await
    .map(drop)
}

/// The service does not accept this key. Returns whether that is news.
pub async fn refuse(connection: &mut PgConnection, pool: &str, fingerprint: &str, reason: &str) -> sqlx::Result<bool> {
    let refused = sqlx::query!(
        r#"
        update etl.etl_pool_keys
        set refused_at = clock_timestamp(), refused_reason = left($3, 1000)
        where pool = $1 and fingerprint = $2 and refused_at is null
        "#,
        pool,
        fingerprint,
        reason,
    )
    .execute(connection)
    .await?;
    Ok(refused.rows_affected() > 0)
}

pub async fn list(connection: &mut PgConnection) -> sqlx::Result<Vec<PoolKey>> {
    sqlx::query_as!(
        PoolKey,
        "select pool, fingerprint, used_at, rests_until, refused_at, refused_reason from etl.etl_pool_keys order by pool, fingerprint",
    )
    .fetch_all(connection)
    .await
}

/// Forgets what became of a pool's keys: they are tried again. Returns how many.
pub async fn forget(connection: &mut PgConnection, pool: &str) -> sqlx::Result<u64> {
    let forgotten = sqlx::query!(
        r#"
        update etl.etl_pool_keys
        set rests_until = null, strikes = 0, refused_at = null, refused_reason = null
        where pool = $1
        "#,
        pool,
    )
    .execute(connection)
    .await?;
    Ok(forgotten.rows_affected())
}

/// How many keys of each pool may be used now, rest or are set aside.
#[derive(Debug)]
pub struct PoolDepth {
    pub pool: String,
    pub ready: i64,
    pub resting: i64,
    pub refused: i64,
}

pub async fn depths(connection: &mut PgConnection) -> sqlx::Result<Vec<PoolDepth>> {
    sqlx::query_as!(
        PoolDepth,
        r#"
        select pool,
               count(*) filter (where refused_at is null and (rests_until is null or rests_until <= now())) as "ready!",
               count(*) filter (where refused_at is null and rests_until > now()) as "resting!",
               count(*) filter (where refused_at is not null) as "refused!"
        from etl.etl_pool_keys
        group by pool
        order by pool
        "#,
    )
    .fetch_all(connection)
    .await
}
