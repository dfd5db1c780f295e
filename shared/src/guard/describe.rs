//! Lets the server describe a query: the columns that it returns (here) and what it does (`judged`).
//!
//! `etl_page.describe` makes a temporary view of the query and undoes that at once, under a role that can only read.
//! Nothing is planned or executed, so a query that would take hours is described as quickly as any other.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlparser::tokenizer::Location;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgDatabaseError, PgErrorPosition};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::{GuardError, ParameterTypes, Refusal, SourceQuery, SourceSchemas, judged};
use crate::domain::SourceColumn;
use crate::store::{
    backends,
    value_types::{self, ValueType},
};

/// How much `etl_page.describe` writes before the query; complaints are counted from there.
const BEFORE: usize = "create temporary view vitrina_judged as select * from (".len();
const DUPLICATE_COLUMN: &str = "42701";
const NO_COLUMN_TYPE: &str = "42P16";
const TIMED_OUT: &str = "57014";

/// How long describing a query may take, and wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    pub statement: Duration,
    pub lock: Duration,
    /// By which the session is found on the server, should it not come back (`store::backends`).
    pub mark: Uuid,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self { statement: Duration::from_secs(5), lock: Duration::from_secs(2), mark: Uuid::now_v7() }
    }
}

#[derive(Debug)]
pub struct Description {
    pub columns: Vec<SourceColumn>,
    /// What the types of its columns are made of, in the same order.
    pub types: Vec<ValueType>,
    /// The tables and views that it names, as SQL writes them.
    pub relations: BTreeSet<String>,
    /// The column of a table or view that each of its columns is: oid and number, zero where it is none.
    pub origins: Vec<(u32, i16)>,
    /// What makes it return other values each time it is read, such as `now()`.
    pub unsteady: BTreeSet<String>,
}

/// Asks the server what `query` returns and what it does. `walk` names the key and the id that its placeholders are about.
pub async fn describe(
    conn: &mut PgConnection,
    query: &SourceQuery,
    walk: (Option<&str>, Option<&str>),
    schemas: &SourceSchemas,
    limits: &QueryLimits,
) -> Result<Description, GuardError> {
    let mut tx = begin(conn, limits).await?;
    let read = async |tx: &mut PgConnection, text: &str| {
        DescribedQuery::of(tx, text).await.map_err(|error| blame(error, limits, |position| query.text.locate(position)))
    };
    let mut described = read(&mut tx, &query.text.with_nulls()).await?;
    let mut columns = described.columns();
    // The query will be executed with values of these types, which may select other functions than bare nulls.
    if let Some(types) = ParameterTypes::of(&columns, walk.0, walk.1).filter(|_| !query.placeholders().is_empty()) {
        described = read(&mut tx, &query.text.with_typed_nulls(&types)).await?;
        columns = described.columns();
        // Otherwise it would be executed with other types than it was judged with.
        if ParameterTypes::of(&columns, walk.0, walk.1).as_ref() != Some(&types) {
            return Err(Refusal::UnsettledTypes.into());
        }
    }
    if described.names.is_empty() {
        return Err(Refusal::NoColumns.into());
    }
    let judged = judged::judge(&mut tx, described.tree, schemas).await?;
    let facts = facts(&mut tx, &columns, &judged.origins).await?;
    for (column, facts) in columns.iter_mut().zip(&facts) {
        column.nullable = facts.nullable.filter(|nullable| *nullable || !query.pads_with_nulls);
        if let Some(resolved) = &facts.value.resolved {
            column.declared = Some(resolved.clone());
        }
    }
    tx.rollback().await?;
    let types = facts.into_iter().map(|facts| facts.value).collect();
    let judged::Judged { relations, origins, unsteady } = judged;
    Ok(Description { columns, types, relations, origins, unsteady })
}

/// Prepares a new session for descriptions: with a schema for temporary objects that stays it keeps its plans.
pub(super) async fn keep_temporary_schema(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql("select etl_page.keep_temporary_schema()").execute(conn).await?;
    Ok(())
}

/// Judges a text without layer 1: the protection that remains if layer 1 is mistaken.
#[cfg(feature = "testing")]
pub async fn judge_alone(conn: &mut PgConnection, text: &str, schemas: &SourceSchemas) -> Result<(), GuardError> {
    let limits = QueryLimits::default();
    let mut tx = begin(conn, &limits).await?;
    let described = DescribedQuery::of(&mut tx, text).await.map_err(|error| blame(error, &limits, |_| None))?;
    judged::judge(&mut tx, described.tree, schemas).await?;
    tx.rollback().await?;
    Ok(())
}

async fn begin<'c>(conn: &'c mut PgConnection, limits: &QueryLimits) -> sqlx::Result<Transaction<'c, Postgres>> {
    let limited = format!(
        "begin; set local statement_timeout = {}; set local lock_timeout = {}; {}",
        milliseconds(limits.statement),
        milliseconds(limits.lock),
        backends::mark(limits.mark),
    );
    conn.begin_with(AssertSqlSafe(limited)).await
}

/// At least one: zero would mean no limit.
fn milliseconds(duration: Duration) -> u128 {
    duration.as_millis().clamp(1, i32::MAX.unsigned_abs().into())
}

#[derive(Debug, sqlx::FromRow)]
struct DescribedQuery {
    tree: String,
    names: Vec<String>,
    types: Vec<Oid>,
    type_names: Vec<String>,
    declared: Vec<String>,
    collations: Vec<String>,
}

impl DescribedQuery {
    async fn of(conn: &mut PgConnection, text: &str) -> sqlx::Result<Self> {
        sqlx::query_as("select tree, names, types, type_names, declared, collations from etl_page.describe($1)")
            .bind(text)
            .fetch_one(conn)
            .await
    }

    fn columns(&self) -> Vec<SourceColumn> {
        let column = |(place, name): (usize, &String)| {
            Some(SourceColumn {
                name: name.clone(),
                type_oid: self.types.get(place)?.0,
                type_name: self.type_names.get(place)?.clone(),
                declared: self.declared.get(place).cloned(),
                collation: self.collations.get(place).filter(|collation| *collation != ".").cloned(),
                nullable: None,
            })
        };
        self.names.iter().enumerate().filter_map(column).collect()
    }
}

#[derive(Debug, sqlx::FromRow)]
struct ColumnFacts {
    /// Whether it may be null. `attnotnull` says so for tables only, not for views, and an outer join brings nulls into a
    /// column that has none.
    nullable: Option<bool>,
    #[sqlx(flatten)]
    value: ValueType,
}

async fn facts(
    conn: &mut PgConnection,
    columns: &[SourceColumn],
    origins: &[(u32, i16)],
) -> sqlx::Result<Vec<ColumnFacts>> {
    let leaves = value_types::leaves(
        // By its name in the catalog: `regcollation` asks for rights on the schema, which only users' queries have.
        "select c.place, c.type, -1 as modifier, coalesce(k.oid, t.typcollation) as collated_by
         from unnest($1::oid[], $2::text[]) with ordinality as c (type, collated_by, place)
         join pg_type t on t.oid = c.type
         left join lateral (
             select k.oid
             from pg_collation k
             join pg_namespace n on n.oid = k.collnamespace
             where c.collated_by is not null and format('%I.%I', n.nspname, k.collname) = c.collated_by
               and k.collencoding in (-1, pg_char_to_encoding(getdatabaseencoding()))
             limit 1
         ) as k on true",
    );
    let statement = format!(
        "with recursive {leaves}
         select not a.attnotnull as nullable, case when l.domain or l.composite then l.plain end as resolved, l.leaf, l.is_enum,
                l.deterministic
         from leaf l
         left join unnest($3::oid[], $4::int2[]) with ordinality as o (relation, attribute, place) on o.place = l.place
         left join pg_class t on t.oid = o.relation and t.relkind in ('r', 'p')
         left join pg_attribute a on a.attrelid = t.oid and a.attnum = o.attribute
         order by l.place"
    );
    sqlx::query_as(AssertSqlSafe(statement))
        .bind(columns.iter().map(|column| Oid(column.type_oid)).collect::<Vec<_>>())
        .bind(columns.iter().map(|column| column.collation.clone()).collect::<Vec<_>>())
        .bind(origins.iter().map(|(relation, _)| Oid(*relation)).collect::<Vec<_>>())
        .bind(origins.iter().map(|(_, attribute)| *attribute).collect::<Vec<_>>())
        .fetch_all(conn)
        .await
}

/// Tells the query's faults from the server's troubles. `locate` knows where the user wrote what stands at a place of the text.
fn blame(error: sqlx::Error, limits: &QueryLimits, locate: impl Fn(usize) -> Option<Location>) -> GuardError {
    let server = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    match server {
        Some(complaint) if complaint.code() == TIMED_OUT => {
            Refusal::NotDescribed { seconds: limits.statement.as_secs() }.into()
        }
        Some(complaint) if is_about_the_query(complaint.code()) => refusal(complaint, locate).into(),
        Some(_) | None => error.into(),
    }
}

/// Whether an SQLSTATE means that the query is wrong: anything but lost connections (08), conflicts (40), lack of resources
/// (53), locks (55), shutdown (57), failures of the server (58, XX), and a server that takes no writes (25006): describing makes a
/// temporary view.
fn is_about_the_query(code: &str) -> bool {
    let troubles = ["08", "25006", "40", "53", "55", "57", "58", "XX"];
    !troubles.iter().any(|class| code.starts_with(class))
}

fn refusal(complaint: &PgDatabaseError, locate: impl Fn(usize) -> Option<Location>) -> Refusal {
    // A server's message, in any language, has the column's name in quotes.
    let name = complaint.message().split('"').nth(1).map(str::to_owned);
    // A function that is executed while the query is read can fail with any code, and with any words.
    let own = complaint.routine();
    match name {
        Some(name) if (complaint.code(), own) == (DUPLICATE_COLUMN, Some("MergeAttributes")) => {
            Refusal::DuplicateColumn { name }
        }
        Some(name) if (complaint.code(), own) == (NO_COLUMN_TYPE, Some("CheckAttributeType")) => {
            Refusal::PseudoType { name }
        }
        Some(_) | None => Refusal::Server { message: message(complaint, locate) },
    }
}

fn message(complaint: &PgDatabaseError, locate: impl Fn(usize) -> Option<Location>) -> String {
    let mut message = complaint.message().to_owned();
    if let Some(PgErrorPosition::Internal { position, .. }) = complaint.position()
        && let Some(place) = position.checked_sub(BEFORE).and_then(locate)
    {
        message.push_str(&format!(" (line {}, column {})", place.line, place.column));
    }
    if let Some(hint) = complaint.hint() {
        message.push_str(&format!(". {hint}"));
    }
    // Such words are not for viewers and logs, which know them by the code.
    format!("{message} (SQLSTATE {})", complaint.code())
}
