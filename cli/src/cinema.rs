//! The demo's online cinema: creates its tables and marts, and fills the tables with films and ratings, as many as asked for.
//!
//! The server makes the rows itself, a range of numbers per statement, and everything about row number n follows from
//! n: the same size gives the same cinema, and a second run adds what is missing and touches nothing else. The SQL is in
//! `demo/`.
//!
//! The rows of a first fill are dated within the past year. Rows that are added later are dated as an application would date
//! them, with the moment they come: a pipeline that has read the cinema would not find them in the past.

use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::types::chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgPool};

const SCHEMA: &str = include_str!("../../demo/cinema.sql");
const BEFORE_FIRST_FILL: &str = include_str!("../../demo/cinema/before_first_fill.sql");
const AFTER_FILL: &str = include_str!("../../demo/cinema/after_fill.sql");
const MARTS: &str = include_str!("../../demo/marts.sql");
/// Those of the tables `$1` that are there, with their columns in the order of their names.
const EXISTING_TABLES: &str = include_str!("cinema/existing_tables.sql");

/// A connection's settings: one generator at a time, room to sort, and no time lost on compiling, syncing and notices.
const SETTINGS: &str = "
    set client_min_messages = warning;
    set jit = off;
    set synchronous_commit = off;
    set work_mem = '64MB';
    select pg_advisory_lock(hashtextextended('vitrina demo cinema', 0));
";

/// How many numbers one statement covers: enough to be fast, few enough to show progress.
const NUMBERS_PER_STATEMENT: i64 = 100_000;

const GENRES: i64 = 27;

/// The tables and their columns, in the order of their names. A table of that name with other ones is not ours.
const TABLES: [(&str, &str); 6] = [
    (
        "content.genre",
        "created timestamp with time zone, description text, id uuid, modified timestamp with time zone, name text",
    ),
    ("content.person", "created timestamp with time zone, full_name text, id uuid, modified timestamp with time zone"),
    (
        "content.film_work",
        "created timestamp with time zone, creation_date date, description text, id uuid, \
         modified timestamp with time zone, rating numeric(3,1), title text, type text",
    ),
    ("content.genre_film_work", "created timestamp with time zone, film_work_id uuid, genre_id uuid"),
    ("content.person_film_work", "created timestamp with time zone, film_work_id uuid, person_id uuid, role text"),
    (
        "ugc.ratings",
        "created timestamp with time zone, film_id uuid, id bigint, modified timestamp with time zone, \
         score smallint, user_id uuid",
    ),
];

/// How large a cinema is wanted. Genres and people follow from the number of films.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CinemaSize {
    /// Rows of `content.film_work`.
    pub films: u32,
    /// Rows of `ugc.ratings`.
    pub ratings: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillProgress {
    pub table: &'static str,
    pub done: u64,
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CinemaSummary {
    pub added: Vec<(&'static str, u64)>,
    pub took: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum CinemaError {
    #[error("ratings need films: ask for at least one film, or for no ratings")]
    NothingToRate,
    #[error(
        "{table} exists already and is not the demo's (it has {found}); nothing was changed: use another database for \
         the demo, or your own tables without it"
    )]
    ForeignTable { table: String, found: String },
    #[error("the demo's data could not be written: {0}")]
    Database(#[from] sqlx::Error),
}

impl CinemaSummary {
    pub fn total_added(&self) -> u64 {
        self.added.iter().map(|(_, rows)| rows).sum()
    }
}

/// Creates the cinema's tables and marts where they are missing, and adds what they lack of the size. The database is migrated.
pub async fn generate(
    pool: &PgPool,
    size: CinemaSize,
    mut progress: impl FnMut(FillProgress) + Send,
) -> Result<CinemaSummary, CinemaError> {
    if size.films == 0 && size.ratings > 0 {
        return Err(CinemaError::NothingToRate);
    }
    let started = Instant::now();
    let mut connection = connect(pool).await?;
    refuse_foreign_tables(&mut connection).await?;
    sqlx::raw_sql(SCHEMA).execute(&mut connection).await?;
    sqlx::raw_sql(BEFORE_FIRST_FILL).execute(&mut connection).await?;
    let today = today(&mut connection).await?;
    let was_read = was_read(&mut connection).await?;
    let mut added = Vec::new();
    for fill in fills(size) {
        let in_the_past = !was_read && fill.is_first(&mut connection).await?;
        added.push((fill.table, fill.run(&mut connection, in_the_past.then_some(today), &mut progress).await?));
    }
    sqlx::raw_sql(SCHEMA).execute(&mut connection).await?;
    sqlx::raw_sql(AFTER_FILL).execute(&mut connection).await?;
    sqlx::raw_sql(MARTS).execute(&mut connection).await?;
    connection.close().await?;
    Ok(CinemaSummary { added, took: started.elapsed() })
}

/// One table to fill: the rows made from the numbers 1 to `numbers`.
struct Fill {
    table: &'static str,
    sql: &'static str,
    numbers: i64,
    /// How many films there are, for the statement that asks for it.
    films: Option<i64>,
}

fn fills(size: CinemaSize) -> [Fill; 6] {
    let films = i64::from(size.films);
    // The number that film_people.sql expects.
    let people = if films == 0 { 0 } else { 20 + films / 3 };
    let fill = |table, sql, numbers| Fill { table, sql, numbers, films: None };
    [
        fill("content.genre", include_str!("../../demo/cinema/genres.sql"), GENRES),
        fill("content.person", include_str!("../../demo/cinema/people.sql"), people),
        fill("content.film_work", include_str!("../../demo/cinema/films.sql"), films),
        fill("content.genre_film_work", include_str!("../../demo/cinema/film_genres.sql"), films),
        fill("content.person_film_work", include_str!("../../demo/cinema/film_people.sql"), films),
        Fill {
            films: Some(films),
            ..fill("ugc.ratings", include_str!("../../demo/cinema/ratings.sql"), i64::from(size.ratings))
        },
    ]
}

impl Fill {
    /// Whether the table is still empty.
    async fn is_first(&self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        let query = format!("select not exists (select from {})", self.table);
        sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(connection).await
    }

    /// Fills the table and returns how many rows were added. They are dated before `newest`, or now.
    async fn run(
        &self,
        connection: &mut PgConnection,
        newest: Option<DateTime<Utc>>,
        progress: &mut (impl FnMut(FillProgress) + Send),
    ) -> Result<u64, sqlx::Error> {
        let mut added = 0;
        let mut done = 0;
        while done < self.numbers {
            let last = self.numbers.min(done + NUMBERS_PER_STATEMENT);
            added += self.add(connection, done + 1, last, newest).await?;
            done = last;
            let (done, total) = (done.unsigned_abs(), self.numbers.unsigned_abs());
            progress(FillProgress { table: self.table, done, total });
        }
        Ok(added)
    }

    /// Adds the rows of the numbers from `first` to `last` that are not there yet.
    async fn add(
        &self,
        connection: &mut PgConnection,
        first: i64,
        last: i64,
        newest: Option<DateTime<Utc>>,
    ) -> Result<u64, sqlx::Error> {
        let mut query = sqlx::query(self.sql).bind(first).bind(last).bind(newest);
        if let Some(films) = self.films {
            query = query.bind(films);
        }
        Ok(query.execute(connection).await?.rows_affected())
    }
}

/// A separate connection: its settings end with it, and its long statements are not logged.
async fn connect(pool: &PgPool) -> Result<PgConnection, sqlx::Error> {
    let options = PgConnectOptions::clone(&pool.connect_options()).disable_statement_logging();
    let mut connection = options.connect().await?;
    sqlx::raw_sql(SETTINGS).execute(&mut connection).await?;
    Ok(connection)
}

async fn refuse_foreign_tables(connection: &mut PgConnection) -> Result<(), CinemaError> {
    let names = TABLES.map(|(name, _)| name);
    let found: Vec<(String, String)> = sqlx::query_as(EXISTING_TABLES).bind(&names[..]).fetch_all(connection).await?;
    match found.into_iter().find(|(name, columns)| !TABLES.contains(&(name, columns))) {
        Some((table, found)) => Err(CinemaError::ForeignTable { table, found }),
        None => Ok(()),
    }
}

/// Whether a pipeline has a checkpoint. Even in an empty table, rows before it would never be read.
async fn was_read(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let migrated: bool =
        sqlx::query_scalar("select to_regclass('etl.etl_state') is not null").fetch_one(&mut *connection).await?;
    if !migrated {
        return Ok(false);
    }
    sqlx::query_scalar("select exists (select from etl.etl_state)").fetch_one(connection).await
}

/// The first moment of today: nothing of a first fill is newer.
async fn today(connection: &mut PgConnection) -> Result<DateTime<Utc>, sqlx::Error> {
    sqlx::query_scalar("select date_trunc('day', now(), 'UTC')").fetch_one(connection).await
}
