//! `pg_temp.vitrina_source`, `vitrina_target` and `vitrina_differing`: both sides of a comparison that no single statement
//! can read, put down by id in tables of the session, where the server compares them.

use serde::Deserialize;
use sqlx::{PgConnection, postgres::PgCopyIn};

use crate::{domain::report::DifferenceKind, sql::copy::CopyRows};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Source,
    Target,
}

#[derive(Debug)]
pub struct Entry<'a> {
    /// What identifies it on both sides.
    pub id: &'a str,
    /// Its key as a JSON array of texts; none where the id is the key's only value.
    pub key: Option<String>,
    /// What is the same where its values are.
    pub hash: i64,
    /// Whether it should be on the other side by now.
    pub settled: bool,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Settled rows of the source.
    pub source_rows: i64,
    /// Rows of the target, without those that are in flight.
    pub target_rows: i64,
    /// Rows of the source that the next batches will bring.
    pub in_flight: i64,
    pub missing: i64,
    pub extra: i64,
    pub different: i64,
}

impl Totals {
    pub fn differing(&self) -> i64 {
        self.missing + self.extra + self.different
    }
}

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct DifferingRow {
    pub id: String,
    /// The values of its key as text; the id alone where nothing tells the key.
    pub key: Vec<Option<String>>,
}

/// Makes the tables, which the end of the transaction removes. What is put down in them comes as fast as an index is read.
pub async fn prepare(tx: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql(
        r#"
        set local statement_timeout = '1h';
        create temporary table vitrina_source (
            id text not null, key text, hash bigint not null, settled boolean not null
        ) on commit drop;
        create temporary table vitrina_target (
            id text not null, key text, hash bigint not null, settled boolean not null
        ) on commit drop;
        "#,
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub async fn forget_source(tx: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql("truncate pg_temp.vitrina_source").execute(tx).await.map(drop)
}

/// Rows on their way into one of the tables.
pub struct SideCopy<'c> {
    copy: PgCopyIn<&'c mut PgConnection>,
    rows: CopyRows,
}

impl<'c> SideCopy<'c> {
    pub async fn begin(tx: &'c mut PgConnection, side: Side) -> sqlx::Result<Self> {
        let statement = match side {
            Side::Source => "copy pg_temp.vitrina_source (id, key, hash, settled) from stdin (format binary)",
            Side::Target => "copy pg_temp.vitrina_target (id, key, hash, settled) from stdin (format binary)",
        };
        Ok(Self { copy: tx.copy_in_raw(statement).await?, rows: CopyRows::default() })
    }

    /// Takes a row; [`SideCopy::send`] sends it.
    pub fn add(&mut self, entry: &Entry<'_>) {
        let (id, hash, settled) = (without_zeros(entry.id), entry.hash.to_be_bytes(), [u8::from(entry.settled)]);
        self.rows.add(&[Some(id.as_bytes()), entry.key.as_ref().map(String::as_bytes), Some(&hash), Some(&settled)]);
    }

    /// Sends what was taken, if it is worth it.
    pub async fn send(&mut self) -> sqlx::Result<()> {
        if self.rows.is_full() {
            self.copy.send(self.rows.bytes()).await?;
            self.rows.clear();
        }
        Ok(())
    }

    pub async fn finish(mut self) -> sqlx::Result<()> {
        self.rows.end();
        self.copy.send(self.rows.bytes()).await?;
        self.copy.finish().await?;
        Ok(())
    }
}

/// The server's texts have no such character. No row's key has one, so nothing is mistaken for a row.
fn without_zeros(id: &str) -> std::borrow::Cow<'_, str> {
    if id.contains('\0') { id.replace('\0', "\u{fffd}").into() } else { id.into() }
}

pub async fn repeats(tx: &mut PgConnection) -> sqlx::Result<bool> {
    // The tables are the session's own, so no macro can see them.
    sqlx::query_scalar("select exists (select from pg_temp.vitrina_source group by id having count(*) > 1)")
        .fetch_one(tx)
        .await
}

/// Makes `vitrina_differing` of the rows that differ, and counts.
pub async fn compare_sides(tx: &mut PgConnection) -> sqlx::Result<Totals> {
    sqlx::raw_sql(
        r#"
        set local statement_timeout = '10min';
        analyze pg_temp.vitrina_source;
        analyze pg_temp.vitrina_target;
        create temporary table vitrina_differing on commit drop as
        select case when s.id is null then 'extra' when t.id is null then 'missing' else 'different' end as kind,
               coalesce(s.id, t.id) as id,
               case when coalesce(s.key, t.key) is null then array[coalesce(s.id, t.id)]
                    else array(select jsonb_array_elements_text(coalesce(s.key, t.key)::jsonb)) end as key
        from pg_temp.vitrina_source s
        full join pg_temp.vitrina_target t on t.id = s.id
        where s.id is null or (s.settled and (t.id is null or t.hash <> s.hash));
        analyze pg_temp.vitrina_differing;
        "#,
    )
    .execute(&mut *tx)
    .await?;
    let (source_rows, target_rows, in_flight, missing, extra, different) = sqlx::query_as(
        r#"
        select (select count(*) from pg_temp.vitrina_source where settled),
               (select count(*) from pg_temp.vitrina_target) - (
                   select count(*) from pg_temp.vitrina_target t
                   join pg_temp.vitrina_source s on s.id = t.id and not s.settled
               ),
               (select count(*) from pg_temp.vitrina_source where not settled),
               count(*) filter (where kind = $1), count(*) filter (where kind = $2), count(*) filter (where kind = $3)
        from pg_temp.vitrina_differing
        "#,
    )
    .bind(DifferenceKind::Missing.as_str())
    .bind(DifferenceKind::Extra.as_str())
    .bind(DifferenceKind::Different.as_str())
    .fetch_one(tx)
    .await?;
    Ok(Totals { source_rows, target_rows, in_flight, missing, extra, different })
}

/// Up to `limit` rows that differ, in the order of their ids, after this one.
pub async fn differing(tx: &mut PgConnection, after: Option<&str>, limit: i64) -> sqlx::Result<Vec<DifferingRow>> {
    let text = "select id, key from pg_temp.vitrina_differing where $1::text is null or id > $1 order by id limit $2";
    sqlx::query_as(text).bind(after).bind(limit).fetch_all(tx).await
}

/// Leaves only the rows with these ids among those that differ.
pub async fn keep_only(tx: &mut PgConnection, ids: &[String]) -> sqlx::Result<()> {
    sqlx::query("delete from pg_temp.vitrina_differing where not id = any($1)").bind(ids).execute(tx).await.map(drop)
}
