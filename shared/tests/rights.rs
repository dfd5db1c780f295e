//! Accounts that may do more than a service needs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use sqlx::{AssertSqlSafe, PgConnection};
use vitrina_shared::{
    store::server::{Excess, account},
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
