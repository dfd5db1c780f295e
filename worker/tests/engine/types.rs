//! Every common type arrives as it left.

use vitrina_shared::domain::Mode;

use crate::support::{World, draft};

const COLUMNS: &str = "
    id int not null, modified timestamptz not null, a_bool boolean, a_small smallint, a_big bigint, a_real real,
    a_double double precision, a_numeric numeric, a_money numeric(12, 2), a_text text, a_varchar varchar(20),
    a_char char(5), a_bytes bytea, a_date date, a_time time, a_timestamp timestamp, a_timestamptz timestamptz,
    an_interval interval, a_uuid uuid, a_json json, a_jsonb jsonb, some_texts text[], some_ints int[][],
    some_jsons json[], a_mood content.mood, an_address inet, a_range int4range, a_point point, some_bits bit varying";

const ROWS: &str = r#"
    insert into content.every values
    (1, '2026-01-01 00:00:00.000001+00', true, -32768, 9223372036854775807, 1.1, 1e308,
     '12345678901234567890123456789012345.678901234567890123456789', 1234567890.12, 'plain', 'short', 'ab', '\x00ff10',
     '2026-01-01', '23:59:59.999999', '2026-01-01 12:00:00.123456', 'infinity', '1 year 2 mons 3 days 04:05:06.000007',
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"b": 1,  "a": [1, 2]}', '{"b": 1.50, "a": null}', '{a,NULL,"b,c"}',
     '{{1,2},{3,4}}', array['{"x":  1}'::json], 'sad', '10.0.0.1/8', '[1,5)', '(1.5,2)', B'1011'),
    (2, '2026-01-01 00:00:00.000002+00', false, 0, -1, 'NaN', '-Infinity', 'NaN', 0, E'line\nbreak\ttab "quoted" \\ ''', '',
     '', '', 'infinity', '00:00', '-infinity', '-infinity', '-3 days', '00000000-0000-0000-0000-000000000000', 'null',
     '[]', '{}', '{}', '{}', 'happy', '::1', 'empty', '(0,0)', B''),
    (3, '2026-01-01 00:00:00.000003+00', null, null, null, null, null, null, null, null, null, null, null, null, null, null,
     null, null, null, null, null, null, null, null, null, null, null, null, null),
    (4, '2026-01-01 00:00:00.000004+00', true, 1, 1, 0.1, 0.1, 1.50, 1.5, 'Привет, 世界 🎬', 'ß', 'ö', '\xdeadbeef',
     '0001-01-01 BC', '12:00', '1999-12-31 23:59:59.999999', '2026-03-29 01:30:00.5+02', '1 month -1 day',
     'ffffffff-ffff-ffff-ffff-ffffffffffff', '"text"', '"text"', '{"ö"}', '{1}', null, 'happy', '0.0.0.0', '(,)', '(-1,-1)', null);
    insert into content.every (id, modified, a_text, a_bytes)
    select 10 + n, '2026-01-02', repeat('длинный ', 80000), decode(repeat('00ff', 500000), 'hex') from generate_series(1, 3) n
"#;

// Compared as text: that is exact also where types have no equality or a generous one.
pub const AS_TEXT: &str = "select e.id, e::text from content.every e";
pub const WRITTEN: &str = "(select e.id, e::text from analytics.every e) as w";

/// A table with a column of every common type, its rows and its mart.
pub async fn create_every(world: &World) {
    world.sql("create type content.mood as enum ('sad', 'happy')").await;
    world.sql(&format!("create table content.every ({COLUMNS}, primary key (id))")).await;
    world.sql(ROWS).await;
    world.target("every", COLUMNS, &["id"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_common_type_arrives_as_it_left_and_a_second_run_rewrites_nothing() {
    let world = World::with_worker().await;
    create_every(&world).await;
    let query = "select * from content.every";
    for (name, mode) in [("incremental", Mode::Incremental), ("full", Mode::Full)] {
        let pipeline = world.pipeline(&draft(name, mode, query, "analytics.every", 2)).await;
        world.sql("truncate analytics.every").await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 7);
        world.assert_same(AS_TEXT, WRITTEN).await;
        world.reset(pipeline).await.unwrap();
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_read, run.rows_written), (7, 0));

        world
            .sql(&format!(
                r#"update content.every set a_json = '{{"b": "{name}"}}', some_jsons = array['{{"x": "{name}"}}'::json]
                   where id = 1"#
            ))
            .await;
        world.reset(pipeline).await.unwrap();
        assert_eq!(world.succeeds(pipeline).await.rows_written, 1);
        world.assert_same(AS_TEXT, WRITTEN).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_cast_to_the_types_of_the_target() {
    let world = World::with_worker().await;
    world.items(1, 30).await;
    world.target("narrow", "id int, name varchar(100), modified timestamp, rating numeric(4, 2)", &["id"]).await;
    let query = "select id, name, modified, id / 7.0 as rating from content.item";
    let pipeline = world.pipeline(&draft("narrow", Mode::Full, query, "analytics.narrow", 7)).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 30);
    assert_eq!(world.succeeds(pipeline).await.rows_written, 0);
    let expected = "select id::int, name::varchar(100), modified::timestamp, round(id / 7.0, 2) from content.item";
    world.assert_same(expected, "analytics.narrow").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strange_names_of_columns_are_quoted() {
    let world = World::with_worker().await;
    world.sql(r#"create table content.odd ("Order" int primary key, "select" text, "a ""b"" c" text, modified timestamptz not null)"#).await;
    world.sql("insert into content.odd select n, 's' || n, 'b', '2026-01-01' from generate_series(1, 50) n").await;
    world.sql(r#"create table analytics.odd ("Order" int primary key, "select" text, "a ""b"" c" text, modified timestamptz);
                 insert into etl.etl_targets (target, key) values ('analytics.odd', '{Order}')"#).await;
    let query = r#"select "Order", "select", "a ""b"" c", modified from content.odd"#;
    let mut odd = draft("odd", Mode::Incremental, query, "analytics.odd", 9);
    odd.incremental_id_key = Some("Order".to_owned());
    let incremental = world.pipeline(&odd).await;
    world.succeeds(incremental).await;
    world.assert_same(query, "analytics.odd").await;
    world.sql("truncate analytics.odd").await;
    let full = world.pipeline(&draft("odd_full", Mode::Full, query, "analytics.odd", 9)).await;
    world.succeeds(full).await;
    world.assert_same(query, "analytics.odd").await;
}
