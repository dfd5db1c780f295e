//! `vitrina hooks`, with the account of the owner, and what `vitrina doctor` says of the list.

use serde_json::Value;

use crate::support::{Deployment, text};

const SHOP: &str = "create schema shop;
    create function shop.note(event jsonb) returns void language sql as '';
    create function shop.refund(event jsonb) returns void language sql security definer as '';";

/// What the program says under an account, and whether it succeeds.
fn says(here: &Deployment, url: &str, arguments: &[&str]) -> (bool, String) {
    let output = here.vitrina(arguments).env("DATABASE_URL", url).output().unwrap();
    (output.status.success(), text(&output))
}

#[tokio::test]
async fn the_owner_allows_lists_and_revokes_functions() {
    let here = Deployment::api(&[]).await;
    sqlx::raw_sql(SHOP).execute(here.db.admin()).await.unwrap();
    let owner = here.db.owner_url();
    let (done, said) = says(&here, &owner, &["hooks", "ls"]);
    assert!(done && said.contains("hooks may call no function; `vitrina hooks allow"), "{said}");
    let (done, said) = says(&here, &owner, &["hooks", "allow", "shop.note", "shop.refund"]);
    assert!(done, "{said}");
    assert!(
        said.contains("shop.note: execute is granted to vitrina_hook, and it executes with the rights of vitrina_hook"),
        "{said}"
    );
    assert!(
        said.contains("shop.refund: execute is granted to vitrina_hook, and it executes with the rights of postgres"),
        "{said}"
    );

    sqlx::raw_sql("drop function shop.note").execute(here.db.admin()).await.unwrap();
    let (done, said) = says(&here, &owner, &["hooks", "ls", "--json"]);
    assert!(done, "{said}");
    let listed: Value = serde_json::from_str(&said).unwrap();
    let problems: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|one| (&one["name"], &one["problem"])).collect();
    let dropped = "was dropped, renamed or created anew since it was put on the list";
    assert_eq!(problems, [(&"shop.note".into(), &dropped.into()), (&"shop.refund".into(), &Value::Null)]);
    let (done, said) = says(&here, &owner, &["hooks", "ls"]);
    assert!(done && said.contains(dropped) && said.contains("good"), "{said}");

    let (done, said) = says(&here, &owner, &["hooks", "revoke", "shop.note"]);
    assert!(done && said.contains("hooks may no longer call shop.note"), "{said}");
    let (done, said) = says(&here, &owner, &["hooks", "revoke", "shop.note"]);
    assert!(!done && said.contains("`shop.note` is not on the list"), "{said}");
}

#[tokio::test]
async fn a_wrong_function_and_an_account_that_is_not_the_owner_are_refused() {
    let here = Deployment::api(&[]).await;
    sqlx::raw_sql(SHOP).execute(here.db.admin()).await.unwrap();
    let owner = here.db.owner_url();
    for (name, expected) in [
        ("refund", "is no name of a function with its schema"),
        ("shop.absent", "there is no function shop.absent(jsonb): create it with one argument"),
        ("etl.storable", "is in a schema of Vitrina's or of the server's own"),
    ] {
        let (done, said) = says(&here, &owner, &["hooks", "allow", name]);
        assert!(!done && said.contains(expected), "{said}");
    }
    let (done, said) = says(&here, &here.db.url(), &["hooks", "allow", "shop.note"]);
    assert!(!done && said.contains("use the account that runs `vitrina migrate`"), "{said}");
    let output = here.vitrina(&["hooks", "ls"]).output().unwrap();
    assert!(!output.status.success() && text(&output).contains("DATABASE_URL is not set"), "{}", text(&output));
}

#[tokio::test]
async fn doctor_names_listed_functions_that_cannot_be_called() {
    let here = Deployment::api(&[]).await;
    sqlx::raw_sql(SHOP).execute(here.db.admin()).await.unwrap();
    let (done, said) = says(&here, &here.db.owner_url(), &["hooks", "allow", "shop.note", "shop.refund"]);
    assert!(done, "{said}");
    let change = "revoke execute on function shop.note from public, vitrina_hook; drop function shop.refund";
    sqlx::raw_sql(change).execute(here.db.admin()).await.unwrap();
    let output = here.vitrina(&["doctor", "--json"]).env("DATABASE_URL", here.db.url()).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "hooks").unwrap();
    let detail =
        "shop.note may not be called by the role vitrina_hook; shop.refund was dropped, renamed or created anew";
    assert!(found["finding"] == "wrong" && found["detail"].as_str().unwrap().starts_with(detail), "{found}");
    assert!(found["fix"].as_str().unwrap().contains("vitrina hooks allow"), "{found}");
}
