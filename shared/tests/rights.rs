//! Accounts that may do more than a service needs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use sqlx::{AssertSqlSafe, PgConnection};
use vitrina_shared::{
    store::server::{Excess, account, open_doors},
    testing::TestDatabase,
};

/// What the account of this name would be told. It is gone afterwards.
async fn excess_of(db: &TestDatabase, name: &str, attributes: &str, preparing: &str) -> Option<Excess> {
    let mut tx = db.admin().begin().await.unwrap();
    let become_it = format!("create role {name} {attributes}; {preparing}; set local role {name};");
    sqlx::raw_sql(AssertSqlSafe(become_it)).execute(&mut *tx).await.unwrap();
    let (account, excess) = account(&mut tx).await.unwrap();
    assert_eq!(account, name);
    tx.rollback().await.unwrap();
    excess
}

#[tokio::test]
async fn the_services_account_has_no_more_rights_than_it_needs() {
    let db = TestDatabase::create().await;
    let mut connection = db.pool().acquire().await.unwrap();
    assert_eq!(account(&mut connection).await.unwrap(), ("vitrina_app".to_owned(), None));
    assert_eq!(excess_of(&db, "rights_nobody", "login", "select 1").await, None);
}

#[tokio::test]
async fn superusers_owners_and_members_of_owners_have_too_many() {
    let db = TestDatabase::create().await;
    assert_eq!(account(&mut db.admin().acquire().await.unwrap()).await.unwrap().1, Some(Excess::Superuser));
    let superuser = excess_of(&db, "rights_super", "superuser", "select 1").await;
    assert_eq!(superuser, Some(Excess::Superuser));
    let owns = "alter schema etl owner to rights_owner";
    assert_eq!(excess_of(&db, "rights_owner", "login", owns).await, Some(Excess::Owner));
    let member =
        "create role rights_group; alter schema etl owner to rights_group; grant rights_group to rights_member";
    assert_eq!(excess_of(&db, "rights_member", "login noinherit", member).await, Some(Excess::Owner));
    let table = "alter table etl.etl_runs owner to rights_table";
    assert_eq!(excess_of(&db, "rights_table", "login", table).await, Some(Excess::Owner));
}

#[tokio::test]
async fn functions_that_lend_the_rights_of_vitrinas_roles_to_others_are_found() {
    let db = TestDatabase::create().await;
    let mut tx = db.admin().begin().await.unwrap();
    assert_eq!(open_doors(&mut tx).await.unwrap(), Vec::<String>::new());
    sqlx::raw_sql(
        "grant execute on function etl_mart.drop_gathering to public;
         create function analytics.door() returns int language sql security definer as 'select 1';
         alter function analytics.door owner to vitrina_mart",
    )
    .execute(&mut *tx)
    .await
    .unwrap();
    assert_eq!(open_doors(&mut tx).await.unwrap(), ["analytics.door()", "etl_mart.drop_gathering(text)"]);
}

#[tokio::test]
async fn before_a_migration_there_is_nothing_to_own() {
    let db = TestDatabase::create().await;
    let mut tx = db.admin().begin().await.unwrap();
    let gone: &mut PgConnection = &mut tx;
    sqlx::raw_sql("drop schema etl cascade; create role rights_early; set local role rights_early")
        .execute(&mut *gone)
        .await
        .unwrap();
    assert_eq!(account(gone).await.unwrap(), ("rights_early".to_owned(), None));
}

/// Functions with their owner's rights: the services' account may call those that are made for it, and none with the rights
/// of the account that migrated.
#[tokio::test]
async fn only_the_removal_of_old_entries_of_the_log_lends_the_services_the_rights_of_the_account_that_migrated() {
    let db = TestDatabase::create().await;
    let lent: Vec<String> = sqlx::query_scalar(
        "select p.oid::regprocedure::text from pg_proc p
         where p.prosecdef and p.pronamespace::regnamespace::text in ('etl', 'etl_hook', 'etl_page', 'etl_mart', 'apalis')
           and has_function_privilege('vitrina_app', p.oid, 'execute')
           and p.proowner not in ('vitrina_query'::regrole, 'vitrina_mart'::regrole, 'vitrina_hook'::regrole)",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    // It takes an age of a day at least and a number, calls no function of another account and returns a number.
    assert_eq!(
        lent,
        ["etl.prune_log(interval,bigint)"],
        "functions of etl, etl_hook, etl_page, etl_mart and apalis that the services may call with their owner's rights"
    );
}

/// The log's trigger has its owner's rights. On another table it would compare that table's values with them.
#[tokio::test]
async fn the_logs_trigger_serves_no_other_table() {
    let db = TestDatabase::create().await;
    let trap = "create temporary table trap (id bigint, pipeline_id uuid);
        create trigger trap after insert on trap for each row execute function etl.log_in_commit_order()";
    let error = sqlx::raw_sql(trap).execute(&mut *db.pool().acquire().await.unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("permission denied for function"), "{error}");
    let mut owner = db.admin().acquire().await.unwrap();
    sqlx::raw_sql(trap).execute(&mut *owner).await.unwrap();
    let error = sqlx::query("insert into trap values (1)").execute(&mut *owner).await.unwrap_err();
    assert!(error.to_string().contains("serves etl.etl_transitions alone"), "{error}");
}

/// Every account of the database can hold advisory locks.
#[tokio::test]
async fn advisory_locks_of_others_do_not_keep_the_log_waiting() {
    let db = TestDatabase::create().await;
    let mut other = db.admin().acquire().await.unwrap();
    sqlx::raw_sql("select pg_advisory_lock(hashtextextended('etl.etl_transitions', 0))")
        .execute(&mut *other)
        .await
        .unwrap();
    let mut app = db.pool().acquire().await.unwrap();
    sqlx::raw_sql(
        "set lock_timeout = '2s';
         insert into etl.etl_transitions (pipeline_id, pipeline, from_status, to_status, actor, reason)
         values (gen_random_uuid(), 'p', 'IDLE', 'RUN_REQUESTED', 'test', 'test')",
    )
    .execute(&mut *app)
    .await
    .unwrap();
    let held: bool = sqlx::query_scalar("select has_table_privilege('vitrina_app', 'etl.etl_log_turn', 'update')")
        .fetch_one(&mut *other)
        .await
        .unwrap();
    assert!(!held, "the services' account cannot hold the turn by itself");
}
