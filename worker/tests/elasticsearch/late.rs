//! Late commits over every kind of key into indexes: nothing is lost.

use std::collections::BTreeMap;

use serde_json::Value;
use vitrina_shared::domain::{KeyOrder, Mode, PipelineId, RunStatus};

use crate::{
    storm::{self, ACCEPTED, SEQUENCES, Source},
    support::Corner,
    world::{World, draft},
};

/// A source, its index and the pipeline between them.
struct Case {
    source: &'static Source,
    corner: Corner,
    pipeline: PipelineId,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_that_is_accepted_finds_every_row_of_a_storm_of_late_commits() {
    let mut world = World::new().await;
    world.sql(SEQUENCES).await;
    let mut cases = Vec::new();
    for source in ACCEPTED {
        let Some(corner) = Corner::new() else { return };
        world.sql(&source.ddl()).await;
        let target = format!("es:{}", corner.name);
        world.sql(&format!("insert into etl.etl_targets (target, key) values ('{target}', '{{id}}')")).await;
        let mut draft = draft(source.table, Mode::Incremental, &source.query(), &target, 40);
        draft.incremental_key = Some("k".to_owned());
        draft.options.key_order = source.answered_for.then_some(KeyOrder::Commit);
        cases.push(Case { source, corner, pipeline: world.pipeline(&draft).await });
    }
    world.start_worker(&[("ELASTICSEARCH_URL", &cases[0].corner.node), ("VITRINA_CONCURRENCY", "8")]);
    let strangers = world.strangers(20);
    let mut storm = storm::begin(&strangers, ACCEPTED, 20);
    while !storm.is_empty() {
        run_all(&world, &cases).await;
        while let Some(ended) = storm.try_join_next() {
            ended.unwrap();
        }
    }
    for _ in 0..2 {
        run_all(&world, &cases).await;
    }
    let mut lost = Vec::new();
    for case in &cases {
        let rows = rows(&world, case.source).await;
        assert!(rows.len() > 20, "{} rows are hardly a storm for {}", rows.len(), case.source.table);
        let documents = case.corner.documents().await;
        let name = |document: &Value| document["name"].as_str().unwrap_or_default().to_owned();
        let found: BTreeMap<_, _> = documents.iter().map(|(id, document)| (id.clone(), name(document))).collect();
        if rows != found {
            let missing = rows.iter().filter(|(id, name)| found.get(*id) != Some(name)).count();
            lost.push((case.source.table, rows.len(), missing));
        }
    }
    assert!(lost.is_empty(), "table, its rows, those that are missing or old in its index: {lost:?}");
}

/// The names of a source's rows, by id.
async fn rows(world: &World, source: &Source) -> BTreeMap<String, String> {
    let all = format!("select coalesce(json_object_agg(id, name), '{{}}') from content.{}", source.table);
    serde_json::from_str(&world.text(&all).await.unwrap()).unwrap()
}

/// Runs all pipelines once.
async fn run_all(world: &World, cases: &[Case]) {
    let mut runs = Vec::new();
    for case in cases {
        runs.push(world.run(case.pipeline).await);
    }
    for run in runs {
        let run = world.ended(run).await;
        assert_eq!(run.status, RunStatus::Success, "{}: {:?}", run.pipeline, run.error);
    }
}
