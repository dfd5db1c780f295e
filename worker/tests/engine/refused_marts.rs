//! Marts that no pipeline may write: late triggers, unlogged tables and inheritance.

use vitrina_shared::domain::Mode;

use crate::{
    samples::refusal,
    support::{World, draft},
};

/// Before PostgreSQL 18 it would execute with the rights of the service.
#[tokio::test(flavor = "multi_thread")]
async fn a_mart_whose_trigger_is_executed_at_the_commit_is_refused() {
    let world = World::new().await;
    world
        .sql(
            "create table analytics.late (id bigint primary key, name text, modified timestamptz);
             create function public.nothing() returns trigger language plpgsql as 'begin return null; end';
             create constraint trigger at_the_end after insert on analytics.late deferrable initially deferred
                 for each row execute function public.nothing();
             insert into etl.etl_targets (target, key) values ('analytics.late', '{id}')",
        )
        .await;
    let draft = draft("late", Mode::Full, "select id, name, modified from content.item", "analytics.late", 10);
    let refused = refusal(&world, &draft).await.unwrap_or_default();
    assert!(refused.contains("has the trigger `at_the_end`, which is deferrable"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unlogged_mart_is_refused() {
    let world = World::new().await;
    world.sql("create unlogged table analytics.gone (id bigint primary key, name text, modified timestamptz)").await;
    world
        .sql(
            "create table analytics.parts (id bigint primary key, name text, modified timestamptz) partition by range (id);
             create unlogged table analytics.part partition of analytics.parts for values from (0) to (1000)",
        )
        .await;
    for table in ["gone", "parts"] {
        world.sql(&format!("insert into etl.etl_targets (target, key) values ('analytics.{table}', '{{id}}')")).await;
        let query = "select id, name, modified from content.item";
        let draft = draft(table, Mode::Full, query, &format!("analytics.{table}"), 10);
        let refused = refusal(&world, &draft).await.unwrap_or_default();
        assert!(refused.contains("is unlogged: a crash of the server empties it"), "{table}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_shares_rows_by_inheritance_is_refused_and_no_row_of_the_other_table_is_removed() {
    let mut world = World::new().await;
    world.items(1, 50).await;
    let mart = "id bigint primary key, name text, modified timestamptz";
    world
        .sql(&format!(
            "create schema private;
             create table analytics.parent ({mart});
             create table analytics.child (primary key (id)) inherits (analytics.parent);
             create table analytics.later ({mart});
             create table analytics.divided ({mart}) partition by range (id);
             create table analytics.division partition of analytics.divided for values from (0) to (1000);
             insert into etl.etl_targets (target, key)
             select 'analytics.' || name, '{{id}}' from unnest('{{parent,child,later,divided,division}}'::text[]) name"
        ))
        .await;
    let query = "select id, name, modified from content.item";
    let of = |table: &str| draft(table, Mode::Full, query, &format!("analytics.{table}"), 10);
    for table in ["parent", "child"] {
        let refused = refusal(&world, &of(table)).await.unwrap_or_default();
        assert!(refused.contains("shares its rows with another table by inheritance"), "{table}: {refused}");
    }
    for table in ["later", "divided", "division"] {
        assert_eq!(refusal(&world, &of(table)).await, None, "{table}");
    }
    let pipeline = world.pipeline(&of("later")).await;
    world.sql("create table private.payroll (secret text) inherits (analytics.later)").await;
    world.sql("insert into private.payroll select n, 'n', now(), 's' from generate_series(1001, 1020) n").await;
    world.start_worker(&[]);
    let error = world.fails(pipeline).await.error.unwrap();
    assert!(error.contains("no inherit"), "{error}");
    assert_eq!(world.number("select count(*) from private.payroll").await, 20);
}
