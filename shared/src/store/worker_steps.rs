//! `etl.etl_worker_steps` and `etl.etl_worker_keys`: the steps in code that workers bring with them, and the keys of their steps.
//!
//! What a plan needs of a worker is said in words: a step by its name or in a version, a key by its fingerprint. [`are_on_one_worker`]
//! makes the same words of what workers have.

use sqlx::{PgConnection, types::Json};

use crate::domain::transform::{PublishedColumn, PublishedStep};

/// A step of live workers.
#[derive(Debug)]
pub struct LiveStep {
    pub declaration: PublishedStep,
    /// How many live workers have a step of the name.
    pub workers: i64,
}

pub fn step(name: &str) -> String {
    format!("step `{name}`")
}

pub fn step_in_version(name: &str, version: &str) -> String {
    format!("step `{name}` ({version})")
}

pub fn key(pool: &str, fingerprint: &str) -> String {
    format!("VITRINA_KEYS_{pool} ({fingerprint})")
}

/// Says which keys a worker has, by their pools and fingerprints.
pub async fn publish_keys(connection: &mut PgConnection, worker: &str, keys: &[(String, String)]) -> sqlx::Result<()> {
    let (pools, fingerprints): (Vec<_>, Vec<_>) = keys.iter().cloned().unzip();
    sqlx::query!(
        r#"
        insert into etl.etl_worker_keys (worker, pool, fingerprint)
        select $1, k.pool, k.fingerprint
        from unnest($2::text[], $3::text[]) as k (pool, fingerprint)
        on conflict (worker, pool) do update set fingerprint = excluded.fingerprint, published_at = now()
        "#,
        worker,
        &pools,
        &fingerprints,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces what a worker has.
pub async fn publish(connection: &mut PgConnection, worker: &str, steps: &[PublishedStep]) -> sqlx::Result<()> {
    let (names, versions): (Vec<_>, Vec<_>) =
        steps.iter().map(|step| (step.name.clone(), step.version.clone())).unzip();
    let declarations: Vec<_> = steps.iter().map(Json).collect();
    sqlx::query!(
        r#"
        with gone as (delete from etl.etl_worker_steps where worker = $1 and not name = any($2))
        insert into etl.etl_worker_steps (worker, name, version, declaration)
        select $1, s.name, s.version, s.declaration
        from unnest($2::text[], $3::text[], $4::jsonb[]) as s (name, version, declaration)
        on conflict (worker, name) do update
        set version = excluded.version, declaration = excluded.declaration, published_at = now()
        "#,
        worker,
        &names,
        &versions,
        declarations as Vec<Json<&PublishedStep>>,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The steps of live workers, by name. Of several versions the one that was published last is shown. A declaration that this version
/// of Vitrina cannot read, as another one may have written it, is left out.
pub async fn live(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Vec<LiveStep>> {
    let rows = sqlx::query!(
        r#"
        select s.name, s.worker, s.declaration, count(*) over (partition by s.name) as "workers!"
        from etl.etl_worker_steps s
        join apalis.workers w on w.id = s.worker
        where w.worker_type = $1 and w.last_seen between now() - interval '1 minute' and now() + interval '1 minute'
        order by s.name, s.published_at desc, s.worker
        "#,
        queue,
    )
    .fetch_all(connection)
    .await?;
    let mut live: Vec<LiveStep> = Vec::new();
    for row in rows {
        if live.last().is_some_and(|step| step.declaration.name == row.name) {
            continue;
        }
        match serde_json::from_value(row.declaration) {
            Ok(declaration) => live.push(LiveStep { declaration, workers: row.workers }),
            Err(error) => {
                tracing::warn!(step = row.name, worker = row.worker, error = %error, "a step of a worker cannot be read");
            }
        }
    }
    Ok(live)
}

/// Whether a live worker has all of these steps and keys.
pub async fn are_on_one_worker(connection: &mut PgConnection, queue: &str, needs: &[String]) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select exists (
            select
            from apalis.workers w
            where w.worker_type = $1 and w.last_seen between now() - interval '1 minute' and now() + interval '1 minute'
              and $2::text[] <@ array(
                  select unnest(array[format('step `%s`', s.name), format('step `%s` (%s)', s.name, s.version)])
                  from etl.etl_worker_steps s
                  where s.worker = w.id
                  union all
                  select format('VITRINA_KEYS_%s (%s)', k.pool, k.fingerprint)
                  from etl.etl_worker_keys k
                  where k.worker = w.id
              )
        ) as "is_there!"
        "#,
        queue,
        needs,
    )
    .fetch_one(connection)
    .await
}

/// A column of a type as SQL writes it, of any length; none where the server has no such type of its own.
pub async fn column(
    connection: &mut PgConnection,
    name: &str,
    type_name: &str,
) -> sqlx::Result<Option<PublishedColumn>> {
    let found = sqlx::query!(
        r#"
        select t.oid::bigint as "oid!", format_type(t.oid, null) as "type_name!"
        from pg_type t
        where t.oid = to_regtype($1) and t.oid < 16384 and t.typtype in ('b', 'r', 'm')
        "#,
        type_name,
    )
    .fetch_optional(connection)
    .await;
    match found {
        Ok(row) => Ok(row.and_then(|row| {
            let type_oid = u32::try_from(row.oid).ok()?;
            Some(PublishedColumn { name: name.to_owned(), type_name: row.type_name, type_oid })
        })),
        // What is no name of a type at all is a mistake of syntax to servers before 16.
        Err(error) if error.as_database_error().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes what workers had that the queue does not know any more.
pub async fn prune(connection: &mut PgConnection) -> sqlx::Result<u64> {
    let pruned = sqlx::query!(
        r#"
        delete from etl.etl_worker_steps s
        where s.published_at < now() - interval '5 minutes'
          and not exists (select from apalis.workers w where w.id = s.worker)
        "#,
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        delete from etl.etl_worker_keys k
        where k.published_at < now() - interval '5 minutes'
          and not exists (select from apalis.workers w where w.id = k.worker)
        "#,
    )
    .execute(connection)
    .await?;
    Ok(pruned.rows_affected())
}
