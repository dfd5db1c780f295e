//! Steps on the way into an index.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vitrina_shared::domain::{Mode, Task, TaskKind};

use crate::{
    films::{FILMS, Films},
    scripted::{Seen, scripted},
    world::{STEPS_IN_PYTHON, in_python},
};

const NAMES: &str = "select id as film_id, title as name, modified from content.film";

/// Films with a worker that has the scripted step.
async fn films(count: i64) -> Option<(Films, Seen)> {
    let mut films = Films::new(count).await?;
    let seen = Seen::by(films.world.db.pool().clone());
    films.world.steps = seen.registry();
    films.start_worker();
    Some((films, seen))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_is_not_pure_gets_no_page_before_the_last_one_is_committed() {
    let Some((films, seen)) = films(200).await else { return };
    let draft = scripted(films.draft_of(Mode::Incremental, NAMES, 20), json!({"does": "nothing"}));
    let pipeline = films.world.pipeline(&draft).await;
    films.succeeds(pipeline).await;
    let committed: Vec<i64> = seen.executions().iter().map(|execution| execution.committed).collect();
    assert!(committed.len() > 5, "several pages: {committed:?}");
    assert_eq!(committed, (0..committed.len() as i64).collect::<Vec<_>>());
    let documents = films.corner.documents().await;
    assert_eq!(documents.len(), 200);
    assert!(
        documents.values().all(|document| document["name"].as_str().is_some_and(|name| name == name.to_uppercase()))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_a_step_drops_is_not_in_the_index_after_a_full_run() {
    let Some((films, _)) = films(50).await else { return };
    let options = json!({"pure": true, "drops": true, "does": "leave_out"});
    let pipeline = films.world.pipeline(&scripted(films.draft_of(Mode::Full, NAMES, 20), options)).await;
    films.succeeds(pipeline).await;
    assert_eq!(films.corner.documents().await.len(), 50);
    films.world.sql("update content.film set title = 'bad' where id in (select id from content.film limit 7)").await;
    let run = films.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written, run.rows_removed), (50, 43, 7));
    assert_eq!(films.corner.documents().await.len(), 43);
}

/// The steps that every deployment has leave the documents that the same query in SQL would.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_through_three_steps_equals_the_same_rows_written_as_sql() {
    let Some(mut films) = Films::new(300).await else { return };
    films.start_worker();
    let query = "select id as film_id, title, rating, details, modified from content.film";
    let steps = [
        ("SQL", query, json!({})),
        ("RUST", "cast", json!({"columns": {"rating": "double precision"}})),
        (
            "RUST",
            "json_extract",
            json!({"column": "details", "columns": {"number": {"path": "/n", "type": "integer"}}}),
        ),
        ("RUST", "set", json!({"columns": {"label": {"expression": "string(number) + ': ' + title.substring(0, 4)"}}})),
        ("RUST", "select", json!({"keep": ["film_id", "rating", "label"]})),
    ];
    // The label uses a column that the same plan has made, and the steps leave out the walk's own column.
    let task = |(order_index, (kind, body, options)): (i32, (&str, &str, Value))| Task {
        order_index,
        task_type: if kind == "SQL" { TaskKind::Sql } else { TaskKind::Rust },
        body: body.to_owned(),
        target_table: None,
        options: options.as_object().unwrap().clone(),
    };
    let expected = "select json_object_agg(film_id, row_to_json(film)) from (
        select id as film_id, rating::double precision, (details ->> 'n') || ': ' || left(title, 4) as label from content.film) film";
    for mode in [Mode::Full, Mode::Incremental] {
        let mut draft = films.draft_of(mode, query, 70);
        draft.name = format!("{mode:?}");
        draft.source_query = None;
        draft.tasks = (1..).zip(steps.clone()).map(task).collect();
        let pipeline = films.world.pipeline(&draft).await;
        let first = films.succeeds(pipeline).await;
        let counted: Vec<_> = first.steps.iter().map(|step| (step.place, step.rows_in, step.rows_out)).collect();
        assert_eq!(
            counted,
            [2, 3, 4, 5].map(|place| (place, 300, 300)),
            "{mode:?}: pages are read ahead, and count once"
        );
        films
            .world
            .sql("update content.film set rating = 9.9, modified = now() where (details ->> 'n')::int % 9 = 0")
            .await;
        let changed = films.succeeds(pipeline).await;
        assert_eq!(mode == Mode::Incremental, changed.rows_read < 100, "{mode:?}");
        let expected = films.world.text(expected).await.unwrap();
        let expected: BTreeMap<String, Value> = serde_json::from_str(&expected).unwrap();
        let documents = films.corner.documents().await;
        assert_eq!(documents.len(), expected.len(), "{mode:?}");
        for (id, document) in documents {
            assert_eq!(Some(&document), expected.get(&id), "{mode:?}");
        }
        // It is a value of the reader's column, which no document has.
        let checkpoint = films.world.checkpoint(pipeline).await;
        assert_eq!(checkpoint.is_some(), mode == Mode::Incremental, "{mode:?}");
        if let Some((key, _)) = checkpoint {
            let newest = format!("select count(*) from content.film where modified >= '{key}'::timestamptz");
            assert_eq!(films.world.number(&newest).await, 33, "{mode:?}: the rows that were changed last");
        }
        films.world.sql(&format!("update etl.etl_pipelines set enabled = false where id = '{pipeline}'")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_through_a_step_in_python_equals_the_same_index_written_as_sql() {
    let Some(mut films) = Films::new(200).await else { return };
    let node = films.corner.node.clone();
    films.world.start_worker(&[("ELASTICSEARCH_URL", &node), ("VITRINA_PYTHON_PATH", STEPS_IN_PYTHON)]);
    let expected = "select id as film_id, upper(title) as title, rating, creation_date, genres || array['new', null] as genres, \
                    modified, length(title) as length from content.film";
    let pipeline =
        films.world.pipeline(&in_python(films.draft_of(Mode::Full, FILMS, 70), "film_words", json!({}))).await;
    let run = films.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written, run.attempts), (200, 200, 0));
    films.assert_same(expected).await;
}
