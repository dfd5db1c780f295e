//! Steps on the way into an index.

use serde_json::json;
use vitrina_shared::domain::Mode;

use crate::{
    films::Films,
    scripted::{Seen, scripted},
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
