//! The address of the home database.

use std::fmt;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use super::env::{Env, FromEnv};
use super::secret::Secret;

/// The home database and how much of it we take.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    pub url: DatabaseUrl,
    /// The size of the connection pool: `VITRINA_DB_CONNECTIONS`.
    pub max_connections: u32,
}

/// The same for programs that bring a database of their own where none is given.
#[derive(Debug, Clone)]
pub struct OptionalDatabaseConfig {
    pub url: Option<DatabaseUrl>,
    /// The size of the connection pool: `VITRINA_DB_CONNECTIONS`.
    pub max_connections: u32,
}

/// A checked `postgres://` address. Printed without its password.
#[derive(Clone)]
pub struct DatabaseUrl {
    text: Secret,
    options: PgConnectOptions,
}

/// Why an address of a database was refused. Never repeats the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no database address ({0}), it takes postgres://user:password@host:5432/database")]
pub struct DatabaseUrlError(String);

impl OptionalDatabaseConfig {
    pub fn at(&self, url: DatabaseUrl) -> DatabaseConfig {
        DatabaseConfig { url, max_connections: self.max_connections }
    }
}

impl FromEnv for OptionalDatabaseConfig {
    fn from_env(env: &mut Env) -> Option<Self> {
        Some(Self {
            url: env.parsed("DATABASE_URL", str::parse),
            max_connections: env.number("VITRINA_DB_CONNECTIONS", 16, 2..=1000),
        })
    }
}

impl FromEnv for DatabaseConfig {
    fn from_env(env: &mut Env) -> Option<Self> {
        let given = OptionalDatabaseConfig::from_env(env)?;
        if given.url.is_none() && !env.reported("DATABASE_URL") {
            env.report("DATABASE_URL", "is not set, it takes postgres://user:password@host:5432/database");
        }
        Some(given.at(given.url.clone()?))
    }
}

impl DatabaseUrl {
    /// The address as it was given, password included, for a client that wants text.
    pub fn expose(&self) -> &str {
        self.text.expose()
    }

    pub fn connect_options(&self) -> PgConnectOptions {
        self.options.clone()
    }
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(DatabaseUrlError("it does not start with postgres://".to_owned()));
        }
        let options = text.parse().map_err(|error: sqlx::Error| DatabaseUrlError(error.to_string()))?;
        Ok(Self { text: Secret::new(text), options })
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, port) = (self.options.get_username(), self.options.get_port());
        let database = self.options.get_database().unwrap_or(user);
        match self.options.get_socket() {
            Some(socket) => write!(f, "postgres://{user}@:{port}/{database}?host={}", socket.display()),
            None => write!(f, "postgres://{user}@{}:{port}/{database}", self.options.get_host()),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<DatabaseConfig, String> {
        Env::from_pairs(pairs.iter().copied()).read().map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_database_is_required() {
        let sentence = read(&[]).expect_err("nothing is set");
        assert_eq!(sentence, "DATABASE_URL is not set, it takes postgres://user:password@host:5432/database.");
    }

    #[test]
    fn where_it_is_optional_the_pool_size_is_read_all_the_same() {
        let read = Env::from_pairs([("VITRINA_DB_CONNECTIONS", "5")]).read::<OptionalDatabaseConfig>();
        let optional = read.expect("no address is fine");
        assert!(optional.url.is_none());
        let database = optional.at("postgres://a@b/c".parse().expect("an address"));
        assert_eq!(database.max_connections, 5);
    }

    #[test]
    fn the_password_is_never_printed() {
        for url in ["postgres://vitrina:hunter2@db:5433/cinema", "postgresql://vitrina@db:5433/cinema?password=hunter2"]
        {
            let config = read(&[("DATABASE_URL", url)]).expect(url);
            assert_eq!(config.url.to_string(), "postgres://vitrina@db:5433/cinema");
            assert!(!format!("{config:?}").contains("hunter2"));
            assert_eq!(config.url.expose(), url);
        }
    }

    #[test]
    fn a_socket_is_shown_as_one() {
        let url: DatabaseUrl = "postgres://me@%2Ftmp%2Fpg:5433/cinema".parse().expect("a socket");
        assert_eq!(url.to_string(), "postgres://me@:5433/cinema?host=/tmp/pg");
    }

    #[test]
    fn a_wrong_address_is_refused_without_being_repeated() {
        for url in
            ["mysql://a:hunter2@b/c", "hunter2", "postgres://a:hunter2@b:port/c", "postgres://a:hunter2@b/c?sslmode=x"]
        {
            let sentence = read(&[("DATABASE_URL", url)]).expect_err(url);
            assert!(sentence.starts_with("DATABASE_URL is no database address ("), "{sentence}");
            assert!(!sentence.contains("hunter2"), "{sentence}");
            assert_eq!(sentence.lines().count(), 1);
        }
    }
}
