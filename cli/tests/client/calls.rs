//! `vitrina limits` and `vitrina calls`, and plans whose limit is not there.

use serde_json::json;

use crate::support::{Deployment, text};

const DESCRIBED: &str = "pipelines:
  - name: described
    type: RUST
    mode: full
    target_table: analytics.genre_dim
    target: {key: [genre_id]}
    tasks:
      - {order_index: 1, task_type: SQL, body: 'select id as genre_id, name, modified from content.genre'}
      - order_index: 2
        task_type: RUST
        body: http
        options:
          url: https://api.example.org/{{ name | urlencode }}
          limit: texts
          columns: {description: {path: /text, type: text}}
";

const CALLS: &str = "insert into etl.etl_calls (pipeline_id, step, call_key, input, state, idempotency_key, together, run_id, status,
                                                error, attempts, sent_at)
    select p.id, 'http', sha256(state::bytea), sha256(state::bytea), state, gen_random_uuid(), 1, gen_random_uuid(), 422,
           'answers 422: no such word', 1, '2026-01-02 03:04:05+00'
    from etl.etl_pipelines p, unnest('{DONE,REFUSED,SENDING}'::text[]) as state";

const KEYS: &str = "insert into etl.etl_pool_keys (pool, fingerprint, rests_until, refused_at, refused_reason) values
    ('TEXTS', '0123456789abcdef', null, null, null), ('TEXTS', '123456789abcdef0', '2999-01-01 00:00:00+00', null, null),
    ('TEXTS', '23456789abcdef01', null, '2026-01-02 03:04:05+00', '401')";

/// What the program says, which must not succeed.
fn refuses(here: &Deployment, arguments: &[&str]) -> String {
    let output = here.vitrina(arguments).output().unwrap();
    assert!(!output.status.success(), "{arguments:?}: {}", text(&output));
    text(&output)
}

#[tokio::test]
async fn a_limit_is_set_listed_changed_and_removed() {
    let here = Deployment::api(&[]).await;
    assert!(here.prints(&["limits", "ls"]).contains("there is no limit; `vitrina limits set NAME --tokens 10`"));
    let told = here.prints(&["limits", "set", "texts", "--tokens", "10"]);
    assert_eq!(told, "limit texts is 10 calls in 1 s from now on\n");
    let told = here.prints(&["limits", "set", "texts", "--tokens", "1000", "--period", "1min", "--burst", "20"]);
    assert_eq!(told, "limit texts is 1,000 calls in 1 min, up to 20 at once from now on\n");
    let list = here.prints(&["limits", "ls"]);
    let lines: Vec<_> = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines, ["limit rate state", "texts 1,000 calls in 1 min, up to 20 at once free"]);
    let items = here.json(&["limits", "ls"])["items"].clone();
    assert_eq!((&items[0]["tokens"], &items[0]["period_seconds"]), (&json!(1000), &json!(60.0)));
    assert_eq!(here.prints(&["limits", "rm", "texts"]), "there is no limit texts any more\n");
    assert!(refuses(&here, &["limits", "rm", "texts"]).contains("there is no limit `texts`"));
    assert!(refuses(&here, &["limits", "set", "texts", "--tokens", "0"]).contains("tokens: takes 1 to 1000000"));
    assert!(
        refuses(&here, &["limits", "set", "texts", "--tokens", "1", "--period", "1"]).contains("such as 100ms, 1s")
    );
}

#[tokio::test]
async fn a_plan_is_applied_before_its_limit_is_there_and_told_what_to_do() {
    let here = Deployment::api(&[]).await;
    here.file("file.yaml", DESCRIBED);
    let missing =
        "there is no limit `texts`, and runs fail until an operator sets it: `vitrina limits set texts --tokens 10";
    let output = here.vitrina(&["apply", "-f", "file.yaml"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains(missing), "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 created"), "{}", text(&output));
    assert!(refuses(&here, &["validate", "-f", "file.yaml"]).contains(missing));
    assert!(refuses(&here, &["validate", "described"]).contains(missing));

    here.prints(&["limits", "set", "texts", "--tokens", "10"]);
    here.prints(&["validate", "-f", "file.yaml"]);
    let output = here.vitrina(&["apply", "-f", "file.yaml"]).output().unwrap();
    assert!(output.status.success() && !text(&output).contains("no limit"), "{}", text(&output));
    let told = refuses(&here, &["limits", "rm", "texts"]);
    assert!(told.contains("limit `texts` is named by `described`: change or delete that first"), "{told}");
}

#[tokio::test]
async fn keys_are_listed_with_what_became_of_them_and_tried_again() {
    let here = Deployment::api(&[]).await;
    sqlx::raw_sql(KEYS).execute(here.db.admin()).await.unwrap();
    let list = here.prints(&["limits", "ls"]);
    for line in [
        "TEXTS 0123456789abcdef ready",
        "TEXTS 123456789abcdef0 rests until 2999-01-01 00:00:00",
        "TEXTS 23456789abcdef01 refused 2026-01-02 03:04:05 (401)",
    ] {
        let is_there = |found: &str| found.split_whitespace().collect::<Vec<_>>().join(" ") == line;
        assert!(list.lines().any(is_there), "{line}: {list}");
    }
    assert_eq!(here.json(&["limits", "ls"])["keys"].as_array().unwrap().len(), 3);
    assert_eq!(here.prints(&["limits", "forget-keys", "TEXTS"]), "3 keys of TEXTS may be used again\n");
    assert!(!here.prints(&["limits", "ls"]).contains("refused"));
    assert!(refuses(&here, &["limits", "forget-keys", "NONE"]).contains("no call was made with keys of a pool `NONE`"));
}

#[tokio::test]
async fn calls_are_listed_and_forgotten() {
    let here = Deployment::api(&[]).await;
    here.prints(&["limits", "set", "texts", "--tokens", "10"]);
    here.apply(DESCRIBED);
    assert_eq!(here.prints(&["calls", "ls"]), "no call is remembered\n");
    sqlx::raw_sql(CALLS).execute(here.db.admin()).await.unwrap();
    let list = here.prints(&["calls", "ls", "--pipeline", "described", "--state", "REFUSED"]);
    assert!(list.contains("REFUSED  2026-01-02 03:04:05") && list.contains("answers 422: no such word"), "{list}");
    assert_eq!(list.lines().count(), 2, "{list}");
    let states = |arguments: &[&str]| here.json(arguments)["items"].as_array().unwrap().len();
    assert_eq!((states(&["calls", "ls"]), states(&["calls", "ls", "--limit", "2"])), (3, 2));
    assert_eq!(here.prints(&["calls", "forget", "described", "--state", "DONE"]), "1 call of described forgotten\n");
    assert_eq!(here.prints(&["calls", "forget", "described"]), "1 call of described forgotten\n");
    assert_eq!(here.json(&["calls", "ls"])["items"][0]["state"], "SENDING");
    assert!(refuses(&here, &["calls", "forget", "describe"]).contains("`described`"));
    assert!(refuses(&here, &["calls", "ls", "--state", "OPEN"]).contains("is none of SENDING"));
}
