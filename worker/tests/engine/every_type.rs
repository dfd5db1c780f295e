//! Every type of the server, an array of it, a domain over it and NULL: it arrives equal, or the pipeline is refused.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use serde_json::json;
use sqlx::AssertSqlSafe;
use vitrina_shared::domain::{
    Mode, ReportRequest,
    report::{Depth, Repair},
};

use crate::{
    samples::{Sample, create_values, refusal, samples, with_mask},
    support::{World, draft},
};

/// Types that are tried at the same time.
const TOGETHER: usize = 3;

/// Types that can be no key, besides those that no unique index takes.
const NO_KEYS: &[&str] = &[
    "aclitem",
    "apalis.hstore",
    "cid",
    "content.folded",
    "content.place",
    "gtsvector",
    "int2vector",
    "jsonb",
    "oidvector",
    "pg_snapshot",
    "public.citext",
    "public.ltree",
    "regclass",
    "regcollation",
    "regconfig",
    "regdatabase",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
    "tid",
    "tsquery",
    "tsvector",
    "txid_snapshot",
    "xid8",
];

/// Gives every row the values of the next one.
async fn rotate(world: &World, slug: &str) {
    world
        .sql(&format!(
            "with r as materialized (select *, count(*) over () as rows from content.c_{slug})
             update content.c_{slug} c set v = r.v, l = r.l, d = r.d from r where r.id = (c.id + 1) % r.rows"
        ))
        .await;
}

/// Takes the values of a type to a mart, and each in the place of another.
async fn column(world: &World, sample: &Sample) {
    let slug = create_values(world, sample).await;
    let Sample { type_name, array_type, .. } = sample;
    let columns = format!("id integer, v {type_name}, l {array_type}, d content.d_{slug}, note text");
    world.target(&format!("c_{slug}"), &columns, &["id"]).await;
    let query = format!("select id, v, l, d, note from content.c_{slug}");
    let texts = r#"id, v::text collate "C", l::text collate "C", d::text collate "C""#;
    let source = format!("select {texts} from content.c_{slug}");
    let mart = format!("(select {texts} from analytics.c_{slug}) as w");
    let rows = i64::try_from(sample.values.len()).unwrap() + 1;
    for pushed_down in [true, false] {
        let name = format!("c_{slug}_{}", if pushed_down { "pushdown" } else { "transform" });
        let plain = draft(&name, Mode::Full, &query, &format!("analytics.c_{slug}"), 2);
        let draft = if pushed_down { plain } else { with_mask(plain) };
        let refused = refusal(world, &draft).await;
        assert_eq!(refused, None, "{} as a column", sample.type_name);
        world.sql(&format!("truncate analytics.c_{slug}")).await;
        let pipeline = world.pipeline(&draft).await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, rows, "{name}");
        world.assert_same(&source, &mart).await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 0, "{name}: nothing changed");

        rotate(world, &slug).await;
        let (changed, _) = world.differences(&source, &mart).await;
        assert!(changed == rows || rows == 1, "{name}: every sample reads otherwise than the next");
        if pushed_down {
            let compare = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Nothing };
            let found = world.report(pipeline, &compare).await;
            assert_eq!((found["different"].as_i64(), &found["note"]), (Some(changed), &json!(null)), "{name}: {found}");
        }
        assert_eq!(world.succeeds(pipeline).await.rows_written, changed, "{name}: what changed is written");
        world.assert_same(&source, &mart).await;
        if pushed_down {
            let repair = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Differing };
            assert_eq!(world.report(pipeline, &repair).await["verdict"], "match", "{name}");
            rotate(world, &slug).await;
            assert_eq!(world.report(pipeline, &repair).await["repaired"]["written"], changed, "{name}");
            world.assert_same(&source, &mart).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_arrives_equal_in_a_mart_and_every_change_of_it_is_seen() {
    let world = World::with_worker().await;
    let samples = samples(&world).await;
    assert!(samples.len() > 80, "{}", samples.len());
    stream::iter(&samples).map(|sample| column(&world, sample)).buffer_unordered(TOGETHER).collect::<Vec<_>>().await;
    world.assert_no_litter().await;
}

/// Takes rows to a mart by a key of this type, and removes one of them. Returns the forms in which it can be no key.
async fn key(world: &World, sample: &Sample) -> BTreeSet<&'static str> {
    let slug = sample.slug();
    world.sql(&format!("create domain content.k_{slug} as {}", sample.type_name)).await;
    let mut refused = BTreeSet::new();
    let forms = [
        ("plain", sample.type_name.clone()),
        ("array", format!("{}[]", sample.type_name)),
        ("domain", format!("content.k_{slug}")),
    ];
    for (form, of) in forms {
        if sample.values.is_empty() || form == "array" && sample.type_name.ends_with("[]") {
            continue;
        }
        let table = format!("k_{slug}_{form}");
        world.sql(&format!("create table content.{table} (k {of} not null, note integer)")).await;
        let mart = format!(
            "create table analytics.{table} (k {of} not null, note integer, unique (k));
             insert into etl.etl_targets (target, key) values ('analytics.{table}', '{{k}}')"
        );
        if sqlx::raw_sql(AssertSqlSafe(mart)).execute(world.db.admin()).await.is_err() {
            refused.insert(form);
            continue;
        }
        let query = format!("select k, note from content.{table}");
        let size = if form == "plain" { 1 } else { 2 };
        let draft = draft(&table, Mode::Full, &query, &format!("analytics.{table}"), size);
        if let Some(sentence) = refusal(world, &draft).await {
            assert!(sentence.contains("`k`") && sentence.len() > 60, "{of}: {sentence}");
            refused.insert(form);
            continue;
        }
        for (place, literal) in sample.distinct(world).await.iter().enumerate() {
            let value = if form == "array" { format!("array[{literal}]") } else { literal.clone() };
            world.sql(&format!("insert into content.{table} values ({value}, {place})")).await;
        }
        let source = format!("select k::text, note from content.{table}");
        let written = format!("(select k::text, note from analytics.{table}) as w");
        let pipeline = world.pipeline(&draft).await;
        world.succeeds(pipeline).await;
        world.assert_same(&source, &written).await;
        world
            .sql(&format!("delete from content.{table} where note = 1; update content.{table} set note = note + 10"))
            .await;
        world.succeeds(pipeline).await;
        world.assert_same(&source, &written).await;
    }
    refused
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_is_a_key_by_which_no_row_is_skipped_or_is_refused_with_a_sentence() {
    let world = World::with_worker().await;
    let samples = samples(&world).await;
    let world = &world;
    let tried = stream::iter(&samples).map(|sample| async move { (sample, key(world, sample).await) });
    for (sample, refused) in tried.buffer_unordered(TOGETHER).collect::<Vec<_>>().await {
        if refused.contains("plain") {
            let orderless = "select not exists (select from pg_opclass where opcmethod = 403 and opcdefault and opcintype = $1::regtype)";
            let orderless: bool =
                sqlx::query_scalar(orderless).bind(&sample.type_name).fetch_one(world.db.admin()).await.unwrap();
            assert!(orderless || NO_KEYS.contains(&sample.type_name.as_str()), "{} can be no key", sample.type_name);
            assert!(refused.contains("domain"), "{}: a domain over what can be no key", sample.type_name);
        } else {
            assert!(!NO_KEYS.contains(&sample.type_name.as_str()) || sample.values.is_empty(), "{}", sample.type_name);
            // The operators of enums do not take domains.
            let expected =
                if sample.type_name == "content.mood" { BTreeSet::from(["domain"]) } else { BTreeSet::new() };
            assert_eq!(refused, expected, "{}", sample.type_name);
        }
    }
}
