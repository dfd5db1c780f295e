//! Layer 1, our parser: what it refuses, and what it makes of a query.

use vitrina_shared::guard::{self, MAX_QUERY_BYTES, ParameterTypes, Placeholder, Refusal, SourceSchemas};

use crate::parse;

/// Texts that layer 1 refuses, each with a telling part of the reason.
const UNREADABLE: &[(&str, &str)] = &[
    // not one statement
    ("", "empty"),
    (" -- nothing\n /* at all */ ; ", "empty"),
    ("select 1; select 2", "one statement"),
    ("select 1; drop table content.film_work", "one statement"),
    ("select 1;; select 2", "one statement"),
    ("; select 1", "starts with ;"),
    ("select 1; -- \n delete from content.film_work", "one statement"),
    ("select ';'; select ';'", "one statement"),
    ("select $$;$$; commit", "one statement"),
    ("select 1\0", "NUL"),
    ("select", "cannot be read"),
    ("select from where", "where needs its schema"),
    ("select 'abc", "cannot be read"),
    ("select /* 1", "cannot be read"),
    ("select /* /* */ 1", "cannot be read"),
    ("select $q$ 1 $Q$", "cannot be read"),
    ("select (1", "cannot be read"),
    ("select \"id from content.film_work", "cannot be read"),
    ("select {1}", "has no place"),
    ("select 1 \\ 2", "has no place"),
    // not a select
    ("insert into content.film_work (title) values ('x')", "starts with insert"),
    ("UPDATE content.film_work SET title = ''", "starts with UPDATE"),
    ("delete from content.film_work", "starts with delete"),
    ("merge into content.film_work f using content.genre g on true when matched then delete", "starts with merge"),
    ("copy content.film_work to program 'id'", "starts with copy"),
    ("copy (select 1) to '/tmp/x'", "starts with copy"),
    ("select 0x1F as n", "hexadecimal literals"),
    ("select x'1F' as bits", "hexadecimal literals"),
    ("do $$ begin perform 1; end $$", "starts with do"),
    ("call content.refresh()", "starts with call"),
    ("explain analyze select 1", "starts with explain"),
    ("set role postgres", "starts with set"),
    ("reset role", "starts with reset"),
    ("begin", "starts with begin"),
    ("listen vitrina_events", "starts with listen"),
    ("prepare p as select 1", "starts with prepare"),
    ("execute p", "starts with execute"),
    ("declare c cursor for select 1", "starts with declare"),
    ("create table content.x as select 1", "starts with create"),
    ("truncate content.film_work", "starts with truncate"),
    ("grant all on content.film_work to public", "starts with grant"),
    ("show all", "starts with show"),
    ("table content.film_work", "instead of TABLE"),
    ("(table content.film_work)", "instead of TABLE"),
    ("select id from content.film_work union table etl.etl_pipelines", "instead of TABLE"),
    ("with t as (table etl.etl_pipelines) select * from t", "instead of TABLE"),
    ("from content.film_work", "starts with from"),
    // a select that writes or locks
    ("with x as (insert into content.genre (name) values ('x') returning id) select * from x", "only reads"),
    ("with x as (update content.genre set name = '' returning id) select * from x", "only reads"),
    ("with x as (delete from content.genre returning id) select * from x", "only reads"),
    ("with x as not materialized (delete from content.genre returning 1) select 1", "only reads"),
    ("with a as (with b as (delete from content.genre returning id) select id from b) select * from a", "only reads"),
    ("select * from (with b as (delete from content.genre returning id) select id from b) q", "only reads"),
    ("select (with b as (delete from content.genre returning 1) select 1)", "only reads"),
    ("with x as (select 1) insert into content.genre (name) select 'x'", "only reads"),
    ("with x as (select 1) delete from content.genre", "only reads"),
    ("select * into content.copy from content.film_work", "INTO"),
    ("select id INTO TEMP t from content.film_work", "INTO"),
    ("with a as (select 1 into content.x) select 1", "INTO"),
    ("select id from content.film_work for update", "row locks"),
    ("select id from content.film_work for share skip locked", "row locks"),
    ("select id from content.film_work for no key update", "row locks"),
    ("select id from content.film_work FOR/**/KEY SHARE", "row locks"),
    ("select id from (select id from content.film_work for update) q", "row locks"),
    // other relations
    ("select id from film_work", "write content.film_work"),
    ("select * from etl.etl_pipelines", "etl.etl_pipelines is out of reach"),
    ("select * from ETL.etl_pipelines", "out of reach"),
    ("select * from \"etl\".\"etl_pipelines\"", "out of reach"),
    ("select * from \"Content\".film_work", "out of reach"),
    ("select * from content.film_work, apalis.jobs", "out of reach"),
    ("select * from content.film_work where id in (select id from etl.etl_pipelines)", "out of reach"),
    ("select * from content.film_work f join lateral (select 1 from etl.etl_runs) q on true", "out of reach"),
    ("select (select count(*) from etl.etl_pipelines)", "out of reach"),
    ("select array(select name from etl.etl_pipelines)", "out of reach"),
    ("select 1 where exists (select from etl.etl_pipelines)", "out of reach"),
    ("select 1 order by (select 1 from etl.etl_pipelines)", "out of reach"),
    ("select 1 limit (select 1 from etl.etl_pipelines)", "out of reach"),
    ("select sum(1) over (order by (select 1 from etl.etl_pipelines))", "out of reach"),
    ("select count(*) filter (where exists (select from etl.etl_pipelines))", "out of reach"),
    ("values ((select name from etl.etl_pipelines))", "out of reach"),
    ("select 1 union all (select 1 from etl.etl_pipelines)", "out of reach"),
    ("select * from (content.film_work f cross join etl.etl_pipelines p)", "out of reach"),
    ("select * from pg_catalog.pg_authid", "out of reach"),
    ("select * from pg_class", "needs its schema"),
    ("select * from information_schema.tables", "out of reach"),
    ("select * from pg_temp.film_work", "out of reach"),
    ("select * from vitrina.content.film_work", "out of reach"),
    ("select * from \"content.film_work\"", "needs its schema"),
    ("with a as (select 1) select * from \"A\"", "needs its schema"),
    ("with \"A\" as (select 1) select * from A", "needs its schema"),
    ("with a as (select * from a) select * from a", "a needs its schema"),
    ("with a as (select * from b), b as (select 1) select * from a", "b needs its schema"),
    ("select * from (with a as (select 1) select * from a) q, a", "a needs its schema"),
    ("(with pg_class as (select 1) select 1) union all select 1 from pg_class", "needs its schema"),
    ("with x as (with y as (select 1) select * from y) select * from y", "y needs its schema"),
    ("select * from unpivot content.film_work as v at k", "cannot"),
    // other functions and operators
    ("select public.dblink('dbname=x', 'select 1')", "public.dblink is out of reach"),
    ("select * from etl.secrets()", "etl.secrets is out of reach"),
    ("select vitrina.pg_catalog.now()", "out of reach"),
    ("select \"public\" . \"f\" (1)", "out of reach"),
    ("select 1 operator(public.+) 1", "OPERATOR"),
    // escapes in names, parameters
    ("select * from U&\"\\0065tl\".etl_pipelines", "Unicode escapes"),
    ("select U&'\\0041'", "Unicode escapes"),
    ("select u&\"d!0061ta\" uescape '!'", "Unicode escapes"),
    ("select $1", "$1 is not a parameter"),
    ("select id from content.film_work where id > $2::uuid", "$2 is not a parameter"),
    ("select id from content.film_work where id > :last", ":after_key, :after_id, :upper, :limit"),
    ("select :\"limit\"", "without spaces and quotes"),
    // read one way by us and another by the server, were it sent as it is
    ("select 1 <>-- ' \n , pg_sleep(9) -- '", "space before the comment"),
    ("select 1 #/* */ 1", "space before the comment"),
    ("select 1L", "has no place"),
    ("select E'a'\n'\\' || 1 || ''", "cannot be read"),
    ("select * from rows from (pg_sleep(1)) s", "cannot be read"),
];

#[test]
fn layer_1_refuses_everything_but_one_select_over_the_source_schemas() {
    for (sql, reason) in UNREADABLE {
        let refusal = parse(sql).map(|_| ()).expect_err(sql).to_string();
        assert!(refusal.contains(reason), "{sql}\n  said: {refusal}\n  not:  {reason}");
    }
}

#[test]
fn a_megabyte_is_refused_unread() {
    let sql = format!("select '{}'", "x".repeat(1 << 20));
    assert_eq!(parse(&sql).unwrap_err(), Refusal::TooLong { bytes: sql.len() });
    let fits = format!("select '{}'", "x".repeat(MAX_QUERY_BYTES - 9));
    assert!(parse(&fits).is_ok());
}

#[test]
fn deep_nesting_is_refused_and_costs_neither_the_stack_nor_the_day() {
    let nested = |open: &str, core: &str, close: &str, depth| {
        format!("select * from {}{core}{}", open.repeat(depth), close.repeat(depth))
    };
    let deep = [
        nested("(", "content.film_work", ")", 10_000),
        nested("(select * from ", "content.film_work", ") q", 2_000),
        nested("content.film_work where id in (select id from ", "content.genre", ")", 800),
        format!("select {}1{}", "(".repeat(30_000), ")".repeat(30_000)),
        format!("select {}1", "(".repeat(60_000)),
        format!("select {}1{}", "abs(".repeat(10_000), ")".repeat(10_000)),
        format!("select {}1{}", "array[".repeat(9_000), "]".repeat(9_000)),
        format!("select {}1", "- ".repeat(30_000)),
        format!("select {}true", "not ".repeat(15_000)),
        format!("select {}1 {}", "case when true then ".repeat(2_500), "end ".repeat(2_500)),
        format!("select 1{}", "+1".repeat(30_000)),
        format!("select true{}", " and true".repeat(7_000)),
        format!("select 1{}", "::int".repeat(13_000)),
        format!("select a{}", "[1]".repeat(20_000)),
        format!("select 1{}", " union select 1".repeat(4_000)),
        format!("select 1{}", " is null".repeat(8_000)),
        format!("with {}", "a as (with ".repeat(5_000)),
    ];
    for sql in deep {
        let refusal = parse(&sql).map(|_| ()).unwrap_err();
        assert_eq!(refusal, Refusal::TooComplex, "{}", &sql[..60]);
    }
}

#[test]
fn what_is_nested_or_long_within_reason_is_read() {
    let ids = (0..9_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    assert!(parse(&format!("select 1 where 1 in ({ids})")).is_ok());
    let brackets =
        format!("select * from {}content.film_work f{}", "(".repeat(20), " cross join ugc.ratings)".repeat(20));
    assert!(parse(&brackets).is_ok());
    assert!(parse(&format!("select 1{}", "+1".repeat(1_900))).is_ok());
}

#[test]
fn names_that_postgresql_would_cut_are_refused() {
    let name = "n".repeat(64);
    let refusal = parse(&format!("with {name} as (select 1) select * from {name}")).unwrap_err();
    assert_eq!(refusal, Refusal::NameTooLong { name });
}

#[test]
fn system_schemas_stay_closed_even_when_configured() {
    let schemas = SourceSchemas::new(["pg_catalog", "information_schema"]);
    assert!(guard::parse("select * from pg_catalog.pg_authid", &schemas).is_err());
    assert!(guard::parse("select * from information_schema.tables", &schemas).is_err());
}

#[test]
fn a_schema_that_could_become_a_source_is_refused_with_the_setting_that_opens_it() {
    let said = |sql: &str| parse(sql).unwrap_err().to_string();
    let told = said("select * from shop.orders");
    assert!(
        told.contains("shop.orders is out of reach") && told.contains("Add `shop` to VITRINA_SOURCE_SCHEMAS"),
        "{told}"
    );
    for closed in ["etl.etl_runs", "analytics.film_dim", "pg_catalog.pg_authid", "vitrina.content.film_work"] {
        assert!(!said(&format!("select * from {closed}")).contains("VITRINA_SOURCE_SCHEMAS"), "{closed}");
    }
}

#[test]
fn placeholders_become_numbered_parameters_with_types() {
    let types = ParameterTypes { key: "timestamp with time zone".to_owned(), id: "uuid".to_owned() };
    let cases = [
        ("select 1 limit :limit;", "select 1 limit ($4::bigint)"),
        ("values(:AFTER_ID)", "values ( ($2::uuid) )"),
        (
            "select 1 where (:after_key) is null or :upper > :after_key",
            "select 1 where ( ($1::timestamp with time zone) ) is null \
             or ($3::timestamp with time zone) > ($1::timestamp with time zone)",
        ),
        ("select ':limit', $$:limit$$ -- :limit\n /* :limit */", "select ':limit' , ':limit'"),
        ("select ('{1,2}'::int[])[1:limit]", "select ( '{1,2}' :: int [ ] ) [ 1 : limit ]"),
        ("select '1'::upper", "select '1' :: upper"),
    ];
    for (sql, expected) in cases {
        assert_eq!(parse(sql).unwrap().render(&types), expected);
    }
    let used = parse("select 1 where 1 > :upper limit :limit").unwrap().placeholders();
    assert!(used.into_iter().eq([Placeholder::Upper, Placeholder::Limit]));
}

/// A lexer that is fooled by these sees a call where there is a string, or the other way round.
#[test]
fn the_server_gets_our_reading_and_not_the_text() {
    let types = ParameterTypes { key: "int".to_owned(), id: "int".to_owned() };
    let cases = [
        (r"select E'\'' || pg_sleep(1) || ''", "select '''' || pg_sleep ( 1 ) || ''"),
        (r"select '\' || ' || pg_sleep(1) || '", r"select '\' || ' || pg_sleep(1) || '"),
        ("select 1 /* /* */ ' */ -- ' \n , 2", "select 1\n, 2"),
        ("select $a$ ' $b$ $a$, $$--$$", "select ' '' $b$ ' , '--'"),
        ("select a$b$, 1 as x$", "select a$b$ , 1 as x$"),
        ("select 1 &>' ' || pg_sleep(9) --'", "select 1 &> ' || pg_sleep(9) --'"),
        ("select\u{c}1\u{b}as\ta\r\n", "select 1 as a"),
        ("select 1--2\r, 2", "select 1 , 2"),
        (
            "select \"a\"\"; drop table x --\" from content.film_work",
            "select \"a\"\"; drop table x --\" from content . film_work",
        ),
    ];
    for (sql, expected) in cases {
        match parse(sql) {
            Ok(query) => assert_eq!(query.render(&types), expected),
            Err(refusal) => panic!("{sql}: {refusal}"),
        }
    }
}
