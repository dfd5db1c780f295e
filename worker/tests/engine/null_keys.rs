//! Rows whose key is NULL: read first, or the run fails.

use vitrina_shared::domain::{ErrorClass, Mode, NullKeys};

use crate::{
    samples::refusal,
    support::{World, draft},
};

#[tokio::test(flavor = "multi_thread")]
async fn null_keys_fail_the_run_or_are_read_first() {
    let world = World::with_worker().await;
    world.sql("create table content.loose (id int not null, name text, modified timestamptz)").await;
    world.sql("insert into content.loose select n, 'n' || n, case when n > 25 then '2026-01-01'::timestamptz + n * interval '1 s' end
               from generate_series(1, 60) n").await;
    world.target("loose", "id int, name text, modified timestamptz", &["id"]).await;
    let query = "select id, name, modified from content.loose";
    let mut refusing = draft("refusing", Mode::Incremental, query, "analytics.loose", 10);
    refusing.options.null_keys = Some(NullKeys::Error);
    let refusing = world.pipeline(&refusing).await;
    let run = world.fails(refusing).await;
    assert_eq!(run.error_class, Some(ErrorClass::Fatal));
    let error = run.error.unwrap();
    assert!(error.contains("NULL") && error.contains("null_keys"), "{error}");
    assert_eq!(world.number("select count(*) from analytics.loose").await, 0);

    let mut first = draft("first", Mode::Incremental, query, "analytics.loose", 10);
    first.options.null_keys = Some(NullKeys::First);
    let first = world.pipeline(&first).await;
    assert_eq!(world.succeeds(first).await.rows_read, 60);
    world.assert_same(query, "analytics.loose").await;

    // They have no place after a checkpoint: every run reads them again, and writes those that changed.
    world.sql("insert into content.loose values (61, 'new', '2026-02-01'), (62, 'new', null); update content.loose set name = 'changed' where id = 3").await;
    let run = world.succeeds(first).await;
    assert_eq!((run.rows_read, run.rows_written), (27, 3));
    world.assert_same(query, "analytics.loose").await;
}

/// Every run would read the old version again, and not the new one.
#[tokio::test(flavor = "multi_thread")]
async fn null_keys_are_not_read_first_where_a_row_may_have_several_versions() {
    let world = World::with_worker().await;
    world.sql("create table content.version (id int not null, k int not null, name text, modified timestamptz)").await;
    world.sql("insert into content.version values (1, 1, 'old', null), (2, 1, 'new', '2026-01-01')").await;
    world.target("latest", "k int, name text", &["k"]).await;
    world.target("every", "id int, k int, name text", &["k", "id"]).await;
    let query = "select id, k, name, modified from content.version";
    let with = |null_keys, query: &str, target: &str| {
        let mut draft = draft("versions", Mode::Incremental, query, target, 10);
        draft.options.null_keys = Some(null_keys);
        draft
    };

    let first = with(NullKeys::First, query, "analytics.latest");
    let message = refusal(&world, &first).await.unwrap();
    assert!(message.starts_with("`first` needs `id`, the incremental_id_key, in the key of the target"), "{message}");
    let pipeline = world.pipeline(&first).await;
    assert!(world.fails(pipeline).await.error.unwrap().starts_with("options.null_keys: `first` needs"));
    assert_eq!(world.number("select count(*) from analytics.latest").await, 0);

    let given = query.replace("name, modified", "name, coalesce(modified, '2025-01-01') as modified");
    for accepted in [
        with(NullKeys::First, query, "analytics.every"),
        with(NullKeys::Error, query, "analytics.latest"),
        with(NullKeys::Error, &given, "analytics.latest"),
    ] {
        assert_eq!(refusal(&world, &accepted).await, None, "{accepted:?}");
    }
}
