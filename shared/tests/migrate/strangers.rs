//! What an application that may create schemas has put into the database before Vitrina came, or puts there meanwhile.

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use vitrina_shared::{
    migrate::{self, MigrateError, owners},
    testing::TestDatabase,
};

use crate::{empty, schemas};

/// An account that may create schemas in one database. It is gone afterwards, and so is what it owns there.
struct Application {
    db: TestDatabase,
    name: String,
}

impl Application {
    async fn of(db: TestDatabase) -> Self {
        let database: String = sqlx::query_scalar("select current_database()").fetch_one(db.admin()).await.unwrap();
        let name = format!("app_of_{database}");
        let made = format!("create role {name} login; grant create on database {database} to {name}");
        sqlx::raw_sql(AssertSqlSafe(made)).execute(db.admin()).await.unwrap();
        Self { db, name }
    }

    /// Executes statements as the application.
    async fn does(&self, statements: &str) {
        let options = self.db.admin().connect_options().as_ref().clone().username(&self.name);
        let mut connection = PgConnection::connect_with(&options).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn migrate(&self) -> Result<(), MigrateError> {
        migrate::migrate(self.db.admin(), &schemas()).await
    }

    async fn leave(self) {
        let gone = format!("drop owned by {name} cascade; drop role {name}", name = self.name);
        sqlx::raw_sql(AssertSqlSafe(gone)).execute(self.db.admin()).await.unwrap();
    }
}

#[tokio::test]
async fn schemas_of_others_are_not_adopted_and_nothing_in_them_executes() {
    for schema in ["etl", "apalis"] {
        let app = Application::of(empty().await).await;
        app.does(&format!(
            "create schema {schema};
             create table {schema}._sqlx_migrations (version bigint primary key, description text not null,
                 installed_on timestamptz not null default now(), success boolean not null, checksum bytea not null,
                 execution_time bigint not null);
             create function {schema}.own() returns trigger language plpgsql
                 as $$ begin execute 'alter role {name} superuser'; return new; end $$;
             create trigger own before insert on {schema}._sqlx_migrations for each row execute function {schema}.own();
             create function {schema}.hashtextextended(text, integer) returns bigint language plpgsql
                 as $$ begin execute 'alter role {name} superuser'; return 1; end $$",
            name = app.name,
        ))
        .await;

        let refused = app.migrate().await.unwrap_err().to_string();

        let expected = format!("the schema {schema} belongs to {}, as do 3 more things, who is neither", app.name);
        assert!(refused.starts_with(&expected), "{refused}");
        assert!(refused.ends_with(&format!("(drop schema {schema} cascade)")), "{refused}");
        let is_superuser: bool = sqlx::query_scalar("select rolsuper from pg_roles where rolname = $1")
            .bind(&app.name)
            .fetch_one(app.db.admin())
            .await
            .unwrap();
        assert!(!is_superuser, "{schema}: what the application has put there executed with the rights of who migrates");
        let made: i64 =
            sqlx::query_scalar("select count(*) from pg_namespace where nspname in ('etl_page', 'analytics')")
                .fetch_one(app.db.admin())
                .await
                .unwrap();
        assert_eq!(made, 0, "{schema}: it is refused before anything is made");
        app.leave().await;
    }
}

#[tokio::test]
async fn every_schema_that_holds_vitrinas_own_must_be_vitrinas_and_what_is_in_it_too() {
    let app = Application::of(TestDatabase::create().await).await;
    let to = &app.name;
    for (given, what) in [
        (format!("alter schema etl_query owner to {to}"), "schema etl_query"),
        (format!("alter schema etl_page owner to {to}"), "schema etl_page"),
        (format!("alter schema etl_mart owner to {to}"), "schema etl_mart"),
        (format!("alter schema etl_swap owner to {to}"), "schema etl_swap"),
        (format!("alter table etl.etl_functions owner to {to}"), "table etl.etl_functions"),
        (format!("alter table apalis._sqlx_migrations owner to {to}"), "table apalis._sqlx_migrations"),
        (format!("alter function etl_query.has_prepared owner to {to}"), "function etl_query.has_prepared()"),
    ] {
        let mut tx = app.db.admin().begin().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(given)).execute(&mut *tx).await.unwrap();
        let found = owners::examine(&mut tx).await.unwrap();
        if what == "table etl.etl_functions" {
            assert_eq!((found.keeper.as_ref(), found.is_keeper_ordinary), (Some(to), true), "{what}");
        } else {
            let found: Vec<_> = found.foreign.iter().map(|one| (one.what.as_str(), &one.owner)).collect();
            assert_eq!(found, [(what, to)]);
        }
        tx.commit().await.unwrap();

        let refused = app.migrate().await.unwrap_err().to_string();

        assert!(refused.starts_with(&format!("the {what} belongs to {to}, who is neither")), "{refused}");
        let back = format!("reassign owned by {to} to current_user");
        sqlx::raw_sql(AssertSqlSafe(back)).execute(app.db.admin()).await.unwrap();
    }
    app.migrate().await.unwrap();
    app.leave().await;
}

/// Marts are often in a schema that others have made: it is told, not refused.
#[tokio::test]
async fn a_schema_of_marts_that_belongs_to_another_is_told() {
    let app = Application::of(empty().await).await;
    app.does("create schema analytics").await;
    app.migrate().await.unwrap();
    let found = owners::examine(&mut *app.db.pool().acquire().await.unwrap()).await.unwrap();
    assert_eq!((found.foreign, found.marts.as_ref()), (vec![], Some(&app.name)));
    app.leave().await;
}
