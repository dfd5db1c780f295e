//! A checkpoint belongs to one very index. Whatever becomes of that, no row is missing after the next run.

use serde_json::{Value, json};
use vitrina_shared::domain::{
    ErrorClass, Mode, PipelineId, ReportRequest, ReportStatus, RunStatus, Status,
    report::{Depth, Repair},
};

use crate::{
    films::{FILMS, Films},
    node::Node,
    support::Corner,
};

const MANY: i64 = 300;

/// Films in an index, by a run that ended well.
async fn filled() -> Option<(Films, PipelineId)> {
    let films = Films::new(MANY).await?;
    let (films, pipeline) = fill(films).await;
    films.add(MANY + 1, MANY + 10).await;
    Some((films, pipeline))
}

async fn fill(mut films: Films) -> (Films, PipelineId) {
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 100)).await;
    films.succeeds(pipeline).await;
    (films, pipeline)
}

/// The next run reads everything, and says why.
async fn begins_anew(films: &Films, pipeline: PipelineId) {
    let run = films.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.checkpoint_from), (MANY + 10, None), "everything and not only what is new");
    films.assert_same(FILMS).await;
    let reason = "select reason from etl.etl_transitions where to_status = 'RUNNING' order by id desc limit 1";
    assert!(films.world.text(reason).await.unwrap().contains("at the first row"));
    let next = films.succeeds(pipeline).await;
    assert_eq!(next.rows_read, 0, "from now on the checkpoint is of this index");
}

impl Films {
    /// Removes all documents, as everyone sees.
    async fn empty(&self) {
        for id in self.corner.documents().await.into_keys() {
            self.corner.put(reqwest::Method::DELETE, &format!("{}/_doc/{id}", self.corner.name), &Value::Null).await;
        }
        assert_eq!(self.corner.documents().await.len(), 0);
    }

    /// The one physical index behind the name.
    async fn serving(&self) -> String {
        let all = self.corner.physical().await;
        all.into_iter().find(|(_, aliases)| aliases.contains(&self.corner.name)).unwrap().0
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_gone_is_filled_from_the_first_row() {
    let Some((films, pipeline)) = filled().await else { return };
    films.corner.put(reqwest::Method::DELETE, &films.serving().await, &Value::Null).await;
    begins_anew(&films, pipeline).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_its_alias_is_filled_anew_and_the_old_one_is_left_alone() {
    let Some((films, pipeline)) = filled().await else { return };
    let old = films.serving().await;
    let take = json!({"actions": [{"remove": {"index": old, "alias": films.corner.name}}]});
    films.corner.put(reqwest::Method::POST, "_aliases", &take).await;
    begins_anew(&films, pipeline).await;
    assert!(films.corner.physical().await.contains(&(old, vec![])));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_emptied_is_filled_from_the_first_row() {
    let Some((films, pipeline)) = filled().await else { return };
    films.empty().await;
    begins_anew(&films, pipeline).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_pipeline_of_an_index_that_was_emptied_begins_at_the_first_row_whoever_writes_first() {
    let Some(mut films) = Films::new(MANY).await else { return };
    films.start_worker();
    let mut pipelines = Vec::new();
    for (name, part) in [("low", "rating < 5"), ("high", "rating >= 5")] {
        let mut draft = films.draft_of(Mode::Incremental, &format!("{FILMS} where {part}"), 100);
        draft.name = name.to_owned();
        let pipeline = films.world.pipeline(&draft).await;
        films.succeeds(pipeline).await;
        pipelines.push(pipeline);
    }
    films.assert_same(FILMS).await;
    films.empty().await;
    for pipeline in &pipelines {
        assert!(films.succeeds(*pipeline).await.rows_read > 0);
    }
    films.assert_same(FILMS).await;
    // One that was never there before notices it for the others.
    films.empty().await;
    let mut draft = films.draft_of(Mode::Incremental, &format!("{FILMS} where rating < 1"), 100);
    draft.name = "new".to_owned();
    let new = films.world.pipeline(&draft).await;
    for pipeline in [new, pipelines[0], pipelines[1]] {
        assert!(films.succeeds(pipeline).await.rows_read > 0);
    }
    films.assert_same(FILMS).await;
    for pipeline in pipelines {
        assert_eq!(films.succeeds(pipeline).await.rows_read, 0, "from now on the checkpoints are of this index");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_replayed_or_repaired_in_an_index_that_was_emptied_before_a_run_has_filled_it() {
    let Some((films, pipeline)) = filled().await else { return };
    let letter = format!(
        "insert into etl.etl_dead_letters (pipeline_id, run_id, batch, key, row, error, error_class)
         values ('{pipeline}', '{pipeline}', 0, jsonb_build_object('film_id', md5('3')::uuid), '{{}}', 'x', 'Row')"
    );
    films.world.sql(&letter).await;
    films.empty().await;
    let replay = ReportRequest::Replay { ids: None };
    let repair = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Differing };
    for request in [&replay, &repair] {
        let report = films.world.ask(pipeline, request).await;
        let report = films.world.reported(report).await;
        assert_eq!(report.status, ReportStatus::Failed);
        let error = report.error.unwrap();
        assert!(error.contains("from the first row"), "{error}");
    }
    assert_eq!(films.corner.documents().await.len(), 0);
    begins_anew(&films, pipeline).await;
    assert_eq!(films.world.report(pipeline, &replay).await["letters"][0]["outcome"], "unchanged");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_somebody_exchanged_is_filled_from_the_first_row() {
    let Some((films, pipeline)) = filled().await else { return };
    let old = films.serving().await;
    let other = format!("{}-other", films.corner.name);
    let found = films.corner.ask(&old).await;
    let document = found[&old]["mappings"].clone();
    films.corner.put(reqwest::Method::PUT, &other, &json!({"mappings": document})).await;
    // One of its documents is there, as in a copy of yesterday.
    let id = films.world.text("select md5('1')::uuid").await.unwrap();
    let stale = json!({"film_id": id, "title": "of yesterday"});
    films.corner.put(reqwest::Method::PUT, &format!("{other}/_doc/{id}"), &stale).await;
    let exchange = json!({"actions": [
        {"remove": {"index": old, "alias": films.corner.name}}, {"add": {"index": other, "alias": films.corner.name}}
    ]});
    films.corner.put(reqwest::Method::POST, "_aliases", &exchange).await;
    begins_anew(&films, pipeline).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_is_filled_from_the_first_row() {
    let Some((mut films, pipeline)) = filled().await else { return };
    let Some(node) = tokio::task::block_in_place(Node::start) else { return };
    films.world.stop_workers().await;
    let theirs = Corner { node: node.url(), name: films.corner.name.clone() };
    let ours = std::mem::replace(&mut films.corner, theirs);
    films.start_worker();
    begins_anew(&films, pipeline).await;
    // And back: what came in between is not there.
    films.world.stop_workers().await;
    let theirs = std::mem::replace(&mut films.corner, ours);
    films.start_worker();
    begins_anew(&films, pipeline).await;
    drop(theirs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_wants_the_index_that_it_began_with() {
    for mode in [Mode::Incremental, Mode::Full] {
        let Some(mut films) = Films::new(2_000).await else { return };
        films.start_worker();
        let pipeline = films.world.pipeline(&films.draft(mode, 20)).await;
        let run = films.world.run(pipeline).await;
        films.progresses(run, 2).await;
        films.world.pause(pipeline).await.unwrap();
        films.world.reaches(pipeline, Status::Paused).await;
        for (index, _) in films.corner.physical().await {
            films.corner.put(reqwest::Method::DELETE, &index, &Value::Null).await;
        }
        assert_eq!(films.world.run(pipeline).await, run, "it goes on");
        let run = films.ended(run).await;
        assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)), "{mode:?}");
        let error = run.error.unwrap();
        assert!(error.to_lowercase().contains("run the pipeline again"), "{error}");
        assert_eq!(films.corner.physical().await, [], "{mode:?}: nothing was begun");
        assert_eq!(films.succeeds(pipeline).await.rows_read, 2_000);
        films.assert_same(FILMS).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_restored_from_a_snapshot_is_filled_from_the_first_row() {
    let Some(_) = Corner::new() else { return };
    let Some(node) = tokio::task::block_in_place(Node::start) else { return };
    let films = Films::at(Corner::at(node.url()), MANY, json!({"replicas": 0})).await;
    let (films, pipeline) = fill(films).await;
    let index = films.serving().await;
    let put = |path: &'static str, body: Value| {
        let corner = &films.corner;
        async move { corner.put(reqwest::Method::PUT, path, &body).await }
    };
    put("_snapshot/backup", json!({"type": "fs", "settings": {"location": "backup"}})).await;
    put("_snapshot/backup/one?wait_for_completion=true", json!({"indices": index})).await;
    films.add(MANY + 1, MANY + 10).await;
    assert_eq!(films.succeeds(pipeline).await.rows_read, 10);
    // Restored in its place: the server gives it no other id.
    films.corner.put(reqwest::Method::POST, &format!("{index}/_close"), &Value::Null).await;
    let restore = "_snapshot/backup/one/_restore?wait_for_completion=true";
    films.corner.put(reqwest::Method::POST, restore, &json!({"indices": index})).await;
    assert_eq!(films.corner.documents().await.len(), usize::try_from(MANY).unwrap());
    begins_anew(&films, pipeline).await;
}
