//! Prepared transactions outlive their server, and the next one calls them otherwise.

use std::process::Command;

use vitrina_shared::domain::{Mode, PipelineId};

use crate::{
    cluster::Cluster,
    support::{ITEMS, World, draft, eventually, items},
};

/// Leaves a prepared transaction that executed a statement.
async fn prepare(world: &World, statement: &str) {
    world.sql(&format!("begin; {statement}; prepare transaction 'outlives'")).await;
}

fn restart(cluster: &Cluster) {
    cluster.down("fast");
    cluster.up();
}

/// Waits until the server answers, and the worker has its connections again.
async fn succeeds(world: &World, pipeline: PipelineId) {
    eventually("a server that answers", || async { sqlx::query("select").execute(world.db.pool()).await.ok() }).await;
    eventually("a superuser's session", || async { sqlx::query("select").execute(world.db.admin()).await.ok() }).await;
    world.succeeds(pipeline).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_prepared_transaction_that_outlived_two_servers_are_read() {
    let cluster = Cluster::start();
    let mut world = World::on(&cluster.url()).await;
    world.start_worker(&[]);
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    succeeds(&world, pipeline).await;
    prepare(&world, "insert into content.item (id, name) values (2, 'early')").await;
    for id in 3..6 {
        restart(&cluster);
        succeeds(&world, pipeline).await;
        world.sql(&format!("insert into content.item (id, name) values ({id}, 'n')")).await;
        succeeds(&world, pipeline).await;
        assert_eq!(world.number(&format!("select count(*) from analytics.item where id = {id}")).await, 1);
        assert_eq!(world.number("select count(*) from etl.etl_rereads").await, 1, "it is still open");
    }
    world.sql("commit prepared 'outlives'").await;
    succeeds(&world, pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(world.number("select count(*) from etl.etl_rereads").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_waiting_for_a_prepared_writer_that_outlived_its_server() {
    goes_on_waiting(async |cluster, _| restart(cluster)).await;
}

/// The server ends all sessions and recovers under the same postmaster.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_waiting_for_a_prepared_writer_that_outlived_a_crash() {
    goes_on_waiting(async |_, world| {
        let pid = world.number("select pg_backend_pid()::bigint").await;
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        assert!(killed.success());
        let recovered = "select count(*) from pg_locks where virtualtransaction like '-1/%'";
        eventually("a server that has recovered", || async {
            sqlx::query_scalar(recovered).fetch_one(world.db.admin()).await.ok().filter(|locks: &i64| *locks > 0)
        })
        .await;
    })
    .await;
}

async fn goes_on_waiting(crash: impl AsyncFnOnce(&Cluster, &World)) {
    let cluster = Cluster::start();
    let mut world = World::on(&cluster.url()).await;
    // No heartbeat fails meanwhile: a worker that starts anew would not know for whom it waited.
    world.start_worker(&[("VITRINA_HEARTBEAT_SECONDS", "15")]);
    world
        .sql("create table content.numbered (id bigint primary key, k bigint not null generated always as identity)")
        .await;
    world.target("numbered", "id bigint, k bigint", &["id"]).await;
    let query = "select id, k from content.numbered";
    let mut numbered = draft("numbered", Mode::Incremental, query, "analytics.numbered", 50);
    numbered.incremental_key = Some("k".to_owned());
    numbered.options.key_order = None;
    let pipeline = world.pipeline(&numbered).await;
    world.sql("insert into content.numbered values (3)").await;
    succeeds(&world, pipeline).await;
    prepare(&world, "insert into content.numbered values (1)").await;
    world.sql("insert into content.numbered values (2)").await;
    let run = world.run(pipeline).await;
    let waits = "select count(*) from apalis.jobs where status = 'Pending' and run_at > now()";
    eventually("a job that was given back", || async { (world.number(waits).await > 0).then_some(()) }).await;
    // The worker rests while the server is restarted, so it still knows for whom it waited.
    world.sql("update apalis.jobs set run_at = now() + interval '9 s' where status = 'Pending'").await;
    let rests = "select count(*) from apalis.jobs where status = 'Pending' and run_at < now() + interval '7.5 s'";
    eventually("a worker that rests", || async { (world.number(rests).await > 0).then_some(()) }).await;
    let until = world.text("select run_at from apalis.jobs where status = 'Pending'").await.unwrap();
    crash(&cluster, &world).await;
    eventually("a server that answers", || async { sqlx::query("select").execute(world.db.admin()).await.ok() }).await;
    let looked = format!("select count(*) from apalis.jobs where status = 'Pending' and run_at > '{until}'");
    eventually("a job that was given back again, or a run that did not wait", || async {
        (world.number(&looked).await > 0 || world.find(run).await.status.is_final()).then_some(())
    })
    .await;
    assert!(!world.find(run).await.status.is_final(), "the run did not wait");
    world.sql("commit prepared 'outlives'").await;
    world.succeeded(run).await;
    world.assert_same(query, "analytics.numbered").await;
}
