//! The demo's cinema on a real database: its size, that it is always the same, that it grows and is never touched.

use sqlx::{
    AssertSqlSafe, PgPool,
    types::chrono::{DateTime, Utc},
};
use vitrina::cinema::{CinemaError, CinemaSize, CinemaSummary, FillProgress, generate};
use vitrina_shared::testing::TestDatabase;

const SMALL: CinemaSize = CinemaSize { films: 2_000, ratings: 20_000 };

async fn fill(db: &PgPool, size: CinemaSize) -> CinemaSummary {
    generate(db, size, |_| ()).await.expect("the cinema")
}

fn added_to(summary: &CinemaSummary, table: &str) -> u64 {
    summary.added.iter().filter(|(name, _)| *name == table).map(|(_, rows)| rows).sum()
}

async fn count(db: &PgPool, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(db).await.expect(query)
}

/// A fingerprint of every row of every table. Of moments it has the time of the day: the cinema's dates count from
/// today, and midnight may pass between two fills.
async fn fingerprint(db: &PgPool) -> String {
    fingerprint_with(db, true).await
}

/// The same without moments: rows that were added later are dated later.
async fn fingerprint_without_moments(db: &PgPool) -> String {
    fingerprint_with(db, false).await
}

async fn fingerprint_with(db: &PgPool, moments: bool) -> String {
    sqlx::query_scalar(
        r#"
        select md5(string_agg(line, '|' order by line collate "C")) from (
            select concat_ws('~', 'genre', id, name, description, case when $1 then (modified at time zone 'utc')::time end) from content.genre
            union all
            select concat_ws('~', 'person', id, full_name, case when $1 then (modified at time zone 'utc')::time end) from content.person
            union all
            select concat_ws('~', 'film', id, title, description, creation_date, rating, type,
                case when $1 then (created at time zone 'utc')::time end, case when $1 then (modified at time zone 'utc')::time end) from content.film_work
            union all
            select concat_ws('~', 'film genre', film_work_id, genre_id) from content.genre_film_work
            union all
            select concat_ws('~', 'film person', film_work_id, person_id, role) from content.person_film_work
            union all
            select concat_ws('~', 'rating', id, film_id, user_id, score,
                case when $1 then (created at time zone 'utc')::time end, case when $1 then (modified at time zone 'utc')::time end) from ugc.ratings
        ) as rows (line)
        "#,
    )
    .bind(moments)
    .fetch_one(db)
    .await
    .expect("a fingerprint")
}

#[tokio::test]
async fn a_cinema_has_the_size_that_was_asked_for_and_tells_its_progress() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    let mut seen: Vec<FillProgress> = Vec::new();
    let size = CinemaSize { films: 2_000, ratings: 210_000 };
    let summary = generate(db, size, |progress| seen.push(progress)).await.expect("the cinema");
    assert_eq!(count(db, "select count(*) from content.film_work").await, 2_000);
    assert_eq!(count(db, "select count(*) from ugc.ratings").await, 210_000);
    assert_eq!(count(db, "select count(*) from content.genre").await, 27);
    assert_eq!((added_to(&summary, "content.film_work"), added_to(&summary, "ugc.ratings")), (2_000, 210_000));
    let ratings: Vec<u64> = seen.iter().filter(|p| p.table == "ugc.ratings").map(|p| p.done).collect();
    assert_eq!(ratings, [100_000, 200_000, 210_000]);
    assert!(seen.iter().all(|p| p.done <= p.total));
}

#[tokio::test]
async fn a_second_run_adds_nothing_and_changes_nothing() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    fill(db, SMALL).await;
    sqlx::query("update content.film_work set title = 'Mine' where type = 'tv_show'")
        .execute(db)
        .await
        .expect("an edit");
    let before = fingerprint(db).await;
    assert_eq!(fill(db, SMALL).await.total_added(), 0);
    assert_eq!(fill(db, CinemaSize { films: 10, ratings: 10 }).await.total_added(), 0);
    assert_eq!(fingerprint(db).await, before);
}

#[tokio::test]
async fn what_is_missing_is_added_and_the_rest_stays() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    fill(db, SMALL).await;
    let before = fingerprint_without_moments(db).await;
    for delete in [
        "delete from content.film_work where type = 'tv_show'",
        "delete from content.genre_film_work where film_work_id < '80000000-0000-0000-0000-000000000000'",
        "delete from ugc.ratings where id % 7 = 3",
    ] {
        sqlx::query(delete).execute(db).await.expect(delete);
    }
    assert!(fill(db, SMALL).await.total_added() > 0);
    assert_eq!(fingerprint_without_moments(db).await, before);
}

/// The newest moment of any row, and the oldest of those that came after `since`.
async fn moments(db: &PgPool, since: DateTime<Utc>) -> (DateTime<Utc>, Option<DateTime<Utc>>) {
    let rows = "select modified from content.film_work union all select modified from content.person
                union all select modified from ugc.ratings";
    let query = format!("select max(modified), min(modified) filter (where modified > $1) from ({rows}) as rows");
    sqlx::query_as(AssertSqlSafe(query)).bind(since).fetch_one(db).await.expect("moments")
}

#[tokio::test]
async fn a_cinema_that_grows_dates_new_rows_after_all_that_were_there() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    fill(db, CinemaSize { films: 300, ratings: 3_000 }).await;
    let now: DateTime<Utc> = sqlx::query_scalar("select now()").fetch_one(db).await.expect("now");
    let (newest, _) = moments(db, now).await;
    assert!(newest < now);
    let added = fill(db, SMALL).await;
    let new = "select (select count(*) from content.film_work where modified > $1)
                    + (select count(*) from content.person where modified > $1)
                    + (select count(*) from ugc.ratings where modified > $1)";
    let new: i64 = sqlx::query_scalar(new).bind(newest).fetch_one(db).await.expect("new rows");
    let expected: u64 =
        ["content.film_work", "content.person", "ugc.ratings"].map(|table| added_to(&added, table)).iter().sum();
    assert_eq!(new.unsigned_abs(), expected);
    assert!(moments(db, newest).await.1.is_some_and(|oldest| oldest > now));
}

#[tokio::test]
async fn a_cinema_that_was_read_and_emptied_is_filled_with_new_rows() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    fill(db, CinemaSize { films: 300, ratings: 0 }).await;
    for statement in [
        "insert into etl.etl_pipelines (id, name, type, mode, source_query, target_table)
         values ('00000000-0000-0000-0000-000000000001', 'films', 'SQL', 'full', 'select', 'analytics.film_dim')",
        "insert into etl.etl_state (pipeline_id, checkpoint_key, run_id, batch)
         values ('00000000-0000-0000-0000-000000000001', now()::text, gen_random_uuid(), 1)",
        "truncate content.film_work",
    ] {
        sqlx::query(statement).execute(db).await.expect(statement);
    }
    fill(db, CinemaSize { films: 300, ratings: 0 }).await;
    let behind = "select count(*) from content.film_work
                  where modified <= (select checkpoint_key::timestamptz from etl.etl_state)";
    assert_eq!(count(db, behind).await, 0);
}

#[tokio::test]
async fn the_same_size_gives_the_same_cinema_and_growing_leads_to_the_same_films() {
    let (one, other, grown) =
        (TestDatabase::create().await, TestDatabase::create().await, TestDatabase::create().await);
    let without_ratings = CinemaSize { ratings: 0, ..SMALL };
    fill(one.admin(), without_ratings).await;
    fill(other.admin(), without_ratings).await;
    fill(grown.admin(), CinemaSize { films: 300, ratings: 0 }).await;
    fill(grown.admin(), without_ratings).await;
    assert_eq!(fingerprint(other.admin()).await, fingerprint(one.admin()).await);
    let expected = fingerprint_without_moments(one.admin()).await;
    assert_eq!(fingerprint_without_moments(grown.admin()).await, expected);
    fill(one.admin(), SMALL).await;
    fill(other.admin(), SMALL).await;
    assert_eq!(fingerprint(one.admin()).await, fingerprint(other.admin()).await);
}

#[tokio::test]
async fn ratings_favour_a_few_films_and_scores_from_six_to_eight() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    fill(db, SMALL).await;
    let of_the_top_tenth = count(
        db,
        "select sum(n)::bigint from (select count(*) n from ugc.ratings group by film_id order by 1 desc limit 200) top",
    )
    .await;
    assert!(of_the_top_tenth > 12_000, "{of_the_top_tenth} of 20000 ratings are of the top tenth");
    let ordinary = count(db, "select count(*) from ugc.ratings where score between 6 and 8").await;
    assert!((10_000..15_000).contains(&ordinary), "{ordinary} of 20000 scores are from 6 to 8");
    assert_eq!(count(db, "select count(distinct score) from ugc.ratings").await, 10);
}

#[tokio::test]
async fn films_have_what_real_ones_have() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    fill(db, SMALL).await;
    for (fact, query) in [
        ("titles vary", "select count(distinct title) > 1200 from content.film_work"),
        ("some titles are not ASCII", "select count(*) > 200 from content.film_work where title ~ '[^[:ascii:]]'"),
        (
            "some values are missing, most are not",
            "select bool_and(n between 20 and 600) from (
                select unnest(array[count(*) - count(description), count(*) - count(rating), count(*) - count(creation_date)])
                from content.film_work) as missing (n)",
        ),
        (
            "many share their moment of change",
            "select max(n) >= 20 from (select count(*) from content.film_work group by modified) as moments (n)",
        ),
        (
            "all were changed within the past year, after they came",
            "select bool_and(modified between now() - interval '367 days' and now() and created <= modified)
             from content.film_work",
        ),
        (
            "every rating is of a film, every link of a film and a person",
            "select not exists (select from ugc.ratings where film_id not in (select id from content.film_work))
                and not exists (select from content.person_film_work where person_id not in (select id from content.person))
                and not exists (select from content.genre_film_work where genre_id not in (select id from content.genre))",
        ),
    ] {
        let holds: bool = sqlx::query_scalar(query).fetch_one(db).await.expect(fact);
        assert!(holds, "{fact}");
    }
}

#[tokio::test]
async fn an_update_moves_modified_and_a_new_rating_gets_a_free_number() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    fill(db, SMALL).await;
    for update in [
        "update content.film_work set rating = 9 where type = 'movie'",
        "update ugc.ratings set score = 1 where id = 1",
        "insert into ugc.ratings (film_id, user_id, score) values (gen_random_uuid(), gen_random_uuid(), 5)",
    ] {
        sqlx::query(update).execute(db).await.expect(update);
    }
    let moved =
        "select count(*) from content.film_work where (modified > now() - interval '1 hour') = (type = 'movie')";
    // Early in the day a generated film may be that new as well: today's first moment is the newest there is.
    assert!(count(db, moved).await >= 1_990);
    assert_eq!(count(db, "select max(id) from ugc.ratings").await, 20_001);
}

#[tokio::test]
async fn the_indexes_of_an_incremental_reader_are_there_after_every_fill() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    for size in [CinemaSize { films: 0, ratings: 0 }, SMALL] {
        fill(db, size).await;
        let indexes = "select count(*) from pg_indexes where schemaname in ('content', 'ugc') and indexname in (
            'genre_modified_id_idx', 'person_modified_id_idx', 'film_work_modified_id_idx', 'ratings_modified_id_idx',
            'ratings_film_id_modified_id_idx')";
        assert_eq!(count(db, indexes).await, 5);
    }
}

#[tokio::test]
async fn two_generators_at_once_make_one_cinema() {
    let database = TestDatabase::create().await;
    let db = database.admin();
    let (one, other) = tokio::join!(fill(db, SMALL), fill(db, SMALL));
    assert!(one.total_added() == 0 || other.total_added() == 0);
    assert_eq!(count(db, "select count(*) from ugc.ratings").await, 20_000);
}

#[tokio::test]
async fn ratings_without_films_are_refused() {
    let database = TestDatabase::create().await;
    let refused = generate(database.admin(), CinemaSize { films: 0, ratings: 1 }, |_| ()).await;
    assert!(matches!(refused, Err(CinemaError::NothingToRate)));
}

#[tokio::test]
async fn someone_elses_table_is_left_alone() {
    for (create, found) in [
        ("create table content.film_work (id integer, name text)", "id integer, name text"),
        ("create view content.film_work as select 1 as id", "no rows of its own"),
    ] {
        let database = TestDatabase::create().await;
        let db = database.admin();
        sqlx::query("create schema if not exists content").execute(db).await.expect("a schema");
        sqlx::query(create).execute(db).await.expect(create);
        let refused = generate(db, SMALL, |_| ()).await.expect_err("not ours").to_string();
        assert!(refused.starts_with("content.film_work exists already"), "{refused}");
        assert!(refused.contains(found), "{refused}");
        assert_eq!(count(db, "select count(*) from pg_class where relname in ('genre', 'ratings')").await, 0);
    }
}
