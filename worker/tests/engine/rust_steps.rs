//! Marts through the steps that every deployment has, compared row by row with the same marts written as SQL.

use serde_json::{Value, json};
use vitrina_shared::domain::{
    ErrorClass, Mode, OnRowError, PipelineDraft, ReportRequest, Task, TaskKind, column_type::ScalarType,
};

use crate::support::{World, draft, items};

const PEOPLE: &str = r"
    create table content.person (
        id bigint primary key,
        name text not null,
        born text,
        score numeric(6, 2),
        visits integer not null,
        details jsonb,
        modified timestamptz not null
    );
    create index on content.person (modified, id);
";

const READ: &str = "select id, name, born, score, visits, details, modified from content.person";

/// A draft whose rows pass these steps.
pub fn through(mut draft: PipelineDraft, steps: &[(&str, Value)]) -> PipelineDraft {
    let query = draft.source_query.take().expect("a query");
    let reader = ("SQL", query.as_str(), json!({}));
    let steps = steps.iter().map(|(name, options)| ("RUST", *name, options.clone()));
    let task = |(order_index, (kind, body, options)): (i32, (&str, &str, Value))| Task {
        order_index,
        task_type: if kind == "SQL" { TaskKind::Sql } else { TaskKind::Rust },
        body: body.to_owned(),
        target_table: None,
        options: options.as_object().expect("options are an object").clone(),
    };
    draft.tasks = (1..).zip(std::iter::once(reader).chain(steps)).map(task).collect();
    draft
}

async fn people(settings: &[(&str, &str)]) -> World {
    let mut world = World::new().await;
    world.sql(PEOPLE).await;
    world
        .sql(
            "insert into content.person
             select n, repeat(' ', n % 3) || 'Person ' || n || repeat(' ', n % 2), (1900 + n % 100)::text || '-02-28',
                    case when n % 7 > 0 then n / 4.0 end, n % 50,
                    jsonb_build_object('city', case when n % 5 > 0 then 'City ' || n % 9 end, 'tags', jsonb_build_array(n, n * 1.10)),
                    '2026-01-01'::timestamptz + n * interval '1 s'
             from generate_series(1, 500) n",
        )
        .await;
    world.start_worker(settings);
    world
}

/// Three steps and one statement leave the same mart, and the same checkpoint: that of the reader's rows, although the steps leave
/// its key out.
#[tokio::test(flavor = "multi_thread")]
async fn a_mart_through_three_steps_equals_the_same_mart_written_as_sql() {
    let world = people(&[]).await;
    let columns = "id bigint, name text, born date, score double precision, label text, frequent boolean, city text, second numeric";
    world.target("by_steps", columns, &["id"]).await;
    world.target("by_sql", columns, &["id"]).await;
    let sql = "select id, btrim(name, ' ') as name, born::date as born, score::double precision as score,
                      btrim(name, ' ') || ' #' || visits as label, visits >= 25 as frequent, details #>> '{city}' as city,
                      (details #>> '{tags,1}')::numeric as second
               from content.person";
    let steps = [
        ("trim", json!({"columns": ["name"], "characters": " "})),
        (
            "json_extract",
            json!({"column": "details", "columns": {
                "city": {"path": "/city", "type": "text"},
                "second": {"path": "/tags/1", "type": "numeric"},
            }}),
        ),
        ("cast", json!({"columns": {"born": "date", "score": "double precision"}})),
        (
            "set",
            json!({"columns": {
                "label": {"expression": "name + ' #' + string(visits)"},
                "frequent": {"expression": "visits >= 25"},
            }}),
        ),
        ("select", json!({"remove": ["visits", "details", "modified"]})),
    ];
    for (name, mode) in [("incremental", Mode::Incremental), ("full", Mode::Full)] {
        world.sql("truncate analytics.by_steps, analytics.by_sql").await;
        let by_steps = through(draft(&format!("steps_{name}"), mode, READ, "analytics.by_steps", 70), &steps);
        let by_steps = world.pipeline(&by_steps).await;
        let with_key = sql.replace(" from", ", modified from");
        let by_sql = if mode == Mode::Incremental { with_key.as_str() } else { sql };
        let by_sql = world.pipeline(&draft(&format!("sql_{name}"), mode, by_sql, "analytics.by_sql", 70)).await;
        for changed in [500, 20] {
            let run = world.succeeds(by_steps).await;
            assert_eq!(run.rows_written, changed, "{name}");
            world.succeeds(by_sql).await;
            world.assert_same("select * from analytics.by_sql", "analytics.by_steps").await;
            world.assert_same(sql, "analytics.by_steps").await;
            assert_eq!(world.checkpoint(by_steps).await, world.checkpoint(by_sql).await, "{name}");
            assert_eq!(world.checkpoint(by_steps).await.is_some(), mode == Mode::Incremental, "{name}");
            world
                .sql(
                    "update content.person set name = name || '!', details = details || '{\"city\": \"elsewhere\"}', modified = now()
                     where id % 25 = 0",
                )
                .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_leaves_the_rows_in_the_mart_that_the_same_condition_in_sql_leaves() {
    let world = people(&[]).await;
    world.target("few", "id bigint, name text", &["id"]).await;
    let steps = [
        ("cast", json!({"columns": {"score": "float8"}})),
        (
            "filter",
            json!({"where": "score != null && score > 20.5 && visits in [1, 2, 3] || name.startsWith('Person 1')"}),
        ),
        ("select", json!({"keep": ["id", "name"]})),
    ];
    let pipeline = world.pipeline(&through(draft("few", Mode::Full, READ, "analytics.few", 70), &steps)).await;
    let sql = "select id, name from content.person where score > 20.5 and visits in (1, 2, 3) or name like 'Person 1%'";
    let run = world.succeeds(pipeline).await;
    assert_eq!(run.rows_read, 500);
    assert!((10..400).contains(&run.rows_written), "{}", run.rows_written);
    world.assert_same(sql, "analytics.few").await;
    world.sql("update content.person set visits = 40, name = 'nobody' where id % 2 = 0").await;
    assert!(world.succeeds(pipeline).await.rows_removed > 0);
    world.assert_same(sql, "analytics.few").await;

    let incremental = through(draft("refused", Mode::Incremental, READ, "analytics.few", 70), &steps);
    let run = world.fails(world.pipeline(&incremental).await).await;
    assert!(run.error.is_some_and(|error| error.contains("`filter` drops rows, and an incremental run leaves")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_with_a_value_that_does_not_fit_is_put_aside_without_its_value_in_the_reason() {
    let world = people(&[]).await;
    world.target("born", "id bigint, born date", &["id"]).await;
    world.sql("update content.person set born = 'SECRET' where id in (3, 333)").await;
    let steps = [("cast", json!({"columns": {"born": "date"}})), ("select", json!({"keep": ["id", "born"]}))];
    let mut letters = through(draft("born", Mode::Full, READ, "analytics.born", 100), &steps);
    letters.options.on_row_error = Some(OnRowError::DeadLetter);
    let pipeline = world.pipeline(&letters).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.rows_rejected), (498, 2));
    let reasons = "select string_agg((key ->> 'id') || ' ' || (row ->> 'born') || ' ' || error, ', ' order by id) from etl.etl_dead_letters";
    let reason = "column `born` has a value that is no date";
    assert_eq!(world.text(reasons).await, Some(format!("3 SECRET {reason}, 333 SECRET {reason}")));

    world.sql("update content.person set born = '2000-02-29' where id in (3, 333)").await;
    let replayed = world.report(pipeline, &ReportRequest::Replay { ids: None }).await;
    assert_eq!(replayed["written"], 2, "{replayed}");
    world.assert_same("select id, born::date from content.person", "analytics.born").await;
}

/// Texts that some types read and others do not.
const TEXTS: &[&str] = &[
    "0",
    "1",
    "-1",
    "+7",
    "007",
    " 12 ",
    "12.0",
    "12.50",
    ".5",
    "5.",
    "1e3",
    "1e-3",
    "-1.5E2",
    "1e400",
    "1e-400",
    "NaN",
    "Infinity",
    "32767",
    "32768",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "16777217",
    "9007199254740993",
    "0.1",
    "-0",
    "0.30000000000000004",
    "123456789012345678901234567890.123456789",
    "0x1F",
    "1_000",
    "t",
    "TRUE",
    "yes",
    "off",
    "no",
    "tru",
    "",
    " ",
    "null",
    "text",
    "\"text\"",
    "{\"a\": 1.50}",
    "[1, 2",
    "[]",
    "2024-02-29",
    "2023-02-29",
    "0001-01-01",
    "9999-12-31",
    "infinity",
    "2024-02-29 12:34:56",
    "2024-02-29T12:34:56.1234",
    "2024-02-29 12:34:56.123456789",
    "2024-02-29 24:00:00",
    "2024-02-29 12:34:56Z",
    "2024-02-29 12:34:56.5+02",
    "2024-02-29T12:34:56-05:30",
    "2024-12-31 23:30:00-02",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "A0EEBC999C0B4EF8BB6D6BB9BD380A11",
    "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
];

/// The server reads every text that `cast` accepts, and as the same value.
#[tokio::test(flavor = "multi_thread")]
async fn what_cast_accepts_has_the_value_that_sql_gives_it() {
    let world = people(&[]).await;
    world.sql("create table content.sample (id integer primary key, value text)").await;
    for (id, text) in TEXTS.iter().enumerate() {
        world.sql(&format!("insert into content.sample values ({id}, $text${text}$text$)")).await;
    }
    for (place, name) in ScalarType::names().enumerate() {
        let table = format!("cast{place}");
        world.target(&table, &format!("id integer, value {name}"), &["id"]).await;
        let query = "select id, value from content.sample";
        let mut cast = through(
            draft(&table, Mode::Full, query, &format!("analytics.{table}"), 1000),
            &[("cast", json!({"columns": {"value": name}}))],
        );
        cast.options.on_row_error = Some(OnRowError::DeadLetter);
        let run = world.succeeds(world.pipeline(&cast).await).await;
        assert!(run.rows_written > 0, "{name}");
        assert_eq!(run.rows_written + run.rows_rejected, TEXTS.len() as i64, "{name}");
        let others = format!(
            "select string_agg(row ->> 'value' || ': ' || error, ', ') from etl.etl_dead_letters
             where error <> 'column `value` has a value that is no {name}'"
        );
        assert_eq!(world.text(&others).await, None, "{name}: the server refuses what the step accepts");
        // A row that is JSON itself keeps no blanks around its values.
        let sql = if name == "json" { "btrim(s.value)::json".to_owned() } else { format!("s.value::{name}") };
        let differing = format!(
            "select string_agg(s.value || ' became ' || m.value::text, ', ') from content.sample s
             join analytics.{table} m using (id) where {sql}::text is distinct from m.value::text"
        );
        assert_eq!(world.text(&differing).await, None, "{name}");
        world.sql("truncate etl.etl_dead_letters").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pseudonyms_are_made_with_the_key_of_the_workers_environment() {
    let mut world = people(&[("VITRINA_KEYS_PEOPLE", "0123456789abcdef")]).await;
    world.target("pseudonyms", "id bigint, name text, visits text", &["id"]).await;
    let query = "select id, name, visits from content.person";
    let hash = |pool: &str| {
        let steps = [("hash", json!({"columns": ["name", "visits"], "pool": pool}))];
        through(draft(pool, Mode::Full, query, "analytics.pseudonyms", 100), &steps)
    };
    let pipeline = world.pipeline(&hash("PEOPLE")).await;
    world.succeeds(pipeline).await;
    // As RFC 2104 defines it: the key, filled up to 64 bytes, is mixed with two constants.
    let padded = |mix: u8| -> String {
        let key = b"0123456789abcdef".iter().chain(std::iter::repeat(&0)).take(64);
        key.map(|byte| format!("{:02x}", byte ^ mix)).collect()
    };
    let (outer, inner) = (padded(0x5c), padded(0x36));
    let hmac = |value: &str| {
        format!("encode(sha256('\\x{outer}' || sha256('\\x{inner}' || convert_to({value}, 'UTF8'))), 'hex')")
    };
    let sql = format!("select id, {}, {} from content.person", hmac("name"), hmac("visits::text"));
    world.assert_same(&sql, "analytics.pseudonyms").await;
    // A preview is made by a worker too.
    let preview = world.report(pipeline, &ReportRequest::preview(1)).await;
    assert_eq!(preview["rows"][0]["name"].as_str().map(str::len), Some(64), "{preview}");

    let run = world.fails(world.pipeline(&hash("OTHERS")).await).await;
    assert_eq!((run.error_class, run.rows_read), (Some(ErrorClass::Fatal), 0));
    let error = run.error.unwrap();
    assert!(error.starts_with("step `hash`: this worker has no key: set VITRINA_KEYS_OTHERS"), "{error}");
    let kept =
        "select count(*) from etl.etl_pipelines p, etl.etl_runs r where p::text || r::text like '%0123456789abcdef%'";
    assert_eq!(world.number(kept).await, 0);
    world.stop_workers().await;
}

/// The types that arrive are those that the steps declare, and the key stays as the query gives it.
#[tokio::test(flavor = "multi_thread")]
async fn what_steps_make_of_columns_is_compared_with_the_target_before_a_row_moves() {
    let world = people(&[]).await;
    world.target("typed", "id bigint, name text, visits integer", &["id"]).await;
    let query = "select id, name, visits from content.person";
    for (case, (steps, expected)) in [
        (
            vec![("cast", json!({"columns": {"visits": "bool"}}))],
            "column `visits` is boolean in the query and integer in `analytics.typed`",
        ),
        (vec![("set", json!({"columns": {"more": {"value": 1}}}))], "`analytics.typed` has no column `more`"),
        (vec![("select", json!({"keep": ["name", "visits"]}))], "tasks[1].options: `id` is part of the target's key"),
        (
            vec![("set", json!({"columns": {"id": {"expression": "id"}}}))],
            "tasks[1].options: `id` is part of the target's key",
        ),
        (vec![("filter", json!({"where": "visits > name"}))], "tasks[1].options: where: `>` is not there for"),
        (
            vec![("rename", json!({"columns": {"name": "title"}})), ("trim", json!({"columns": ["name"]}))],
            "tasks[2].options: there is no column `name` at this step; there is id, title, visits",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let refused = through(draft(&format!("case{case}"), Mode::Full, query, "analytics.typed", 100), &steps);
        let run = world.fails(world.pipeline(&refused).await).await;
        assert_eq!((run.error_class, run.rows_read), (Some(ErrorClass::Fatal), 0), "{expected}");
        let error = run.error.unwrap();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

/// A step may take its time between two blocks: the server ends no session of the page meanwhile. The policy shows how long the
/// session that reads may rest, and the trigger the one that writes.
#[tokio::test(flavor = "multi_thread")]
async fn while_steps_are_at_work_the_sessions_of_a_page_may_rest_as_long_as_its_statement_may_take() {
    let mut world = World::with_worker().await;
    world.items(1, 20).await;
    let rest = "current_setting('idle_in_transaction_session_timeout')";
    world
        .sql(&format!(
            "alter table content.item enable row level security;
             create policy rested on content.item for select using ({rest} = '10min');
             create function analytics.rested() returns trigger language plpgsql
             as $$ begin new.name := {rest}; return new; end $$;
             create trigger rested before insert on analytics.item for each row execute function analytics.rested()"
        ))
        .await;
    let trimmed = through(items("trimmed", Mode::Incremental, 10), &[("trim", json!({"columns": ["name"]}))]);
    let pipeline = world.pipeline(&trimmed).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 20);
    assert_eq!(world.number("select count(*) from analytics.item where name = '10min'").await, 20);
    let preview = world.report(pipeline, &ReportRequest::preview(5)).await;
    assert_eq!(preview["rows"].as_array().unwrap().len(), 5, "{preview}");
    world.stop_workers().await;
}
