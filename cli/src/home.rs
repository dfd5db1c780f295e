//! The database of this process: the user's own, or an embedded one. Migrated either way.

use std::path::Path;

use sqlx::{AssertSqlSafe, PgPool};
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{DatabaseConfig, Env, OptionalDatabaseConfig},
    database,
    migrate::{self, QueryableSchemas},
    process::Failure,
    sql,
};

use crate::embedded_postgres::EmbeddedPostgres;

/// A migrated database.
pub struct Home {
    /// The owner's account: migrations and the demo's data.
    pub owner: DatabaseConfig,
    pub app: DatabaseConfig,
    embedded: Option<EmbeddedPostgres>,
}

impl Home {
    /// Opens the database that is configured, or starts the embedded one. `None` if `stop` came first.
    pub async fn open(
        database: &OptionalDatabaseConfig,
        data_dir: &Path,
        sources: QueryableSchemas<'_>,
        stop: &CancellationToken,
    ) -> Result<Option<Self>, Failure> {
        if let Some(url) = &database.url {
            let config = database.at(url.clone());
            let home = Self { owner: config.clone(), app: config, embedded: None };
            home.migrate(sources).await?.close().await;
            return Ok(Some(home));
        }
        let embedded = tokio::select! {
            started = EmbeddedPostgres::start(data_dir) => started?,
            () = stop.cancelled() => return Ok(None),
        };
        let owner = database.at(embedded.admin_url.parse()?);
        let app = database.at(embedded.app_url.parse()?);
        let password = embedded.app_password.clone();
        let home = Self { owner, app, embedded: Some(embedded) };
        let pool = home.migrate(sources).await?;
        set_app_password(&pool, &password).await?;
        pool.close().await;
        tracing::info!(directory = %data_dir.display(), "the embedded database is ready");
        Ok(Some(home))
    }

    pub fn describe(&self, data_dir: &Path) -> String {
        match &self.embedded {
            Some(_) => format!("PostgreSQL of its own in {}", data_dir.display()),
            None => self.owner.url.to_string(),
        }
    }

    /// Applies migrations and grants, and returns the owner's pool.
    pub async fn migrate(&self, sources: QueryableSchemas<'_>) -> Result<PgPool, Failure> {
        let pool = database::pool(&self.owner, "vitrina-migrate");
        migrate::apply(&pool, sources).await?;
        Ok(pool)
    }

    /// Stops the embedded server, if it is one.
    pub async fn close(self) -> Result<(), Failure> {
        if let Some(embedded) = self.embedded {
            embedded.stop().await?;
        }
        Ok(())
    }
}

/// On the embedded database marts may be created from queries. On the user's own server its operator decides.
pub fn with_own_database(env: Env) -> Env {
    let set = |name: &str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    let allow = !set("DATABASE_URL") && !set("VITRINA_CREATE_TARGETS");
    env.with("VITRINA_CREATE_TARGETS", allow.then_some(true))
}

/// Gives the services' account the password that we generated, of hexadecimal digits.
async fn set_app_password(owner: &PgPool, password: &str) -> Result<(), sqlx::Error> {
    let statement = format!("alter role vitrina_app password {}", sql::literal(password));
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(owner).await?;
    Ok(())
}
