//! Steps in Python, with a real interpreter: what comes out of them, and what becomes of a batch whose step misbehaves.

use std::{path::Path, process::Command};

use serde_json::json;
use vitrina_shared::domain::{ErrorClass, Mode, OnRowError, ReportRequest};

use crate::support::{ITEMS, STEPS_IN_PYTHON, World, draft, eventually, in_python, items};

const PATH: (&str, &str) = ("VITRINA_PYTHON_PATH", STEPS_IN_PYTHON);
/// What the steps make of the items.
const CAPITALS: &str = "select id, upper(name), modified from content.item";

async fn world_with(settings: &[(&str, &str)]) -> World {
    let mut world = World::new().await;
    world.start_worker(&[&[PATH], settings].concat());
    world
}

#[test]
fn the_package_passes_its_own_tests() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python");
    let tests = Command::new("python3")
        .args(["-B", "-m", "unittest", "discover", "-s", "tests"])
        .current_dir(&package)
        .env("PYTHONPATH", &package)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tests.stderr);
    assert!(tests.status.success() && said.contains("Ran 1"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_through_a_step_in_python_equals_the_same_mart_written_as_sql() {
    let world = world_with(&[]).await;
    world.items(1, 300).await;
    world.sql("update content.item set name = name || repeat(' x', 2500)").await;
    world.target("slugs", "id bigint, name text, modified timestamptz, slug text", &["id"]).await;
    let expected = "select id, upper(name), modified, replace(name, ' ', '_') from content.item";
    for (step, mode) in [
        ("in_blocks", Mode::Full),
        ("in_blocks", Mode::Incremental),
        ("one_by_one", Mode::Full),
        ("one_by_one", Mode::Incremental),
    ] {
        world.sql("truncate analytics.slugs").await;
        let name = format!("{step}_{}", mode.as_str());
        let plain = draft(&name, mode, ITEMS, "analytics.slugs", 120);
        let pipeline = world.pipeline(&in_python(plain, step, json!({"sign": "_"}))).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_read, run.rows_written), (300, 300), "{name}");
        world.assert_same(expected, "analytics.slugs").await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 0, "{name}: nothing changed");

        world.sql("update content.item set name = 'new ' || id, modified = now() where id % 50 = 0").await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 6, "{name}");
        world.assert_same(expected, "analytics.slugs").await;
        world.sql("update content.item set name = 'item ' || id || repeat(' x', 2500), modified = now() where id % 50 = 0").await;
        if mode == Mode::Incremental {
            let checkpoint = world.checkpoint(pipeline).await.map(|(_, id)| id);
            assert_eq!(checkpoint, Some(Some("300".to_owned())), "{name}: the checkpoint is the reader's");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_keep_their_types_and_digits_through_python_and_back() {
    let world = world_with(&[]).await;
    let columns = "id int not null, big bigint, exact numeric, rough double precision, flag boolean, words text, at timestamptz,
         local timestamp, day date, hour time, who uuid, bytes bytea, doc jsonb, plain json, texts text[], amounts numeric[],
         grid int[]";
    world.sql(&format!("create table content.typed ({columns}, primary key (id))")).await;
    world.target("typed", columns, &["id"]).await;
    world
        .sql(
            r#"insert into content.typed values
            (1, 9223372036854775807, '12345678901234567890123456789012345.678901234567890123456789', 0.1, true,
             E'п "q" \\ \n \t', '2026-03-29 01:30:00.5+02', '2026-01-01 12:00:00.123456', '2026-02-28', '23:59:59.999999',
             'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\x00ff10', '{"b": 1.50, "a": [null, 12345678901234567890.12]}',
             '{"x": "y"}', '{a,NULL,"b,\"c\\",""}', '{1.10,NULL}', '{{1,2},{3,4}}'),
            (2, -1, 'NaN', 'NaN', false, '', 'infinity', 'infinity', 'infinity', '00:00', '00000000-0000-0000-0000-000000000000', '',
             '{}', '{}', '{}', '{}', '{}'),
            (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null), (4, 0, 0.00, 1e308, true, 'ß', '2026-01-01 BC', '0001-01-01 BC', '0001-01-01 BC', '12:00', null, null, null, null,
             null, null, null)"#,
        )
        .await;
    // A text of JSON may be written otherwise; its value is the same.
    let texts = |table: &str| {
        format!(
            "select id, (t - 'plain')::text, plain::jsonb::text from (select id, to_jsonb(e) as t, plain from {table} e) q"
        )
    };
    let written = format!("({}) as w", texts("analytics.typed"));
    for (step, query) in [
        ("same_values", "select * from content.typed"),
        // What a step does not declare does not even travel back.
        ("without_name", "select *, 'x'::text as name from content.typed"),
    ] {
        world.sql("truncate analytics.typed").await;
        let draft = draft(step, Mode::Full, query, "analytics.typed", 3);
        let pipeline = world.pipeline(&in_python(draft, step, json!({}))).await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 4, "{step}");
        world.assert_same(&texts("content.typed"), &written).await;
        let scale = "select exact::text || ' ' || amounts::text from analytics.typed where id = 1";
        let digits = "12345678901234567890123456789012345.678901234567890123456789 {1.10,NULL}";
        assert_eq!(world.text(scale).await.as_deref(), Some(digits), "{step}");
        assert_eq!(world.succeeds(pipeline).await.rows_written, 0, "{step}: nothing changed");
        // Here, as on the way into an index, arrays travel as JSON.
        let preview = world.report(pipeline, &ReportRequest::preview(10)).await;
        let row = preview["rows"].as_array().unwrap().iter().find(|row| row["id"] == 1).unwrap();
        assert_eq!((&row["grid"], &row["texts"][2]), (&json!([[1, 2], [3, 4]]), &json!("b,\"c\\")), "{step}: {row}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_process_fails_is_tried_again_with_another_one_and_nothing_is_half_written() {
    let directory = tempfile::tempdir().unwrap();
    let world = world_with(&[("VITRINA_PYTHON_TIMEOUT_SECONDS", "5"), ("VITRINA_PYTHON_MEMORY_MB", "300")]).await;
    world.items(1, 30).await;
    for (step, mode) in [
        ("killed", Mode::Incremental),
        ("killed", Mode::Full),
        ("hangs", Mode::Incremental),
        ("leaks", Mode::Full),
        ("exits", Mode::Incremental),
        ("rests", Mode::Incremental),
    ] {
        world.sql("truncate analytics.item").await;
        let name = format!("{step}_{}", mode.as_str());
        let file = directory.path().join(&name);
        let options = json!({"file": file.to_str().unwrap()});
        let pipeline = world.pipeline(&in_python(items(&name, mode, 10), step, options)).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_read, run.rows_written, run.attempts), (30, 30, 1), "{name}");
        world.assert_same(CAPITALS, "analytics.item").await;
        assert!(file.exists(), "{name} did what it is there for");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_always_ends_its_process_fails_the_run_and_says_how() {
    let settings = [("VITRINA_PYTHON_TIMEOUT_SECONDS", "4"), ("VITRINA_PYTHON_MEMORY_MB", "300")];
    let world = world_with(&settings).await;
    world.items(1, 20).await;
    // Each is tried four times, with rests of seven seconds: all at once.
    let mut runs = Vec::new();
    for (step, said) in [
        ("killed", "the Python process ended unexpectedly (signal: 9 (SIGKILL))"),
        ("exits", "the Python process ended unexpectedly (exit status: 3)"),
        ("leaks", "the Python process ran out of the memory that VITRINA_PYTHON_MEMORY_MB allows"),
        ("hangs", "took longer than VITRINA_PYTHON_TIMEOUT_SECONDS allows for a block, 4 s"),
    ] {
        world.target(step, "id bigint, name text, modified timestamptz", &["id"]).await;
        let plain = draft(step, Mode::Incremental, ITEMS, &format!("analytics.{step}"), 10);
        let pipeline = world.pipeline(&in_python(plain, step, json!({}))).await;
        runs.push((step, said, world.run(pipeline).await));
    }
    for (step, said, run) in runs {
        let run = world.ended(run).await;
        assert_eq!(run.error.as_deref(), Some(format!("step `{step}`: {said}").as_str()));
        assert_eq!((run.error_class, run.attempts), (Some(ErrorClass::Transient), 4), "{step}");
        // The first batch was whole; of the second one there is nothing.
        let first = if ["killed", "hangs"].contains(&step) { 10 } else { 0 };
        assert_eq!(world.number(&format!("select count(*) from analytics.{step}")).await, first, "{step}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_step_prints_never_gets_between_the_answers() {
    let world = world_with(&[]).await;
    world.items(1, 30).await;
    let pipeline = world.pipeline(&in_python(items("prints", Mode::Incremental, 10), "prints", json!({}))).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.attempts), (30, 0));
    world.assert_same(CAPITALS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_in_python_that_breaks_the_rules_fails_the_run_and_writes_nothing() {
    let world = world_with(&[]).await;
    world.items(1, 10).await;
    for (step, said) in [
        ("too_many", "step `too_many`: got 10 rows and returns 20: an element for each row"),
        ("too_few", "step `too_few`: got 10 rows and returns 9: an element for each row"),
        (
            "reverses",
            "step `reverses`: changes the column `id`, which its `columns` do not declare, or returns rows in",
        ),
        ("changes_key", "step `changes_key`: changes the column `id`, which its `columns` do not declare"),
        (
            "leaves_out_key",
            "step `leaves_out_key`: returns rows without `id`, the target's key, so that one could take",
        ),
        ("adds_column", "step `adds_column` says: returns the column `colour`, which its `columns` do not declare"),
        ("returns_nothing", "step `returns_nothing`: returns None: a step of blocks returns a list"),
        ("raises", "step `raises` says: KeyError: 'no such column'"),
        ("fails", "step `fails` says: never item 1"),
    ] {
        let pipeline = world.pipeline(&in_python(items(step, Mode::Full, 20), step, json!({}))).await;
        let run = world.fails(pipeline).await;
        let error = run.error.unwrap();
        assert!(error.starts_with(said), "{step}: {error}");
        assert_eq!((run.error_class, run.attempts), (Some(ErrorClass::Fatal), 1), "{step}: it is executed once");
        assert_eq!(world.number("select count(*) from analytics.item").await, 0, "{step}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_a_step_raises_for_or_gives_a_wrong_type_are_refused_one_by_one() {
    let world = world_with(&[]).await;
    world.items(1, 10).await;
    let strict = world.pipeline(&in_python(items("strict", Mode::Full, 20), "picky", json!({}))).await;
    let run = world.fails(strict).await;
    assert_eq!(run.error_class, Some(ErrorClass::Row));
    assert_eq!(world.number("select count(*) from analytics.item").await, 0);

    let mut patient = items("patient", Mode::Incremental, 4);
    patient.options.on_row_error = Some(OnRowError::DeadLetter);
    let patient = world.pipeline(&in_python(patient, "picky", json!({}))).await;
    let run = world.succeeds(patient).await;
    assert_eq!((run.rows_written, run.rows_rejected), (7, 3));
    world.assert_same(&format!("{CAPITALS} where id not in (3, 5, 7)"), "analytics.item").await;
    let letters = "select string_agg((key ->> 'id') || ' ' || error, '; ' order by id) from etl.etl_dead_letters";
    let expected = "3 step `picky` says: ValueError: item 3 is not wanted; 5 step `picky` says: item 5 is refused; \
                    7 step `picky` says: column `name` is text, and the step returned an int";
    assert_eq!(world.text(letters).await.as_deref(), Some(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_kills_the_process_of_its_step() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let world = world_with(&[]).await;
    world.items(1, 30).await;
    let options = json!({"file": file.to_str().unwrap()});
    let pipeline = world.pipeline(&in_python(items("hangs", Mode::Incremental, 30), "hangs", options)).await;
    let run = world.run(pipeline).await;
    let pid = eventually("the step hangs", || async { std::fs::read_to_string(&file).ok() }).await;
    assert!(Path::new("/proc").join(&pid).exists());
    world.cancel(pipeline).await.unwrap();
    eventually("the end of the process", || async { (!Path::new("/proc").join(&pid).exists()).then_some(()) }).await;
    world.ended(run).await;
    assert_eq!(world.number("select count(*) from analytics.item").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_to_a_worker_that_has_its_steps_and_no_attempt_is_counted() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    for _ in 0..3 {
        world.start_worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.2")]);
    }
    world.start_worker(&[PATH, ("VITRINA_HEARTBEAT_SECONDS", "0.2")]);
    let pipeline = world.pipeline(&in_python(items("somewhere", Mode::Full, 20), "talks", json!({}))).await;
    eventually("the steps of a worker", || async {
        (world.number("select count(*) from etl.etl_worker_steps where name = 'talks'").await == 1).then_some(())
    })
    .await;
    for _ in 0..4 {
        assert_eq!(world.succeeds(pipeline).await.attempts, 0);
    }
    world.assert_same(ITEMS, "analytics.item").await;
    let preview = world.report(pipeline, &ReportRequest::preview(2)).await;
    assert_eq!(preview["rows"][0]["name"], "item 1", "{preview}");
    let unpure = world.pipeline(&in_python(items("impure", Mode::Full, 20), "not_pure", json!({}))).await;
    let report = world.ask(unpure, &ReportRequest::preview(2)).await;
    let error = world.reported(report).await.error.unwrap();
    assert!(error.ends_with("`not_pure` is not pure: run the pipeline instead"), "{error}");
    world.assert_no_litter().await;
}

/// Each has one of them, and none both: no job goes back and forth for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_whose_steps_no_single_worker_has_fails_with_what_is_missing() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (directory, name) in [(&one, "one"), (&other, "other")] {
        let step = format!("import vitrina\n@vitrina.step(pure=True)\ndef {name}(rows): return rows\n");
        std::fs::write(directory.path().join(format!("{name}.py")), step).unwrap();
    }
    let mut world = World::new().await;
    world.items(1, 10).await;
    for directory in [&one, &other] {
        let path = directory.path().to_str().unwrap();
        world.start_worker(&[("VITRINA_PYTHON_PATH", path), ("VITRINA_HEARTBEAT_SECONDS", "0.1")]);
    }
    eventually("the steps of two workers", || async {
        (world.number("select count(*) from etl.etl_worker_steps").await == 2).then_some(())
    })
    .await;
    let mut draft = in_python(items("both", Mode::Full, 20), "one", json!({}));
    let mut second = draft.tasks[1].clone();
    (second.order_index, second.body) = (3, "other".to_owned());
    draft.tasks.push(second);
    let run = world.fails(world.pipeline(&draft).await).await;
    let error = run.error.unwrap();
    assert!(
        error.starts_with("the plan names `one`, `other` in Python, and for a while no live worker has had all"),
        "{error}"
    );
}

/// Its JSON would exhaust the stack of a process, which would end and be tried again for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_python_cannot_read_is_refused_and_the_others_are_written() {
    let world = world_with(&[]).await;
    world.items(1, 10).await;
    let mut draft = items("deep", Mode::Full, 20);
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    let deep = "select id, name, modified, case id when 3 then (repeat('[', 900) || repeat(']', 900))::json end as deep \
                from content.item";
    let mut draft = in_python(draft, "without_deep", json!({}));
    draft.tasks[0].body = deep.to_owned();
    let run = world.succeeds(world.pipeline(&draft).await).await;
    assert_eq!((run.rows_written, run.rows_rejected, run.attempts), (9, 1, 0));
    world.assert_same(&format!("{ITEMS} where id <> 3"), "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_step_no_worker_has_waits_a_while_and_fails_with_what_is_missing() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    world.start_worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.1")]);
    let pipeline = world.pipeline(&in_python(items("nowhere", Mode::Full, 20), "talks", json!({}))).await;
    let run = world.fails(pipeline).await;
    let said = "the plan names `talks` in Python, and for a while no live worker has had all of this: start a worker whose \
                VITRINA_PYTHON_PATH has it, or change the plan";
    assert_eq!((run.error.as_deref(), run.error_class, run.attempts), (Some(said), Some(ErrorClass::Fatal), 1));
}

/// A module that cannot be imported, and a type that is none, do not take the other steps away.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_has_is_published_without_what_is_broken() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(Path::new(STEPS_IN_PYTHON).join("good.py"), directory.path().join("good.py")).unwrap();
    std::fs::write(directory.path().join("broken.py"), "import no_such_module").unwrap();
    let odd = "import vitrina\n@vitrina.step(columns={'a': 'colour'})\ndef odd(rows): return rows\n\
               @vitrina.step(columns={'a': 'JSONB ARRAY'})\ndef documents(rows): return rows\n";
    std::fs::write(directory.path().join("odd.py"), odd).unwrap();
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_PYTHON_PATH", directory.path().to_str().unwrap())]);
    let names = "select string_agg(name, ' ' order by name) from etl.etl_worker_steps";
    let found = eventually("steps", || world.text(names)).await;
    assert_eq!(found, "film_words in_blocks not_pure one_by_one same_bent same_values talks without_deep without_name");
    let slug = "select declaration -> 'columns' -> 1 ->> 'type_name' || ' ' || (declaration ->> 'description')
                from etl.etl_worker_steps where name = 'in_blocks'";
    assert_eq!(world.text(slug).await.as_deref(), Some("text Writes names in capitals, and makes a slug of them"));
}

/// As the system does that has run out of memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_killed_while_it_waited_costs_no_attempt() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let world = world_with(&[]).await;
    world.items(1, 10).await;
    let options = json!({"file": file.to_str().unwrap()});
    let rests = world.pipeline(&in_python(items("rests", Mode::Full, 20), "rests", options)).await;
    assert_eq!(world.succeeds(rests).await.attempts, 1);
    let pid = std::fs::read_to_string(&file).unwrap();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    assert_eq!(world.succeeds(rests).await.attempts, 0);
}

/// The examples of `docs/PYTHON.md`, each a module of its own.
#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_the_document_work_as_they_are_written() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/PYTHON.md")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let blocks: Vec<_> = page.split("```python\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    for (place, block) in blocks.iter().enumerate() {
        std::fs::write(directory.path().join(format!("example{place}.py")), block).unwrap();
    }
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_PYTHON_PATH", directory.path().to_str().unwrap())]);
    world.items(1, 10).await;
    world.target("written", "id bigint, name text, modified timestamptz, slug text, length int", &["id"]).await;
    let query = "select id, name, modified from content.item";
    let slugs =
        world.pipeline(&in_python(draft("slug", Mode::Full, query, "analytics.written", 20), "slug", json!({}))).await;
    assert_eq!(world.succeeds(slugs).await.rows_written, 10);
    let expected = "select id, name, modified, replace(name, ' ', '-'), null::int from content.item";
    world.assert_same(expected, "analytics.written").await;

    let options = json!({"language": "fr", "most": 6});
    let mut translate = draft("translate", Mode::Full, query, "analytics.written", 20);
    translate.options.on_row_error = Some(OnRowError::DeadLetter);
    let translate = world.pipeline(&in_python(translate, "translate", options)).await;
    let run = world.succeeds(translate).await;
    assert_eq!((run.rows_written, run.rows_rejected), (9, 1), "`item 10` is too long");
    assert_eq!(
        world.text("select name || length from analytics.written where id = 9").await.as_deref(),
        Some("item 9 (fr)11")
    );
}
