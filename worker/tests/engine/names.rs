//! Columns that have the names which our own statements use for relations and columns.

use serde_json::{Value, json};
use vitrina_shared::domain::{
    FullStrategy, Mode, OnRowError, PipelineDraft, PipelineId, ReportRequest, Task, TaskKind,
    report::{Depth, Repair},
};

use crate::support::{World, draft};

/// Every alias of the statements that are built around a user's columns, but for the three that the pipelines walk by.
const NAMES: &[&str] = &[
    "arrived",
    "bucket",
    "buckets",
    "bytes",
    "c",
    "columns",
    "counted",
    "current",
    "d",
    "differs",
    "doc",
    "documents",
    "error",
    "excluded",
    "extra",
    "first",
    "flying",
    "found",
    "fresh",
    "gathered",
    "gone",
    "greatest",
    "h",
    "here",
    "id",
    "in_target",
    "k0",
    "k1",
    "k2",
    "key",
    "key0",
    "kind",
    "last",
    "least",
    "letter",
    "listed",
    "measured",
    "more",
    "n",
    "newest",
    "pair",
    "place",
    "query",
    "row",
    "row_to_json",
    "rows",
    "s",
    "same",
    "settled",
    "t",
    "target",
    "v0",
    "v1",
    "value",
    "version",
    "w",
    "w0",
    "wanted",
    "whole",
    "written",
];
const QUERY: &str = "select * from content.names";

/// A source and a mart with all those columns. The key is called `source`; pipelines walk by `page` and `source`.
async fn named() -> World {
    let world = World::with_worker().await;
    let texts: String = NAMES.iter().map(|name| format!(", \"{name}\" text not null")).collect();
    let columns = format!("source bigint not null, page timestamptz not null{texts}");
    world.sql(&format!("create table content.names ({columns}, primary key (source))")).await;
    world.target("names", &format!("{columns}, check (length(doc) <= 10)"), &["source"]).await;
    // A mask leaves asterisks as they are.
    let values: String =
        NAMES.iter().map(|name| if *name == "whole" { ", '***'" } else { ", 'value ' || n" }).collect();
    world
        .sql(&format!(
            "insert into content.names
             select n, '2026-01-01'::timestamptz + n * interval '1 s'{values} from generate_series(1, 50) n"
        ))
        .await;
    world
}

fn pipeline(name: &str, mode: Mode) -> PipelineDraft {
    let mut draft = draft(name, mode, QUERY, "analytics.names", 20);
    if mode == Mode::Incremental {
        draft.incremental_key = Some("page".to_owned());
        draft.incremental_id_key = Some("source".to_owned());
    }
    draft
}

/// The same with rows that pass through the worker.
fn streamed(name: &str, mode: Mode) -> PipelineDraft {
    let mut draft = pipeline(name, mode);
    draft.source_query = None;
    let step = |order_index, task_type, body: &str, options: Value| {
        let Value::Object(options) = options else { panic!("options are an object") };
        Task { order_index, task_type, body: body.to_owned(), target_table: None, options }
    };
    draft.tasks =
        vec![step(1, TaskKind::Sql, QUERY, json!({})), step(2, TaskKind::Rust, "mask", json!({"columns": ["whole"]}))];
    draft
}

async fn reconcile(world: &World, pipeline: PipelineId, depth: Depth, repair: Repair) -> Value {
    world.report(pipeline, &ReportRequest::Reconcile { depth, repair }).await
}

/// Fills the mart, changes the source and the mart, and has every kind of report made.
async fn goes_through(world: &World, draft: &PipelineDraft) {
    let name = &draft.name;
    world.sql("truncate analytics.names").await;
    let pipeline = world.pipeline(draft).await;
    let preview = world.report(pipeline, &ReportRequest::preview(5)).await;
    assert_eq!(preview["rows"].as_array().unwrap().len(), 5, "{name}: {preview}");
    assert_eq!((&preview["rows"][0]["source"], &preview["rows"][0]["first"]), (&json!(1), &json!("value 1")), "{name}");
    assert_eq!(world.succeeds(pipeline).await.rows_written, 50, "{name}");
    world.assert_same(QUERY, "analytics.names").await;

    world.sql("update content.names set fresh = fresh || '!', page = now() where source in (7, 17)").await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 2, "{name}");
    world.assert_same(QUERY, "analytics.names").await;

    world
        .sql("update analytics.names set gone = 'x' where source = 8; delete from analytics.names where source = 9")
        .await;
    // Rows that a transform changes are not compared on the server.
    let compared = draft.tasks.is_empty();
    let depths: &[Depth] =
        if compared { &[Depth::Counts, Depth::Keys, Depth::Rows] } else { &[Depth::Counts, Depth::Keys] };
    for depth in depths {
        let found = reconcile(world, pipeline, *depth, Repair::Nothing).await;
        assert_eq!(found["verdict"], "drift", "{name} {depth}: {found}");
    }
    if !compared {
        return;
    }
    let repaired = reconcile(world, pipeline, Depth::Rows, Repair::All).await;
    assert_eq!(repaired["repaired"], json!({"written": 2, "removed": 0}), "{name}");
    for depth in [Depth::Counts, Depth::Keys, Depth::Rows] {
        let found = reconcile(world, pipeline, depth, Repair::Nothing).await;
        assert_eq!(found["verdict"], "match", "{name} {depth}: {found}");
    }
    world.assert_same(QUERY, "analytics.names").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_may_have_the_names_that_our_statements_use() {
    let world = named().await;
    goes_through(&world, &pipeline("full", Mode::Full)).await;
    goes_through(&world, &pipeline("incremental", Mode::Incremental)).await;
    let mut swapped = pipeline("swapped", Mode::Full);
    swapped.options.full_strategy = Some(FullStrategy::Swap);
    goes_through(&world, &swapped).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_may_those_of_rows_that_pass_through_the_worker() {
    let world = named().await;
    goes_through(&world, &streamed("full", Mode::Full)).await;
    goes_through(&world, &streamed("incremental", Mode::Incremental)).await;
    let mut swapped = streamed("swapped", Mode::Full);
    swapped.options.full_strategy = Some(FullStrategy::Swap);
    goes_through(&world, &swapped).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_may_those_of_rows_that_are_put_aside_and_tried_again() {
    let world = named().await;
    let putting_aside = |mut draft: PipelineDraft| {
        draft.options.on_row_error = Some(OnRowError::DeadLetter);
        draft
    };
    for draft in [pipeline("pushed", Mode::Incremental), streamed("streamed", Mode::Full)].map(putting_aside) {
        world
            .sql("truncate analytics.names; update content.names set doc = 'much too long' where source in (3, 4)")
            .await;
        let pipeline = world.pipeline(&draft).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_rejected, run.rows_written), (2, 48), "{}", draft.name);
        world.sql("update content.names set doc = 'short' where source = 3").await;
        let replayed = world.report(pipeline, &ReportRequest::Replay { ids: None }).await;
        assert_eq!((&replayed["written"], &replayed["refused"]), (&json!(1), &json!(1)), "{}: {replayed}", draft.name);
        world.sql("update content.names set doc = 'short'").await;
        let replayed = world.report(pipeline, &ReportRequest::Replay { ids: None }).await;
        assert_eq!(replayed["left"], 0, "{}: {replayed}", draft.name);
    }
}
