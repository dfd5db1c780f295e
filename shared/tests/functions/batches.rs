//! `etl.run_batch`, and what it refuses.

use sqlx::PgConnection;
use uuid::Uuid;
use vitrina_shared::testing::TestDatabase;

use crate::{failure, run, text};

/// A database with a run under way, held by a worker.
async fn under_way() -> (TestDatabase, Uuid) {
    let db = TestDatabase::create().await;
    let id = Uuid::now_v7();
    run(
        db.pool(),
        format!(
            "insert into etl.etl_pipelines (id, name, mode, source_query, target_table, status, incremental_key, incremental_id_key)
             values ('{id}', 'p', 'incremental', 'select 1', 'analytics.genre_dim', 'RUNNING', 'k', 'i');
             insert into etl.etl_runs (id, pipeline_id, mode, status, trigger, requested_by, correlation_id, inputs, started_at)
             values ('{id}', '{id}', 'incremental', 'RUNNING', 'API', 'test', 'test', '{{}}', now());
             insert into etl.etl_run_ranges (run_id, range_no, job_id) values ('{id}', 0, 'job 0');
             insert into apalis.workers (id, worker_type, storage_name) values ('worker', 'vitrina:batches', 'test');
             insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority, lock_by, lock_at)
             values ('job 0', 'vitrina:batches', '{{\"run\": 1}}', 'Running', 0, 1, now(), 0, 'worker', now())"
        ),
    )
    .await;
    (db, id)
}

/// A batch whose page says this, by a worker that goes on itself.
fn batch(id: Uuid, number: u32, page: &str) -> String {
    batch_before(id, number, page, "null")
}

/// A batch after which others go on by the job of this id, if any.
fn batch_before(id: Uuid, number: u32, page: &str, next_job: &str) -> String {
    batch_of(id, 0, number, page, next_job)
}

/// A batch of a range.
fn batch_of(id: Uuid, range: u32, number: u32, page: &str, next_job: &str) -> String {
    format!(
        "select (rows_read, rows_written, last, goes_on, run_rows_read)
         from etl.run_batch('{id}', {range}, {number}, 'job {range}', 'worker', 'select {page}', 10, false, {next_job})"
    )
}

const PAGE: &str = "3::bigint, 2::bigint, array[''key'', ''id''], true";
const LAST: &str = "1::bigint, 1::bigint, array[''later'', ''id''], false";

async fn state(connection: &mut PgConnection) -> String {
    let state = "select (select concat_ws(' ', r.rows_read, r.rows_written, r.batches) from etl.etl_runs r) || '; '
        || (select concat_ws(' ', g.next_batch, g.after, g.job_id, g.finished_at is not null) from etl.etl_run_ranges g) || '; '
        || coalesce((select concat_ws(' ', s.checkpoint_key, s.checkpoint_id, s.batch) from etl.etl_state s), 'none') || '; '
        || (select string_agg(concat_ws(' ', j.id, j.status), ', ' order by j.id) from apalis.jobs j)";
    text(connection, state).await
}

#[tokio::test]
async fn a_batch_moves_fence_counters_position_and_checkpoint_together_and_its_worker_keeps_the_job() {
    let (db, id) = under_way().await;
    let mut app = db.pool().acquire().await.unwrap();
    run(db.pool(), "update apalis.jobs set status = 'Queued'").await;
    assert_eq!(text(&mut app, batch(id, 0, PAGE)).await, r#"(3,2,"{key,id}",t,3)"#);
    assert_eq!(state(&mut app).await, "3 2 1; 1 {key,id} job 0 f; key id 0; job 0 Running");
    assert_eq!(text(&mut app, batch(id, 1, PAGE)).await, r#"(3,2,"{key,id}",t,6)"#);
    assert_eq!(text(&mut app, batch(id, 2, LAST)).await, r#"(1,1,"{later,id}",f,7)"#);
    assert_eq!(state(&mut app).await, "7 5 3; 3 {later,id} job 0 t; later id 2; job 0 Running");
}

#[tokio::test]
async fn a_batch_after_which_others_go_on_leaves_them_a_job() {
    let (db, id) = under_way().await;
    let mut app = db.pool().acquire().await.unwrap();
    text(&mut app, batch_before(id, 0, PAGE, "'job 1'")).await;
    assert_eq!(state(&mut app).await, "3 2 1; 1 {key,id} job 1 f; key id 0; job 0 Done, job 1 Pending");
    let next =
        "select convert_from(job, 'UTF8')::jsonb - 'queued_us' from apalis.jobs where id = 'job 1' and lock_by is null
        and run_at < now()";
    let payload = r#"{"run": 1, "lost": 0, "after": ["key", "id"], "batch": 1, "attempt": 0}"#;
    assert_eq!(text(&mut app, next).await, payload);
}

#[tokio::test]
async fn a_batch_waits_for_the_disk_if_another_worker_goes_on_or_it_has_effects_outside() {
    let asked = "select set_config('vitrina.wait_for_disk', 'on', true)";
    // A page that would decide by itself.
    let forged = "3::bigint, 2::bigint, array[set_config(''vitrina.wait_for_disk'', ''off'', true), ''id''], true";
    for (before, page, next_job, waits) in [
        ("select 1", PAGE, "null", "off"),
        ("select 1", PAGE, "'job 1'", "on"),
        (asked, PAGE, "null", "on"),
        (asked, forged, "null", "on"),
        // The status that follows waits.
        ("select 1", LAST, "'job 1'", "off"),
        (asked, LAST, "null", "on"),
    ] {
        let (db, id) = under_way().await;
        let mut tx = db.pool().begin().await.unwrap();
        text(&mut tx, "select set_config('synchronous_commit', 'on', true)").await;
        text(&mut tx, before).await;
        text(&mut tx, batch_before(id, 0, page, next_job)).await;
        assert_eq!(
            text(&mut tx, "select current_setting('synchronous_commit')").await,
            waits,
            "{before} {page} {next_job}"
        );
    }
}

#[tokio::test]
async fn a_batch_that_may_not_commit_changes_nothing_and_says_why() {
    let ended = "update etl.etl_runs set status = 'CANCELLED', finished_at = now()";
    let taken = "update apalis.jobs set lock_by = null, status = 'Pending'";
    let stuck = "0::bigint, 0::bigint, null::text[], null::boolean";
    for (before, number, page, next_job, code) in [
        ("select 1", 1, PAGE, "null", "VT001"),
        (taken, 0, PAGE, "null", "VT001"),
        (taken, 0, PAGE, "'job 1'", "VT001"),
        (taken, 0, LAST, "null", "VT001"),
        // Its page is not executed.
        (taken, 0, "1 / 0, 0::bigint, null::text[], true", "null", "VT001"),
        (ended, 0, PAGE, "null", "VT002"),
        ("select 1", 0, stuck, "null", "VT003"),
    ] {
        let (db, id) = under_way().await;
        run(db.pool(), before).await;
        let mut app = db.pool().acquire().await.unwrap();
        let found = state(&mut app).await;
        assert_eq!(failure(&mut app, batch_before(id, number, page, next_job)).await.0, code, "{before}");
        assert_eq!(state(&mut app).await, found, "{before}");
    }
}

#[tokio::test]
async fn a_refusal_has_the_code_and_the_reason_that_it_is_given() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    let refused = failure(&mut app, "select etl.refuse_batch('VT002', 'the run was ended')").await;
    assert_eq!(refused, ("VT002".to_owned(), "the run was ended".to_owned()));
}

/// The same run with further ranges, which begin at `k1`, `k2` and so on.
async fn cut(ranges: u32) -> (TestDatabase, Uuid) {
    let (db, id) = under_way().await;
    for range in 1..ranges {
        run(
            db.pool(),
            format!(
                "update etl.etl_run_ranges set upper = 'k{range}' where range_no = {range} - 1;
                 insert into etl.etl_run_ranges (run_id, range_no, after, job_id) values ('{id}', {range}, '{{k{range},NULL}}', 'job {range}');
                 insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority, lock_by, lock_at)
                 values ('job {range}', 'vitrina:batches', '{{\"run\": 1}}', 'Running', 0, 1, now(), 0, 'worker', now())"
            ),
        )
        .await;
    }
    (db, id)
}

/// A page that ends with this row.
fn page(key: &str, more: bool) -> String {
    format!("1::bigint, 1::bigint, array[''{key}'', ''id''], {more}")
}

/// The last page of a range that has no row.
const EMPTY: &str = "0::bigint, 0::bigint, null::text[], false";

/// The pipeline's checkpoint, which the run shows too.
async fn checkpoint(connection: &mut PgConnection) -> String {
    let state = "select coalesce((select concat_ws(' ', checkpoint_key, checkpoint_id) from etl.etl_state), 'none')";
    let shown =
        "select coalesce((select concat_ws(' ', checkpoint_to ->> 'key', checkpoint_to ->> 'id') from etl.etl_runs
                                  where checkpoint_to is not null), 'none')";
    let (state, shown) = (text(connection, state).await, text(connection, shown).await);
    assert_eq!(state, shown);
    state
}

#[tokio::test]
async fn a_range_moves_the_checkpoint_only_when_all_before_it_are_walked() {
    let (db, id) = cut(3).await;
    let mut app = db.pool().acquire().await.unwrap();
    for (range, number, rows, reached) in [
        (1, 0, page("k1b", true), "none"),
        (2, 0, page("k2b", true), "none"),
        (0, 0, page("k0b", true), "k0b id"),
        (1, 1, page("k1c", true), "k0b id"),
        (0, 1, page("k0c", false), "k1c id"),
        (2, 1, page("k2c", true), "k1c id"),
        (1, 2, page("k1d", true), "k1d id"),
        (2, 2, page("k2d", false), "k1d id"),
        (1, 3, page("k1e", false), "k2d id"),
    ] {
        text(&mut app, batch_of(id, range, number, &rows, "null")).await;
        assert_eq!(checkpoint(&mut app).await, reached, "after batch {number} of range {range}");
    }
    assert_eq!(text(&mut app, "select concat_ws(' ', rows_read, batches) from etl.etl_runs").await, "9 9");
}

#[tokio::test]
async fn a_range_without_rows_lets_the_checkpoint_pass() {
    let (db, id) = cut(3).await;
    let mut app = db.pool().acquire().await.unwrap();
    text(&mut app, batch_of(id, 1, 0, EMPTY, "null")).await;
    assert_eq!(checkpoint(&mut app).await, "none");
    text(&mut app, batch_of(id, 0, 0, &page("k0b", true), "null")).await;
    text(&mut app, batch_of(id, 0, 1, EMPTY, "null")).await;
    assert_eq!(checkpoint(&mut app).await, "k0b id", "no other row was read");
    text(&mut app, batch_of(id, 2, 0, &page("k2b", true), "null")).await;
    assert_eq!(checkpoint(&mut app).await, "k2b id");
    text(&mut app, batch_of(id, 2, 1, EMPTY, "null")).await;
    assert_eq!(checkpoint(&mut app).await, "k2b id");
}

#[tokio::test]
async fn two_ranges_that_end_at_once_leave_no_checkpoint_behind() {
    for (first, second) in [(0, 1), (1, 0)] {
        let (db, id) = cut(2).await;
        let mut tx = db.pool().begin().await.unwrap();
        text(&mut tx, batch_of(id, first, 0, &page(&format!("k{first}z"), false), "null")).await;
        let late = tokio::spawn({
            let db = db.pool().clone();
            let batch = batch_of(id, second, 0, &page(&format!("k{second}z"), false), "null");
            async move { text(&mut db.acquire().await.unwrap(), batch).await }
        });
        let mut app = db.pool().acquire().await.unwrap();
        let waits =
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while text(&mut app, waits).await == "0" {
            tokio::task::yield_now().await;
        }
        tx.commit().await.unwrap();
        late.await.unwrap();
        assert_eq!(checkpoint(&mut app).await, "k1z id");
    }
}

#[tokio::test]
async fn a_batch_of_one_range_is_refused_by_the_fence_of_its_own_range_alone() {
    let (db, id) = cut(2).await;
    let mut app = db.pool().acquire().await.unwrap();
    text(&mut app, batch_of(id, 1, 0, &page("k1b", true), "null")).await;
    assert_eq!(failure(&mut app, batch_of(id, 1, 0, &page("k1b", true), "null")).await.0, "VT001");
    text(&mut app, batch_of(id, 0, 0, &page("k0b", true), "null")).await;
    run(db.pool(), "update etl.etl_runs set status = 'FAILED', finished_at = now()").await;
    for range in [0, 1] {
        assert_eq!(failure(&mut app, batch_of(id, range, 1, &page("k", true), "null")).await.0, "VT002");
    }
}
