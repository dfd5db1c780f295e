//! What an application that may create schemas has put into the database before Vitrina came, or puts there meanwhile.

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use vitrina_shared::{
    migrate::{self, MigrateError, owners, queue},
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

/// Marts are often in a schema that another account has made: that is reported, not refused.
#[tokio::test]
async fn a_schema_of_marts_that_belongs_to_another_is_told() {
    let app = Application::of(empty().await).await;
    app.does("create schema analytics").await;
    app.migrate().await.unwrap();
    let found = owners::examine(&mut app.db.pool().acquire().await.unwrap()).await.unwrap();
    assert_eq!((found.foreign, found.marts.as_ref()), (vec![], Some(&app.name)));
    app.leave().await;
}

#[tokio::test]
async fn an_extension_that_others_could_take_away_is_not_what_the_queue_is_made_of() {
    let app = Application::of(empty().await).await;
    app.does("create schema content; create extension hstore schema content").await;
    let refused = app.migrate().await.unwrap_err().to_string();
    let expected =
        format!("the queue cannot work: the extension hstore, which the queue needs, belongs to {}", app.name);
    assert!(refused.starts_with(&expected), "{refused}");

    sqlx::raw_sql("drop extension hstore; create extension hstore schema content")
        .execute(app.db.admin())
        .await
        .unwrap();
    let refused = app.migrate().await.unwrap_err().to_string();
    assert!(refused.contains(&format!("is in the schema content of {}, who could drop it", app.name)), "{refused}");

    sqlx::raw_sql("alter extension hstore set schema public").execute(app.db.admin()).await.unwrap();
    app.migrate().await.unwrap();
    app.leave().await;
}

/// What others have put into the extension's schema is not found by the names that the queue's migrations use.
#[tokio::test]
async fn the_schema_of_an_extension_is_in_no_path_while_the_queue_is_made() {
    let app = Application::of(empty().await).await;
    sqlx::raw_sql(
        "create extension hstore schema public; grant create on schema public to public;
         create function public.watch() returns event_trigger language plpgsql as $$
         begin
             if current_setting('search_path') ~ 'public' then raise exception 'public is in %', current_setting('search_path'); end if;
         end $$;
         create event trigger watch on ddl_command_start when tag in ('ALTER TABLE') execute function public.watch()",
    )
    .execute(app.db.admin())
    .await
    .unwrap();
    app.migrate().await.unwrap();
    let left: bool = sqlx::query_scalar("select to_regprocedure('apalis.hstore(text[], text[])') is not null")
        .fetch_one(app.db.admin())
        .await
        .unwrap();
    assert!(!left, "the name is there for as long as the migrations take");
    app.leave().await;
}

#[tokio::test]
async fn a_queue_that_has_lost_a_column_is_told_with_what_makes_it_again() {
    let db = empty().await;
    sqlx::raw_sql("create extension hstore schema public").execute(db.admin()).await.unwrap();
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    let mut connection = db.pool().acquire().await.unwrap();
    assert_eq!(queue::examine(&mut connection).await.unwrap(), None);
    sqlx::raw_sql("drop extension hstore cascade").execute(db.admin()).await.unwrap();

    let found = queue::examine(&mut connection).await.unwrap().unwrap();
    let refused = migrate::migrate(db.admin(), &schemas()).await.unwrap_err().to_string();

    assert!(found.starts_with("the table apalis.jobs lacks metadata, without which no run begins"), "{found}");
    assert_eq!(refused, format!("the queue cannot work: {found}"));
    let advice = found.split_once('(').unwrap().1.trim_end_matches(')').to_owned();
    sqlx::raw_sql(AssertSqlSafe(advice)).execute(db.admin()).await.unwrap();
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    assert_eq!(queue::examine(&mut connection).await.unwrap(), None);
}
