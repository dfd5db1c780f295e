//! `etl.etl_calls`: calls of steps to services outside. A row is there before the request is sent, and has the answer afterwards.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::{StreamExt, stream::BoxStream};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::{commit_durably, interval};
use crate::domain::{PipelineId, named_enum};

/// Bytes of a SHA-256.
pub type Digest = [u8; 32];

named_enum! {
    CallState {
        /// On its way, or lost with its worker.
        Sending = "SENDING",
        /// Accepted by the service, and polled until its end.
        Submitted = "SUBMITTED",
        /// Tried again later.
        Waiting = "WAITING",
        Done = "DONE",
        /// The input is at fault.
        Refused = "REFUSED",
        /// Given up for its run.
        Failed = "FAILED",
    }
}

/// Whose calls: those of a step of a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    pub pipeline: PipelineId,
    pub step: &'a str,
}

/// What is known of a call.
#[derive(Debug, Clone)]
pub struct KnownCall {
    pub key: Vec<u8>,
    pub input: Vec<u8>,
    pub state: CallState,
    pub idempotency_key: Uuid,
    /// How many inputs were sent in its request.
    pub together: i16,
    pub run: Uuid,
    pub key_fingerprint: Option<String>,
    pub external_id: Option<String>,
    pub answer: Option<String>,
    pub error: Option<String>,
    pub attempts: i32,
    /// How long it has to rest until it is sent or polled again.
    pub rests: Duration,
    /// Whether the service has worked on it for too long.
    pub is_overdue: bool,
}

/// What is known of these calls, one after the other: their answers may be long.
pub fn find<'c>(
    connection: &'c mut PgConnection,
    caller: Caller<'c>,
    keys: &'c [Vec<u8>],
) -> BoxStream<'c, sqlx::Result<KnownCall>> {
    let found = sqlx::query!(
        r#"
        select call_key, input, state as "state: CallState", idempotency_key, together, run_id, key_fingerprint, external_id,
               answer, error, attempts,
               extract(epoch from case state when 'SENDING' then leased_until else next_look_at end - clock_timestamp())::float8
                   as rests,
               coalesce(deadline_at < clock_timestamp(), false) as "is_overdue!"
        from etl.etl_calls
        where pipeline_id = $1 and step = $2 and call_key = any($3)
        "#,
        caller.pipeline as PipelineId,
        caller.step,
        keys,
    )
    .fetch(connection);
    let known = found.map(|row| {
        let row = row?;
        Ok(KnownCall {
            key: row.call_key,
            input: row.input,
            state: row.state,
            idempotency_key: row.idempotency_key,
            together: row.together,
            run: row.run_id,
            key_fingerprint: row.key_fingerprint,
            external_id: row.external_id,
            answer: row.answer,
            error: row.error,
            attempts: row.attempts,
            rests: Duration::try_from_secs_f64(row.rests.unwrap_or(0.0).max(0.0)).unwrap_or(Duration::MAX),
            is_overdue: row.is_overdue,
        })
    });
    known.boxed()
}

/// Inputs that are sent in one request.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    pub keys: &'a [Vec<u8>],
    pub inputs: &'a [Vec<u8>],
    pub idempotency_key: Uuid,
    pub run: Uuid,
    pub key_fingerprint: Option<&'a str>,
    /// How long no other attempt sends it.
    pub lease: Duration,
}

/// Notes that calls are sent now, and returns the number of this attempt; none where another attempt sends one of them or has
/// its answer. The note is on disk before this returns.
pub async fn claim(connection: &mut PgConnection, caller: Caller<'_>, claim: &Claim<'_>) -> sqlx::Result<Option<i32>> {
    let mut tx = connection.begin().await?;
    commit_durably(&mut tx).await?;
    let claimed = sqlx::query_scalar!(
        r#"
        insert into etl.etl_calls as call
            (pipeline_id, step, call_key, input, state, idempotency_key, together, run_id, key_fingerprint, attempts, sent_at,
             leased_until)
        select $1, $2, asked.call_key, asked.input, 'SENDING', $5, cardinality($3::bytea[])::smallint, $6, $7, 1,
               clock_timestamp(), clock_timestamp() + $8
        from unnest($3::bytea[], $4::bytea[]) as asked (call_key, input)
        on conflict (pipeline_id, step, call_key) do update
        set input = excluded.input, state = 'SENDING', idempotency_key = excluded.idempotency_key, together = excluded.together,
            run_id = excluded.run_id, key_fingerprint = excluded.key_fingerprint, external_id = null, status = null,
            answer = null, error = null,
            attempts = case
                when call.run_id <> excluded.run_id or call.input <> excluded.input then 1
                -- An attempt that was lost with its worker has not failed.
                when call.state = 'SENDING' then call.attempts
                else call.attempts + 1
            end,
            created_at = case when call.input = excluded.input then call.created_at else clock_timestamp() end,
            sent_at = excluded.sent_at, next_look_at = null, deadline_at = null, leased_until = excluded.leased_until,
            answered_at = null
        where not (call.state = 'SENDING' and call.leased_until > clock_timestamp())
          and not (call.state in ('SUBMITTED', 'DONE', 'REFUSED') and call.input = excluded.input)
        returning call.attempts
        "#,
        caller.pipeline as PipelineId,
        caller.step,
        claim.keys,
        claim.inputs,
        claim.idempotency_key,
        claim.run,
        claim.key_fingerprint,
        interval(claim.lease) as _,
    )
    .fetch_all(&mut *tx)
    .await?;
    if claimed.len() < claim.keys.len() {
        tx.rollback().await?;
        return Ok(None);
    }
    tx.commit().await?;
    Ok(claimed.into_iter().max())
}

/// What became of calls that were sent, or of one that was polled.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub state: CallState,
    pub status: Option<i16>,
    pub external_id: Option<String>,
    pub error: Option<String>,
    /// When it is sent or polled next.
    pub next_look: Option<Duration>,
    /// How long the service may work on it, from now on.
    pub deadline: Option<Duration>,
    /// Whether this counts as a failed attempt.
    pub is_attempt: bool,
    /// Whether the inputs are sent one by one from now on: the service refused all of them together.
    pub parts: bool,
}

/// Notes what became of the calls of one request, with an answer for each where there are some. It is on disk before this
/// returns. Calls that another attempt has taken over meanwhile are left alone.
pub async fn note(
    connection: &mut PgConnection,
    caller: Caller<'_>,
    idempotency_key: Uuid,
    keys: &[Vec<u8>],
    answers: &[Option<String>],
    outcome: &Outcome,
) -> sqlx::Result<()> {
    let mut tx = connection.begin().await?;
    commit_durably(&mut tx).await?;
    sqlx::query!(
        r#"
        update etl.etl_calls as call
        set state = $6, status = $7, external_id = coalesce($8, call.external_id), answer = answered.answer, error = $9,
            next_look_at = clock_timestamp() + $10, leased_until = null,
            deadline_at = coalesce(clock_timestamp() + $11, call.deadline_at),
            attempts = call.attempts - case when $12 then 0 else 1 end,
            together = case when $13 then 1 else call.together end,
            idempotency_key = case when $13 then gen_random_uuid() else call.idempotency_key end,
            answered_at = case when $6 in ('DONE', 'REFUSED', 'FAILED') then clock_timestamp() end
        from unnest($4::bytea[], $5::text[]) as answered (call_key, answer)
        where call.pipeline_id = $1 and call.step = $2 and call.call_key = answered.call_key and call.idempotency_key = $3
          and call.state in ('SENDING', 'SUBMITTED')
        "#,
        caller.pipeline as PipelineId,
        caller.step,
        idempotency_key,
        keys,
        answers as &[Option<String>],
        outcome.state as CallState,
        outcome.status,
        outcome.external_id,
        outcome.error,
        outcome.next_look.map(interval) as _,
        outcome.deadline.map(interval) as _,
        outcome.is_attempt,
        outcome.parts,
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await
}

/// A call as the API shows it: without its answer, which may quote rows.
#[derive(Debug)]
pub struct ListedCall {
    pub pipeline: String,
    pub step: String,
    /// Its place among calls of one moment. The call's own key is a digest of a row, which could be guessed.
    pub place: Vec<u8>,
    pub state: CallState,
    pub run: Uuid,
    pub external_id: Option<String>,
    pub status: Option<i16>,
    pub error: Option<String>,
    pub attempts: i32,
    pub key_fingerprint: Option<String>,
    pub created_at: DateTime<Utc>,
    pub sent_at: Option<DateTime<Utc>>,
    pub next_look_at: Option<DateTime<Utc>>,
    pub answered_at: Option<DateTime<Utc>>,
}

/// Which calls to list.
#[derive(Debug, Default)]
pub struct Wanted<'a> {
    pub pipeline: Option<PipelineId>,
    pub state: Option<CallState>,
    /// The last one of the page before.
    pub before: Option<(DateTime<Utc>, &'a [u8])>,
    pub limit: i64,
}

/// Calls, the newest first.
pub async fn list(connection: &mut PgConnection, wanted: &Wanted<'_>) -> sqlx::Result<Vec<ListedCall>> {
    let (before_at, before_place) = wanted.before.unzip();
    sqlx::query_as!(
        ListedCall,
        r#"
        select p.name as pipeline, c.step, sha256(c.call_key || uuid_send(c.idempotency_key)) as "place!", c.state as "state: CallState", c.run_id as run, c.external_id, c.status,
               c.error, c.attempts, c.key_fingerprint, c.created_at, c.sent_at, c.next_look_at, c.answered_at
        from etl.etl_calls c
        join etl.etl_pipelines p on p.id = c.pipeline_id
        where ($1::uuid is null or c.pipeline_id = $1) and ($2::text is null or c.state = $2)
          and ($3::timestamptz is null or (c.created_at, sha256(c.call_key || uuid_send(c.idempotency_key))) < ($3, $4))
        order by c.created_at desc, sha256(c.call_key || uuid_send(c.idempotency_key)) desc
        limit $5
        "#,
        wanted.pipeline as Option<PipelineId>,
        wanted.state as Option<CallState>,
        before_at,
        before_place,
        wanted.limit,
    )
    .fetch_all(connection)
    .await
}

/// Forgets what is known of a pipeline's calls, of one state or all that are not under way: they are made again.
pub async fn forget(
    connection: &mut PgConnection,
    pipeline: PipelineId,
    state: Option<CallState>,
) -> sqlx::Result<u64> {
    let forgotten = sqlx::query!(
        r#"
        delete from etl.etl_calls
        where pipeline_id = $1 and state not in ('SENDING', 'SUBMITTED') and ($2::text is null or state = $2)
        "#,
        pipeline as PipelineId,
        state as Option<CallState>,
    )
    .execute(connection)
    .await?;
    Ok(forgotten.rows_affected())
}

/// Removes calls that were answered, or made and never answered, longer ago than this. Returns how many.
pub async fn prune(connection: &mut PgConnection, kept: Duration, at_most: i64) -> sqlx::Result<u64> {
    let pruned = sqlx::query!(
        r#"
        with old as (
            select pipeline_id, step, call_key
            from etl.etl_calls
            where created_at < now() - $1::interval and coalesce(answered_at, sent_at, created_at) < now() - $1::interval
            order by created_at
            limit $2
            for update skip locked
        )
        delete from etl.etl_calls c using old
        where c.pipeline_id = old.pipeline_id and c.step = old.step and c.call_key = old.call_key
        "#,
        interval(kept) as _,
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(pruned.rows_affected())
}
