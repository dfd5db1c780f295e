//! The SQL guard: what each layer refuses by itself, and what passes all of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod described;
mod early;
mod layers;
mod soup;

use vitrina_shared::{
    guard::{self, Refusal, SourceQuery, SourceSchemas},
    testing::TestDatabase,
};

fn schemas() -> SourceSchemas {
    SourceSchemas::new(["content", "ugc"])
}

fn parse(sql: &str) -> Result<SourceQuery, Refusal> {
    guard::parse(sql, &schemas())
}

/// A small cinema with everything that a query might want to misuse.
async fn cinema() -> TestDatabase {
    let db = TestDatabase::create().await;
    sqlx::raw_sql(
        r"
        create schema if not exists content;
        create schema if not exists ugc;
        create table content.film_work (
            id uuid primary key, title text not null, rating numeric(3, 1), tags text[], payload jsonb,
            created date, modified timestamptz not null
        );
        create table content.genre (id uuid primary key, name text not null);
        create table ugc.ratings (film_id uuid not null, score int not null, modified timestamptz not null);
        create view content.fresh as select id, title from content.film_work;
        create sequence content.numbers;
        create function content.stars(score int) returns text immutable language sql as $$ select repeat('*', score) $$;
        create function content.forget() returns int language sql as $$ delete from content.genre; select 1 $$;
        create function content.peek() returns bigint stable security definer language sql
            as $$ select count(*) from etl.etl_pipelines $$;
        create function content.keep(int, int) returns int language sql as $$ select 1 $$;
        create aggregate content.keeper(int) (sfunc = content.keep, stype = int);
        grant usage on schema content, ugc to vitrina_query;
        grant select on all tables in schema content, ugc to vitrina_query;
        ",
    )
    .execute(db.admin())
    .await
    .unwrap();
    db
}
