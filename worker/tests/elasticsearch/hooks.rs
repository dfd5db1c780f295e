//! Hooks of runs into an index: in the transactions that commit what became of its pages.

use vitrina_shared::{
    definitions::allow_function,
    domain::{Hooks, Mode},
};

use crate::films::Films;

#[tokio::test(flavor = "multi_thread")]
async fn batches_refused_documents_and_the_end_of_a_run_into_an_index_are_told_once() {
    let Some(mut films) = Films::new(50).await else { return };
    films
        .world
        .sql(
            "create schema shop; create table shop.calls (id bigint generated always as identity, event jsonb);
             create function shop.note(event jsonb) returns void language sql security definer
                 as 'insert into shop.calls (event) values (event)';
             update content.film set creation_date = 'infinity' where id = md5('7')::uuid",
        )
        .await;
    allow_function(&mut films.world.db.admin().acquire().await.unwrap(), "shop.note").await.unwrap();
    let mut draft = films.tolerant(Mode::Full, 20, 5);
    let note = || vec!["shop.note".to_owned()];
    draft.options.hooks =
        Hooks { after_batch: note(), on_success: note(), on_row_rejected: note(), ..Hooks::default() };
    films.start_worker();
    let pipeline = films.world.pipeline(&draft).await;
    let told = "select string_agg(event ->> 'event', ' ' order by event ->> 'event', id) from shop.calls";
    for expected in [
        "after_batch after_batch after_batch on_row_rejected on_success",
        // Its letter is open.
        "after_batch after_batch after_batch on_success",
    ] {
        films.world.sql("truncate shop.calls").await;
        assert_eq!(films.succeeds(pipeline).await.rows_rejected, 1);
        assert_eq!(films.world.text(told).await.as_deref(), Some(expected));
    }
    assert_eq!(films.corner.documents().await.len(), 49);
}
