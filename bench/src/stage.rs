//! What is measured on: a filled database, an API, a worker, a client, and one connection for bare SQL.

use std::time::Instant;

use sqlx::{
    Connection, PgConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    Outcome,
    client::Api,
    report::say,
    services::{Program, Service},
    settings::Settings,
};

pub struct Stage {
    pub api: Api,
    pub worker: Service,
    pub program: Program,
    /// The connection of bare SQL, as the owner.
    pub sql: PgConnection,
    _api_service: Service,
}

/// The sources have been there for long. Vitrina's own tables have not: vacuumed while they are empty they would be
/// known to be, and their plans made for that.
const VACUUM_SOURCES: &str = "
    vacuum analyze content.film_work, content.genre, content.genre_film_work, content.person, content.person_film_work,
                   ugc.ratings
";

impl Stage {
    /// Migrates and fills the database, then starts the services on it.
    pub async fn set(settings: &Settings) -> Outcome<Self> {
        let program = Program::find(&settings.setup)?;
        let start = Instant::now();
        program.run(&["migrate"]).await?;
        let (films, ratings) = (settings.films.to_string(), settings.ratings.to_string());
        program.run(&["cinema", "--films", &films, "--ratings", &ratings]).await?;
        say(&format!("{films} films and {ratings} ratings in {:.0} s", start.elapsed().as_secs_f64()));
        let mut sql = connect(&settings.setup.database_url).await?;
        sqlx::raw_sql(VACUUM_SOURCES).execute(&mut sql).await?;
        let api_service = program.start_api().await?;
        let worker = program.start_worker().await?;
        let api = Api::connect(&api_service.url).await?;
        Ok(Self { api, worker, program, sql, _api_service: api_service })
    }

    /// Executes statements, the texts one after the other: some must not share a transaction.
    pub async fn execute(&mut self, statements: &[&'static str]) -> Outcome<()> {
        for statement in statements {
            sqlx::raw_sql(*statement).execute(&mut self.sql).await?;
        }
        Ok(())
    }
}

/// A session with the settings that Vitrina's own sessions have.
async fn connect(url: &str) -> Outcome<PgConnection> {
    let options: PgConnectOptions = url.parse()?;
    let options = options.application_name("bench").options([("timezone", "UTC"), ("jit", "off")]);
    Ok(PgConnection::connect_with(&options).await?)
}

pub async fn pool(url: &str, connections: u32) -> Outcome<sqlx::PgPool> {
    let options = PgPoolOptions::new().min_connections(connections).max_connections(connections);
    Ok(options.connect(url).await?)
}
