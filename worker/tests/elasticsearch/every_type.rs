//! Every type of the server, an array of it, a domain over it and NULL, in an index: it arrives equal, or is refused.

use futures_util::{StreamExt, stream};
use serde_json::Value;
use sqlx::AssertSqlSafe;
use vitrina_shared::domain::{
    Mode, ReportRequest,
    report::{Depth, Repair},
};

use crate::{
    samples::{Sample, refusal, samples},
    support::{Corner, World},
    world::draft,
};

/// Keys that are tried at the same time.
const TOGETHER: usize = 3;

/// Whether an index takes the value: number and date fields refuse these, with a row error that the documents speak of.
fn is_taken(value: &str) -> bool {
    !["NaN", "nfinity", "BC"].iter().any(|word| value.contains(word))
}

/// One table with all of them: a column of each type, one of its arrays and one of a domain over it.
async fn create_all(world: &World, samples: &[Sample]) {
    let columns = |sample: &Sample| {
        let (slug, of, arrays) = (sample.slug(), &sample.type_name, &sample.array_type);
        format!(", v_{slug} {of}, l_{slug} {arrays}, d_{slug} content.d_{slug}")
    };
    for sample in samples {
        world.sql(&format!("create domain content.d_{} as {}", sample.slug(), sample.type_name)).await;
    }
    let columns: String = samples.iter().map(columns).collect();
    world.sql(&format!("create table content.all_types (id integer primary key, modified timestamptz not null default now(){columns})")).await;
    world.sql("insert into content.all_types (id) select n from generate_series(0, 8) n").await;
    for sample in samples {
        let slug = sample.slug();
        for (place, (value, literal)) in
            sample.values.iter().zip(sample.literals()).enumerate().filter(|(_, (value, _))| is_taken(value))
        {
            let (id, array) = (place + 1, sample.array(value));
            world.sql(&format!("update content.all_types set v_{slug} = {literal}, l_{slug} = {array}, d_{slug} = {literal} where id = {id}")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_arrives_equal_in_an_index() {
    let Some(corner) = Corner::new() else { return };
    let mut world = World::new().await;
    world.start_worker(&[("ELASTICSEARCH_URL", &corner.node)]);
    let samples = samples(&world).await;
    create_all(&world, &samples).await;
    let target = format!("es:{}", corner.name);
    world.sql(&format!("insert into etl.etl_targets (target, key) values ('{target}', '{{id}}')")).await;
    let query = "select * from content.all_types";
    for mode in [Mode::Full, Mode::Incremental] {
        let draft = draft(mode.as_str(), mode, query, &target, 4);
        assert_eq!(refusal(&world, &draft).await, None);
        let pipeline = world.pipeline(&draft).await;
        world.succeeds(pipeline).await;
        let rows: Vec<(String, String)> =
            sqlx::query_as("select id::text, row_to_json(t)::text from content.all_types t")
                .fetch_all(world.db.admin())
                .await
                .unwrap();
        let documents = corner.documents().await;
        for (id, row) in rows {
            let (row, document): (Value, _) = (serde_json::from_str(&row).unwrap(), &documents[&id]);
            for (column, value) in row.as_object().unwrap() {
                assert_eq!(&document[column], value, "{column} of row {id}");
            }
        }
        let compare = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Nothing };
        let found = world.report(pipeline, &compare).await;
        assert_eq!(found["verdict"], "match", "{found}");
        world.sql("update content.all_types set modified = now()").await;
    }
}

/// Takes rows to an index by a key of this type.
async fn key(world: &World, corner: &Corner, sample: &Sample) {
    let slug = sample.slug();
    let target = format!("es:{}-{slug}", corner.name);
    world
        .sql(&format!(
            "create table content.k_{slug} (k {} not null, note integer);
             insert into etl.etl_targets (target, key) values ('{target}', '{{k}}')",
            sample.type_name
        ))
        .await;
    let draft = draft(&format!("k_{slug}"), Mode::Full, &format!("select k, note from content.k_{slug}"), &target, 1);
    if let Some(sentence) = refusal(world, &draft).await {
        assert!(sentence.contains("`k`") && sentence.len() > 60, "{}: {sentence}", sample.type_name);
        return;
    }
    let mut rows = 0;
    for literal in sample.distinct(world).await.iter().filter(|literal| is_taken(literal) && !literal.starts_with("''"))
    {
        world.sql(&format!("insert into content.k_{slug} values ({literal}, {rows})")).await;
        rows += 1;
    }
    let pipeline = world.pipeline(&draft).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, rows, "{}", sample.type_name);
    let compare = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Nothing };
    let found = world.report(pipeline, &compare).await;
    assert_eq!((&found["verdict"], found["target_rows"].as_i64()), (&"match".into(), Some(rows)), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_is_the_key_of_an_index_or_is_refused_with_a_sentence() {
    let Some(corner) = Corner::new() else { return };
    let mut world = World::new().await;
    world.start_worker(&[("ELASTICSEARCH_URL", &corner.node)]);
    let samples = samples(&world).await;
    let tried = stream::iter(samples.iter().filter(|sample| !sample.values.is_empty()));
    tried.map(|sample| key(&world, &corner, sample)).buffer_unordered(TOGETHER).collect::<Vec<_>>().await;
    let indexed: i64 = sqlx::query_scalar(AssertSqlSafe("select count(*) from etl.etl_pipelines"))
        .fetch_one(world.db.admin())
        .await
        .unwrap();
    assert!(indexed > 30, "{indexed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_equal_and_read_differently_are_one_document() {
    let Some(corner) = Corner::new() else { return };
    let mut world = World::new().await;
    world.start_worker(&[("ELASTICSEARCH_URL", &corner.node)]);
    let compare = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Nothing };
    let keys = [("numeric", "1.0", "1.00", "1"), ("double precision", "0", "-0", "0"), ("real", "-0", "0", "0")];
    for (place, (of, old, new, id)) in keys.into_iter().enumerate() {
        let target = format!("es:{}-{place}", corner.name);
        world
            .sql(&format!(
                "create table content.equal_{place} (k {of} primary key, id serial, modified timestamptz not null default '2026-01-01');
                 insert into content.equal_{place} (k) values ('{old}'), ('0.1');
                 insert into etl.etl_targets (target, key) values ('{target}', '{{k}}')"
            ))
            .await;
        let query = format!("select k, id, modified from content.equal_{place}");
        let pipeline = world.pipeline(&draft(&format!("p{place}"), Mode::Incremental, &query, &target, 10)).await;
        world.succeeds(pipeline).await;
        let change = format!("update content.equal_{place} set k = '{new}', modified = '2026-02-01' where k = '{old}'");
        world.sql(&change).await;
        // Rows with the checkpoint's own key are read again.
        assert!(world.succeeds(pipeline).await.rows_read > 0, "{of}");
        let part = Corner { node: corner.node.clone(), name: format!("{}-{place}", corner.name) };
        let ids: Vec<String> = part.documents().await.into_keys().collect();
        assert_eq!(
            ids.iter().collect::<std::collections::BTreeSet<_>>(),
            [&"0.1".to_owned(), &id.to_owned()].into(),
            "{of}"
        );
        let found = world.report(pipeline, &compare).await;
        assert_eq!(found["verdict"], "match", "{of}: {found}");
    }
    for (place, of) in ["interval", "numeric[]", "numrange", "double precision[]"].into_iter().enumerate() {
        let slug = format!("refused_{place}");
        let target = format!("es:{}-{slug}", corner.name);
        world
            .sql(&format!(
                "create table content.{slug} (k {of} primary key);
                 insert into etl.etl_targets (target, key) values ('{target}', '{{k}}')"
            ))
            .await;
        let draft = draft(&slug, Mode::Full, &format!("select k from content.{slug}"), &target, 10);
        let refused = refusal(&world, &draft).await.unwrap_or_default();
        assert!(refused.contains("of which equal values read differently"), "{of}: {refused}");
    }
}
