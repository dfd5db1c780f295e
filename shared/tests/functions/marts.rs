//! The functions that execute with the rights to write marts.

use vitrina_shared::testing::TestDatabase;

use crate::{failure, run, text};

#[tokio::test]
async fn a_page_is_executed_with_the_rights_to_write_marts_and_its_parameters() {
    let db = TestDatabase::create().await;
    run(db.admin(), "create table analytics.words (word text primary key); create schema content; create table content.item (id int)").await;
    let mut app = db.pool().acquire().await.unwrap();
    let page = "with written as (insert into analytics.words values (current_user), ($5[2]), ($6) returning 1)
                select $4, (select count(*) from written), array[$1::text, $2], true";
    let run_page = format!(
        "select (rows_read, rows_written, last, more)
        from etl_mart.run('{page}', array['2026-01-01 00:00+00', 'id'], '2026-01-02 00:00+00', 7, true)"
    );
    assert_eq!(text(&mut app, run_page).await, r#"(7,3,"{""2026-01-01 00:00:00+00"",id}",t)"#);
    let words = "select string_agg(word, ',' order by word) from analytics.words";
    assert_eq!(text(&mut db.admin().acquire().await.unwrap(), words).await, "2026-01-02 00:00+00,id,vitrina_mart");
    let source = "select * from etl_mart.run('select count(*), 0::bigint, null::text[], false from content.item', null, null, 1)";
    assert_eq!(failure(&mut app, source).await.0, "42501", "a source is read by etl_page.read alone");
}

const COLUMNS: &str =
    r#"array['id', 'na"me', 'code', 'flags'], array['int', 'text', 'character', 'bit[]']::regtype[]::oid[], '{id}'"#;

#[tokio::test]
async fn a_mart_is_made_of_the_columns_of_a_query_as_it_was_shown() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    let shown = text(&mut app, format!("select etl_page.mart_ddl('a \"mart\"', {COLUMNS})")).await;
    let expected = "create table analytics.\"a \"\"mart\"\"\" (\n    id integer not null,\n    \"na\"\"me\" text,\n    code text,\n    \
                    flags bit varying[],\n    constraint \"a \"\"mart\"\"_pkey\" primary key (id)\n)";
    assert_eq!(shown, expected);
    assert_eq!(text(&mut app, format!("select etl_mart.create_mart('a \"mart\"', {COLUMNS})")).await, expected);
    let owner = "select tableowner from pg_tables where tablename = 'a \"mart\"'";
    assert_eq!(text(&mut app, owner).await, "vitrina_mart");
    let again = failure(&mut app, format!("select etl_mart.create_mart('a \"mart\"', {COLUMNS})")).await;
    assert_eq!(again.0, "42P07", "nothing is replaced");
}

#[tokio::test]
async fn a_table_in_which_rows_are_gathered_is_unique_by_the_key_and_can_be_dropped() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    for _ in 0..2 {
        let made = "select etl_mart.create_gathering('gathered', 'film_dim', '{title,film_id}', '{film_id}')";
        assert_eq!(text(&mut app, made).await, "");
    }
    let columns = "select string_agg(attname || ' ' || atttypid::regtype, ', ' order by attnum) from pg_attribute
                   where attrelid = 'etl_swap.gathered'::regclass and attnum > 0";
    let mut owner = db.admin().acquire().await.unwrap();
    assert_eq!(text(&mut owner, columns).await, "title text, film_id uuid");
    let twice = "insert into etl_swap.gathered select 'same', '00000000-0000-0000-0000-000000000000' from generate_series(1, 2)";
    assert_eq!(failure(&mut owner, twice).await.0, "23505");
    for _ in 0..2 {
        assert_eq!(text(&mut app, "select etl_mart.drop_gathering('gathered')").await, "");
    }
    assert_eq!(text(&mut owner, "select to_regclass('etl_swap.gathered')").await, "null");
}

#[tokio::test]
async fn a_comparison_returns_its_answer_and_writes_nothing() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    let compare = |statement: &str| format!("select etl_mart.compare('{statement}', array[null, null, 'third'])");
    let answer =
        "select jsonb_build_array(current_user, ($5)[3], $1, $2, $3, $4, $6, count(*)) from analytics.film_dim";
    let expected = r#"["vitrina_mart", "third", null, null, "infinity", 9223372036854775807, "infinity", 0]"#;
    assert_eq!(text(&mut app, compare(answer)).await, expected);
    let read =
        "select to_jsonb(who) from etl_page.read(''select current_user::text'', $5, $6, $4, true) as page (who text)";
    assert_eq!(text(&mut app, compare(read)).await, r#""vitrina_query""#);
    for writes in [
        "with gone as (delete from analytics.film_dim returning 1) select to_jsonb(count(*)) from gone",
        "create table analytics.planted (); select to_jsonb(1)",
    ] {
        assert_eq!(failure(&mut app, compare(writes)).await.0, "25006", "{writes}");
    }
    let mut tx = db.pool().begin().await.unwrap();
    assert_eq!(text(&mut tx, compare("select to_jsonb(1)")).await, "1");
    sqlx::raw_sql("delete from etl.etl_dead_letters").execute(&mut *tx).await.unwrap();
}
