//! Comparing an index with its source, and repairing what differs.

use serde_json::{Value, json};
use vitrina_shared::domain::{
    Mode, NullKeys, OnRowError, PipelineId, ReportRequest, ReportStatus, Task, TaskKind,
    report::{Depth, Repair},
};

use crate::{
    films::{FILMS, Films, many},
    support::Corner,
    world::{World, draft, eventually},
};

async fn reconcile(films: &Films, pipeline: PipelineId, depth: Depth) -> Value {
    films.world.report(pipeline, &ReportRequest::Reconcile { depth, repair: Repair::Nothing }).await
}

async fn repair(films: &Films, pipeline: PipelineId, repair: Repair) -> Value {
    films.world.report(pipeline, &ReportRequest::Reconcile { depth: Depth::Rows, repair }).await
}

/// `(missing, extra, different)`.
fn differences(found: &Value) -> [Option<i64>; 3] {
    ["missing", "extra", "different"].map(|kind| found[kind].as_i64())
}

fn assert_match(found: &Value) {
    assert_eq!((&found["verdict"], &found["sample"]), (&json!("match"), &json!([])), "{found}");
    assert_eq!(found["source_rows"], found["target_rows"], "{found}");
}

impl Films {
    async fn id(&self, film: i64) -> String {
        self.world.text(&format!("select md5('{film}')::uuid")).await.unwrap()
    }

    /// Changes a document behind our back.
    async fn meddle(&self, id: &str, change: &Value) {
        let path = format!("{}/_update/{id}", self.corner.name);
        self.corner.put(reqwest::Method::POST, &path, &json!({"doc": change})).await;
    }

    async fn lose(&self, id: &str) {
        self.corner.put(reqwest::Method::DELETE, &format!("{}/_doc/{id}", self.corner.name), &Value::Null).await;
    }

    async fn smuggle(&self, id: &str, document: &Value) {
        self.corner.put(reqwest::Method::PUT, &format!("{}/_doc/{id}", self.corner.name), document).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_just_filled_matches_at_every_depth() {
    for (mode, options) in
        [(Mode::Full, json!({})), (Mode::Incremental, json!({})), (Mode::Incremental, json!({"write": "index"}))]
    {
        let Some(corner) = Corner::new() else { return };
        let mut films = Films::at(corner, many(), options).await;
        films.start_worker();
        let pipeline = films.world.pipeline(&films.draft(mode, 500)).await;
        let before = reconcile(&films, pipeline, Depth::Keys).await;
        assert_eq!(differences(&before), [Some(many()), Some(0), None], "there is no index yet");
        films.succeeds(pipeline).await;
        for (depth, compared) in [
            (Depth::Counts, [None, None, None]),
            (Depth::Keys, [Some(0), Some(0), None]),
            (Depth::Rows, [Some(0), Some(0), Some(0)]),
        ] {
            let found = reconcile(&films, pipeline, depth).await;
            assert_match(&found);
            assert_eq!((found["source_rows"].as_i64(), differences(&found)), (Some(many()), compared));
            assert!(found["source_max"].is_string(), "{found}");
            assert_eq!((&found["source_max"], &found["source_min"]), (&found["target_max"], &found["target_min"]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_drifted_is_named_and_repaired_and_then_matches() {
    let Some(mut films) = Films::new(many()).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 1_000)).await;
    films.succeeds(pipeline).await;
    let (changed, lost) = (films.id(7).await, films.id(8).await);
    films.meddle(&changed, &json!({"title": "changed", "rating": 1.25})).await;
    films.lose(&lost).await;
    films.smuggle("no-uuid", &json!({"title": "extra"})).await;

    let found = reconcile(&films, pipeline, Depth::Rows).await;
    assert_eq!((&found["verdict"], differences(&found)), (&json!("drift"), [Some(1); 3]), "{found}");
    assert_eq!((found["source_rows"].as_i64(), found["target_rows"].as_i64()), (Some(many()), Some(many())));
    let mut sample = found["sample"].as_array().unwrap().clone();
    sample.sort_by_key(|one| one["kind"].as_str().unwrap().to_owned());
    let title = films.world.text("select title from content.film where id = md5('7')::uuid").await;
    assert_eq!(sample[0]["key"], json!({"film_id": changed}));
    assert_eq!(sample[0]["columns"]["title"], json!({"source": title, "target": "changed"}));
    assert_eq!(sample[0]["columns"]["rating"], json!({"source": "0.7", "target": "1.25"}));
    assert_eq!(sample[1], json!({"kind": "extra", "key": {"film_id": "no-uuid"}, "columns": {}}));
    assert_eq!(sample[2], json!({"kind": "missing", "key": {"film_id": lost}, "columns": {}}));
    assert_eq!(differences(&reconcile(&films, pipeline, Depth::Keys).await), [Some(1), Some(1), None]);

    let repaired = repair(&films, pipeline, Repair::Differing).await;
    assert_eq!(repaired["repaired"], json!({"written": 2, "removed": 1}), "{repaired}");
    assert_match(&reconcile(&films, pipeline, Depth::Rows).await);
    films.assert_same(FILMS).await;
    assert_eq!(repair(&films, pipeline, Repair::All).await["repaired"], json!({"written": 0, "removed": 0}));

    films.lose(&lost).await;
    let counted = reconcile(&films, pipeline, Depth::Counts).await;
    assert_eq!((&counted["verdict"], counted["target_rows"].as_i64()), (&json!("drift"), Some(many() - 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_in_flight_are_no_drift_and_a_version_that_somebody_raised_keeps_no_row_from_being_repaired() {
    let Some(corner) = Corner::new() else { return };
    let mut films = Films::at(corner, 300, json!({"write": "index"})).await;
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 100)).await;
    films.succeeds(pipeline).await;
    // Some are new, and some that were loaded have changed since.
    films.add(301, 305).await;
    films
        .world
        .sql(
            "update content.film set title = 'new', modified = '2026-02-01'
             where id in (select md5(n::text)::uuid from generate_series(1, 5) n)",
        )
        .await;
    for depth in [Depth::Counts, Depth::Keys, Depth::Rows] {
        let found = reconcile(&films, pipeline, depth).await;
        assert_match(&found);
        assert_eq!((&found["source_rows"], &found["in_flight"]), (&json!(295), &json!(10)), "{depth}: {found}");
    }
    // Beside them: one that changed although its key did not, one that was edited by hand, and one whose source is gone.
    films.world.sql("update content.film set title = 'silent' where id = md5('100')::uuid").await;
    films.meddle(&films.id(101).await, &json!({"title": "edited"})).await;
    films.world.sql("delete from content.film where id = md5('102')::uuid").await;
    let found = repair(&films, pipeline, Repair::Differing).await;
    assert_eq!(
        (differences(&found), &found["repaired"]),
        ([Some(0), Some(1), Some(2)], &json!({"written": 2, "removed": 0})),
        "{found}"
    );
    assert_ne!(films.corner.documents().await[&films.id(1).await]["title"], "new", "that is the next run's");
    let found = repair(&films, pipeline, Repair::All).await;
    assert_eq!(
        (differences(&found), &found["repaired"]),
        ([Some(0), Some(1), Some(0)], &json!({"written": 0, "removed": 1}))
    );
    assert_match(&reconcile(&films, pipeline, Depth::Rows).await);
    films.succeeds(pipeline).await;
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_the_server_refuses_stays_missing_and_keeps_no_other_from_being_repaired() {
    let Some(mut films) = Films::new(200).await else { return };
    films.start_worker();
    films.world.sql("update content.film set creation_date = 'infinity' where id = md5('77')::uuid").await;
    let pipeline = films.world.pipeline(&films.tolerant(Mode::Incremental, 100, 5)).await;
    films.succeeds(pipeline).await;
    films.lose(&films.id(8).await).await;
    let found = repair(&films, pipeline, Repair::Differing).await;
    assert_eq!(
        (differences(&found), &found["repaired"]),
        ([Some(2), Some(0), Some(0)], &json!({"written": 1, "removed": 0}))
    );
    let left = reconcile(&films, pipeline, Depth::Rows).await;
    assert_eq!(left["sample"], json!([{"kind": "missing", "key": {"film_id": films.id(77).await}, "columns": {}}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_differences_are_counted_sampled_and_repaired() {
    let Some(mut films) = Films::new(3_000).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 1_000)).await;
    films.succeeds(pipeline).await;
    films
        .world
        .sql("update content.film set title = 'other' where rating < 5; delete from content.film where rating > 9")
        .await;
    films.add(3_001, 3_700).await;
    let found = reconcile(&films, pipeline, Depth::Rows).await;
    assert_eq!(differences(&found)[0], Some(700), "{found}");
    assert_eq!(found["sample"].as_array().unwrap().len(), 20);
    repair(&films, pipeline, Repair::Differing).await;
    films.assert_same(FILMS).await;
    assert_match(&reconcile(&films, pipeline, Depth::Rows).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn composite_keys_and_several_versions_of_a_row_are_compared_like_others() {
    let Some(mut films) = Films::new(20).await else { return };
    films.start_worker();
    films.world.sql("update etl.etl_targets set key = '{film_id,genre}' where target like 'es:%'").await;
    // A version of each film and genre for every night it was shown; the newest is the one that is written.
    films.world.sql("create table content.night as select n, '2026-03-01'::timestamptz + n * interval '1 day' as at from generate_series(1, 3) n").await;
    let query = "select f.id as film_id, g || '|' as genre, f.title || ' ' || n.n as title, n.at
                 from content.film f, unnest(f.genres) g, content.night n";
    let mut draft = films.draft_of(Mode::Incremental, query, 7);
    (draft.incremental_key, draft.incremental_id_key) = (Some("at".to_owned()), Some("film_id".to_owned()));
    draft.options.null_keys = Some(NullKeys::First);
    let pipeline = films.world.pipeline(&draft).await;
    films.succeeds(pipeline).await;
    for depth in [Depth::Counts, Depth::Keys, Depth::Rows] {
        let found = reconcile(&films, pipeline, depth).await;
        assert_match(&found);
        assert_eq!(found["source_rows"], 40, "{found}");
    }
    let film = films.id(3).await;
    films.lose(&format!("{film}%7Cdrama%5C%7C")).await;
    let found = repair(&films, pipeline, Repair::Differing).await;
    assert_eq!(found["sample"][0]["key"], json!({"film_id": film, "genre": "drama|"}), "{found}");
    assert_match(&reconcile(&films, pipeline, Depth::Rows).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_compared_as_the_transforms_make_them() {
    let Some(mut films) = Films::new(50).await else { return };
    films.start_worker();
    let mut draft = films.draft(Mode::Full, 20);
    draft.options.on_row_error = Some(OnRowError::Fail);
    let task = |order_index, task_type, body: &str, options: Value| Task {
        order_index,
        task_type,
        body: body.to_owned(),
        target_table: None,
        options: serde_json::from_value(options).unwrap(),
    };
    draft.tasks = vec![
        task(1, TaskKind::Sql, FILMS, json!({})),
        task(2, TaskKind::Rust, "rename", json!({"columns": {"title": "name"}})),
    ];
    draft.source_query = None;
    let pipeline = films.world.pipeline(&draft).await;
    films.succeeds(pipeline).await;
    assert_match(&reconcile(&films, pipeline, Depth::Rows).await);
    films.meddle(&films.id(7).await, &json!({"name": "changed"})).await;
    let found = repair(&films, pipeline, Repair::Differing).await;
    assert_eq!((differences(&found), &found["repaired"]["written"]), ([Some(0), Some(0), Some(1)], &json!(1)));
    assert_match(&reconcile(&films, pipeline, Depth::Rows).await);
}

/// As if the server had crashed when the documents were gone and the report was not written yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_forgets_the_checkpoints_of_others_before_it_removes_documents() {
    let Some(mut films) = Films::new(200).await else { return };
    films.start_worker();
    let other = films.world.pipeline(&films.draft(Mode::Incremental, 100)).await;
    films.succeeds(other).await;
    films.world.sql(&format!("update etl.etl_pipelines set enabled = false where id = '{}'", other.0)).await;
    let query = format!("{FILMS} where id <> md5('7')::uuid");
    let mut draft = films.draft_of(Mode::Full, &query, 100);
    draft.name = "all_but_one".to_owned();
    let pipeline = films.world.pipeline(&draft).await;
    films
        .world
        .sql(
            "create sequence content.ends;
             create function content.fail_once() returns trigger language plpgsql security definer as $$
             begin
                 if nextval('content.ends') = 1 then
                     raise exception using errcode = '40001', message = 'the report is not written';
                 end if;
                 return new;
             end $$;
             create trigger fail_once before update on etl.etl_reports for each row when (new.status = 'DONE')
             execute function content.fail_once()",
        )
        .await;
    let found = repair(&films, pipeline, Repair::Differing).await;
    assert_eq!((&found["verdict"], &found["repaired"]["removed"]), (&json!("match"), &json!(0)), "{found}");
    assert_eq!(films.world.number("select last_value from content.ends").await, 2, "the first attempt removed it");
    films.world.sql(&format!("update etl.etl_pipelines set enabled = true where id = '{}'", other.0)).await;
    let run = films.succeeds(other).await;
    assert_eq!(run.rows_read, 200);
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_of_an_index_that_is_not_there_says_what_makes_one() {
    let Some(mut films) = Films::new(5).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 20)).await;
    let asked = ReportRequest::Reconcile { depth: Depth::Keys, repair: Repair::Differing };
    let report = films.world.ask(pipeline, &asked).await;
    let report = films.world.reported(report).await;
    assert_eq!(report.status, ReportStatus::Failed);
    assert!(report.error.as_deref().is_some_and(|error| error.contains("run the pipeline")), "{:?}", report.error);
}

/// Names that our own statements use for relations and columns.
const NAMED: &str = "select id as film_id, title as source, 'a'::text as fresh, 'b'::text as doc, 'c'::text as whole,
    'd'::text as version, 'e'::text as settled, 'f'::text as key, 'g'::text as d, 'h'::text as rows, 'i'::text as page,
    'j'::text as measured, 'k'::text as key0, 'l'::text as bytes, 'm'::text as wanted, 'n'::text as current,
    'o'::text as c, 'p'::text as newest, modified from content.film";

#[tokio::test(flavor = "multi_thread")]
async fn columns_may_have_the_names_that_our_statements_use() {
    for mode in [Mode::Full, Mode::Incremental] {
        let Some(mut films) = Films::new(50).await else { return };
        films.start_worker();
        let pipeline = films.world.pipeline(&films.draft_of(mode, NAMED, 20)).await;
        let preview = films.world.report(pipeline, &ReportRequest::preview(3)).await;
        assert_eq!(preview["rows"][0]["fresh"], "a", "{preview}");
        films.succeeds(pipeline).await;
        let (changed, lost) = (films.id(7).await, films.id(8).await);
        films.meddle(&changed, &json!({"source": "changed"})).await;
        films.lose(&lost).await;
        let found = reconcile(&films, pipeline, Depth::Rows).await;
        assert_eq!(differences(&found), [Some(1), Some(0), Some(1)], "{mode}: {found}");
        assert_eq!(repair(&films, pipeline, Repair::All).await["repaired"], json!({"written": 2, "removed": 0}));
        for depth in [Depth::Counts, Depth::Keys, Depth::Rows] {
            assert_match(&reconcile(&films, pipeline, depth).await);
        }
    }
}

/// Keys whose id does not tell them: those that are too long, and those that look like it.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_removes_no_document_of_a_long_key_whose_row_is_there_again() {
    for key in ["a", "a,b"] {
        let Some(corner) = Corner::new() else { return };
        let mut world = World::new().await;
        world.start_worker(&[("ELASTICSEARCH_URL", &corner.node)]);
        world.sql("create table content.long (a text collate \"C\" primary key, b text, note integer)").await;
        let some = r"insert into content.long
            select case n when 1 then repeat('ё\|', 300) when 2 then 'sha256:2' else n::text end, 'b|\' || n, n
            from generate_series(1, 10) n where not exists (select from content.long where note = n)";
        world.sql(some).await;
        let target = format!("es:{}", corner.name);
        world.sql(&format!("insert into etl.etl_targets (target, key) values ('{target}', '{{{key}}}')")).await;
        let query = "select a, b, note from content.long";
        let pipeline = world.pipeline(&draft("long", Mode::Full, query, &target, 4)).await;
        world.succeeds(pipeline).await;
        world.sql("delete from content.long where note <= 2").await;
        // The repair waits for its turn, and meanwhile the rows come back.
        let mut held = world.db.admin().begin().await.unwrap();
        sqlx::query("select from etl.etl_pipelines for no key update").execute(&mut *held).await.unwrap();
        let report = world.ask(pipeline, &ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All }).await;
        let waiting =
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        eventually("the wait", || async {
            assert_eq!(world.find_report(report).await.error, None);
            (world.number(waiting).await > 0).then_some(())
        })
        .await;
        world.sql(some).await;
        held.commit().await.unwrap();
        let found = world.result(report).await;
        assert_eq!((&found["extra"], &found["repaired"]["removed"]), (&json!(2), &json!(0)), "{key}: {found}");
        assert_eq!(corner.documents().await.len(), 10, "{key}");
        // Those that are really gone are found by the same look.
        world.sql("delete from content.long where note <= 2").await;
        let found = world.report(pipeline, &ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All }).await;
        assert_eq!(found["repaired"]["removed"], json!(2), "{key}: {found}");
        assert_eq!(corner.documents().await.len(), 8, "{key}");
    }
}
