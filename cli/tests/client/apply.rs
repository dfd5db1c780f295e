//! `vitrina apply`.

use crate::support::{Deployment, big, genres, text};

#[tokio::test]
async fn applying_a_file_twice_changes_nothing_the_second_time() {
    let here = Deployment::api(&[]).await;
    let first = here.apply(&genres());
    assert!(first.contains("+ genres") && first.contains("applied: 1 created, 0 changed, 0 unchanged"), "{first}");
    let second = here.apply(&genres());
    assert!(second.contains("= genres unchanged") && second.contains("0 created, 0 changed, 1 unchanged"), "{second}");
    assert_eq!(here.json(&["show", "genres"])["version"], 1, "nothing was written");
}

#[tokio::test]
async fn a_dry_run_shows_every_field_that_would_change_and_writes_nothing() {
    let here = Deployment::api(&[]).await;
    let empty = here.file("file.yaml", &genres());
    let told = here.prints(&["apply", "--dry-run", "-f", empty.to_str().unwrap()]);
    assert!(told.contains("+ genres") && told.contains("nothing was written"), "{told}");
    assert_eq!(here.json(&["ls"])["items"].as_array().unwrap().len(), 0);

    here.apply(&genres());
    let changed =
        genres().replace("    mode: full\n", "    mode: full\n    batch_size: 7\n    description: All genres\n");
    here.file(
        "file.yaml",
        &changed.replace(": select id", ": |\n      select id").replace(", modified from", ",\n      modified from"),
    );
    let told = here.prints(&["apply", "--dry-run", "-f", "file.yaml"]);
    for part in
        ["~ genres", "batch_size: 1000 → 7", "description: All genres", "- select id", "+ select id", "1 changed"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(here.json(&["show", "genres"])["batch_size"], 1000);
    here.prints(&["apply", "-f", "file.yaml"]);
    assert_eq!(here.json(&["show", "genres"])["batch_size"], 7);
    assert!(here.prints(&["apply", "-f", "file.yaml"]).contains("= genres unchanged"));
}

#[tokio::test]
async fn a_change_that_forgets_the_checkpoint_is_announced() {
    let here = Deployment::api(&[]).await;
    let by = |key: &str| {
        let walk = format!("mode: incremental\n    incremental_key: {key}\n    incremental_id_key: genre_id");
        genres().replace("mode: full", &walk)
    };
    here.apply(&by("modified"));
    let in_order = "incremental_id_key: genre_id\n    options: { key_order: commit }";
    here.file("file.yaml", &by("name").replace("incremental_id_key: genre_id", in_order));
    let told = here.prints(&["apply", "--dry-run", "-f", "file.yaml"]);
    assert!(told.contains("incremental_key: modified → name"), "{told}");
    assert!(told.contains("its checkpoint is forgotten: the next run reads everything"), "{told}");
    here.file("file.yaml", &by("modified").replace("name: genres", "name: genres\n    batch_size: 7"));
    assert!(!here.prints(&["apply", "--dry-run", "-f", "file.yaml"]).contains("forgotten"));
}

#[tokio::test]
async fn what_is_left_out_gets_its_default_and_enabled_stays() {
    let here = Deployment::api(&[]).await;
    here.apply(&genres().replace("mode: full", "mode: full\n    batch_size: 7\n    enabled: false"));
    here.apply(&genres());
    let stored = here.json(&["show", "genres"]);
    assert_eq!((&stored["batch_size"], &stored["enabled"]), (&1000.into(), &false.into()));
}

#[tokio::test]
async fn all_problems_of_all_pipelines_are_told_at_once_and_nothing_is_written() {
    let here = Deployment::api(&[]).await;
    let wrong = genres().replace("content.genre", "content.nothing").replace("name: genres", "name: first")
        + "  - name: second
    mode: incremental
    target_table: analytics.unknown
    source_query: select pg_sleep(1) as a
  - name: third
    mode: full
    target_table: analytics.genre_dim
    source_query: select id as genre_id, name, modified from content.genre
";
    here.file("file.yaml", &wrong);
    let output = here.vitrina(&["apply", "-f", "file.yaml"]).output().unwrap();
    let told = text(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for part in [
        "file.yaml:5:5: pipeline first, source_query: PostgreSQL refuses the query: relation \"content.nothing\" does not exist",
        "file.yaml:8:5: pipeline second, target_table: target `analytics.unknown` is not in the whitelist",
        "file.yaml:9:5: pipeline second, source_query: the function pg_sleep",
        "pipeline second, incremental_key: ",
        "file.yaml:12:5: pipeline third, target_table: pipeline `first` writes `analytics.genre_dim` too",
        "nothing was changed",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    assert!(!told.contains("third, source_query"), "{told}");
    assert_eq!(here.json(&["ls"])["items"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn a_mart_is_created_from_its_query_and_then_filled() {
    let here = Deployment::start().await;
    let file = "pipelines:
  - name: by_letter
    mode: full
    target_table: analytics.by_letter
    target: {create: true, key: [letter]}
    source_query: select left(name, 1)::char(1) as letter, count(*) as genres, max(modified) as newest from content.genre group by 1
";
    here.file("file.yaml", file);
    let told = here.prints(&["apply", "--dry-run", "-f", "file.yaml"]);
    for part in
        ["create table analytics.by_letter (", "letter text not null,", "genres bigint,", "primary key (letter)"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!here.prints(&["targets"]).contains("by_letter"), "a dry run creates nothing");

    assert!(here.apply(file).contains("1 target, 1 created"));
    here.prints(&["run", "by_letter", "--wait"]);
    let rows: i64 = sqlx::query_scalar("select sum(genres)::bigint from analytics.by_letter")
        .fetch_one(here.db.admin())
        .await
        .unwrap();
    assert_eq!(rows, 5);
    assert!(here.apply(file).contains("= by_letter unchanged"));
}

#[tokio::test]
async fn a_mart_that_was_dropped_is_no_dead_end() {
    let here = Deployment::start().await;
    let file = "pipelines:
  - name: titles
    mode: incremental
    target_table: analytics.titles
    target: {create: true, key: [id]}
    incremental_key: modified
    incremental_id_key: id
    source_query: select id, name, modified from content.genre
";
    here.apply(file);
    here.prints(&["run", "titles", "--wait"]);
    sqlx::raw_sql("drop table analytics.titles").execute(here.db.admin()).await.unwrap();

    let output = here.vitrina(&["validate", "titles"]).output().unwrap();
    assert!(text(&output).contains("there is no table `analytics.titles`"), "{}", text(&output));
    here.file("file.yaml", &file.replace("    target: {create: true, key: [id]}\n", ""));
    let output = here.vitrina(&["apply", "-f", "file.yaml"]).output().unwrap();
    assert!(text(&output).contains("pipeline titles, target_table: there is no table"), "{}", text(&output));

    let told = here.apply(file);
    assert!(told.contains("create table analytics.titles (") && told.contains("= titles unchanged"), "{told}");
    assert!(here.prints(&["run", "titles", "--wait"]).contains("5 rows read, 5 written"));

    let output = here.vitrina(&["targets", "--remove", "analytics.titles"]).output().unwrap();
    assert!(text(&output).contains("target `analytics.titles` is written by `titles`"), "{}", text(&output));
    sqlx::raw_sql("delete from etl.etl_pipelines").execute(here.db.admin()).await.unwrap();
    assert!(
        here.prints(&["targets", "--remove", "analytics.titles"]).contains("no pipeline may write analytics.titles")
    );
    assert!(!here.prints(&["targets"]).contains("titles"));
}

#[tokio::test]
async fn a_target_whose_key_differs_and_one_that_cannot_be_made_are_problems_of_the_file() {
    let here = Deployment::api(&[]).await;
    let with = |target: &str, table: &str| {
        genres().replace(
            "    target_table: analytics.genre_dim\n",
            &format!("    target_table: {table}\n    target: {target}\n"),
        )
    };
    for (file, told) in [
        (
            with("{key: [name]}", "analytics.genre_dim"),
            "file.yaml:5:14: pipeline genres, target.key: analytics.genre_dim is allowed with the key (genre_id)",
        ),
        (
            with("{key: [name]}", "analytics.new"),
            "there is no table `analytics.new`: create it first, or have it created",
        ),
        (
            with("{create: true, key: [nmae]}", "analytics.new"),
            "the query has no column `nmae`; it has genre_id, name, modified",
        ),
        (with("{create: true, key: [id]}", "es:new"), "other targets are made by their first run"),
    ] {
        here.file("file.yaml", &file);
        let output = here.vitrina(&["apply", "-f", "file.yaml"]).output().unwrap();
        assert!(text(&output).contains(told), "{told}\n{}", text(&output));
        assert!(!text(&output).contains("whitelist"), "{}", text(&output));
    }
}

#[tokio::test]
async fn a_file_comes_from_standard_input_too_and_the_schema_needs_no_api() {
    let here = Deployment::api(&[]).await;
    let path = here.file("file.yaml", &big());
    let mut command = here.vitrina(&["apply", "-f", "-"]);
    let output = command.stdin(std::fs::File::open(path).unwrap()).output().unwrap();
    assert!(text(&output).contains("applied: 1 created"), "{}", text(&output));
    let output = here.vitrina(&["apply", "--schema", "--url", "http://127.0.0.1:9"]).output().unwrap();
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["properties"]["pipelines"].is_object(), "{schema}");
}

#[tokio::test]
async fn a_pipeline_that_runs_is_not_changed_behind_its_back() {
    let here = Deployment::api(&[]).await;
    here.apply(&big());
    here.prints(&["run", "big"]);
    here.file(
        "file.yaml",
        &big().replace("from content.big", "from content.big where id > 1").replace("batch_size: 100", "batch_size: 3"),
    );
    let output = here.vitrina(&["apply", "-f", "file.yaml"]).output().unwrap();
    let told = "pipeline big, source_query: cannot change while the pipeline is RUN_REQUESTED";
    assert!(text(&output).contains(told), "{}", text(&output));
    assert!(here.apply(&big().replace("batch_size: 100", "batch_size: 3")).contains("batch_size: 100 → 3"));
}

#[tokio::test]
async fn a_mart_that_is_not_allowed_yet_is_compared_before_anything_is_written() {
    let here = Deployment::api(&[]).await;
    let marts = "create table analytics.narrow (genre_id uuid primary key, name integer, must text not null)";
    sqlx::raw_sql(marts).execute(here.db.admin()).await.unwrap();
    let good = "pipelines:
  - name: good
    mode: full
    target_table: analytics.good
    target: {create: true, key: [genre_id]}
    source_query: select id as genre_id, name, modified from content.genre
";
    let narrow = "  - name: narrow
    mode: full
    target_table: analytics.narrow
    target: {key: [genre_id]}
    source_query: select id as genre_id, name, modified from content.genre
";
    here.file("file.yaml", &format!("{good}{narrow}"));
    for command in [&["validate", "-f", "file.yaml"][..], &["apply", "-f", "file.yaml"]] {
        let output = here.vitrina(command).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        for told in [
            "pipeline narrow, source_query: `analytics.narrow` has no column `modified`",
            "pipeline narrow, source_query: the query lacks `must`",
            "pipeline narrow, source_query: column `name` is text in the query and integer in `analytics.narrow`",
            "file.yaml has 3 problems, nothing was changed",
        ] {
            assert!(text(&output).contains(told), "{told}\n{}", text(&output));
        }
    }
    let there: (i64, i64, bool) = sqlx::query_as(
        "select (select count(*) from etl.etl_pipelines),
                (select count(*) from etl.etl_targets where target in ('analytics.good', 'analytics.narrow')),
                to_regclass('analytics.good') is null",
    )
    .fetch_one(here.db.admin())
    .await
    .unwrap();
    assert_eq!(there, (0, 0, true));
}

fn films(name: &str, mode: &str, target: &str, query: &str) -> String {
    let walk = if mode == "full" { "" } else { "\n    incremental_key: modified\n    incremental_id_key: id" };
    format!(
        "  - name: {name}\n    mode: {mode}{walk}\n    target_table: analytics.ff\n{target}    source_query: select {query} from content.big\n"
    )
}

#[tokio::test]
async fn two_pipelines_of_a_file_share_a_new_target() {
    let here = Deployment::api(&[]).await;
    let create = "    target: {create: true, key: [id]}\n";
    let (one, two) = ("id, modified", "id, modified, 1 as extra");
    for second in ["", create, "    target: {key: [id]}\n"] {
        let pair = |query: &str| {
            format!(
                "pipelines:\n{}{}",
                films("a", "incremental", create, one),
                films("b", "incremental", second, query)
            )
        };
        // The second is compared with the table that the first has created.
        here.file("wrong.yaml", &pair(two));
        let output = here.vitrina(&["apply", "-f", "wrong.yaml"]).output().unwrap();
        let told = "pipeline b, source_query: `analytics.ff` has no column `extra`; it has id, modified";
        assert!(text(&output).contains(told) && text(&output).contains("has 1 problem,"), "{}", text(&output));

        let applied = here.apply(&pair(one));
        assert_eq!(applied.matches("create table analytics.ff").count(), 1, "{applied}");
        assert!(applied.contains("1 target, 2 created"), "{applied}");
        for name in ["a", "b"] {
            assert!(here.prints(&["delete", name]).contains("is deleted with its runs and checkpoint"));
        }
        assert!(here.prints(&["targets", "--remove", "analytics.ff"]).contains("any more"));
        sqlx::raw_sql("drop table analytics.ff").execute(here.db.admin()).await.unwrap();
    }
    let both_full = format!(
        "pipelines:\n{}{}",
        films("a", "full", create, one),
        films("b", "full", "", "id, null::timestamptz as modified")
    );
    here.file("file.yaml", &both_full);
    let output = here.vitrina(&["apply", "--dry-run", "-f", "file.yaml"]).output().unwrap();
    let told =
        "pipeline b, target_table: pipeline `a` writes `analytics.ff` too, by another query, and this pipeline is full";
    assert!(text(&output).contains(told) && text(&output).contains("has 1 problem,"), "{}", text(&output));
}

#[tokio::test]
async fn one_mistake_is_told_once_though_the_table_is_created_from_it() {
    let here = Deployment::api(&[]).await;
    let create = "    target: {create: true, key: [id]}\n";
    for (from, to) in [
        ("content.big", "content.nothing"),
        ("select id, modified from content.big", "''"),
        ("target_table: analytics.ff", "target_table: ff"),
        (
            "source_query: select id, modified from content.big",
            "type: RUST\n    tasks: [{order_index: 1, task_type: SQL, body: 'select id, modified from content.big'}, {order_index: 2, task_type: RUST, body: rename, options: {columns: {modified: changed}}}]",
        ),
    ] {
        here.file(
            "file.yaml",
            &format!("pipelines:\n{}", films("a", "full", create, "id, modified")).replace(from, to),
        );
        let output = here.vitrina(&["validate", "-f", "file.yaml"]).output().unwrap();
        assert!(text(&output).contains("file.yaml has 1 problem,"), "{}", text(&output));
    }
}

#[tokio::test]
async fn a_pipeline_is_deleted_and_its_mart_stays() {
    let here = Deployment::api(&[]).await;
    here.apply(&genres());
    assert!(here.prints(&["status", "genres"]).contains("analytics.genre_dim"), "an alias of show");
    let told = here.prints(&["delete", "genres"]);
    assert_eq!(told, "`genres` is deleted with its runs and checkpoint; what is in analytics.genre_dim stays\n");
    assert!(here.prints(&["targets"]).contains("analytics.genre_dim"));
    here.apply(&genres());
    assert_eq!(here.json(&["delete", "genres"])["deleted"], "genres");
    assert_eq!(here.json(&["ls"])["items"].as_array().unwrap().len(), 0);
}
