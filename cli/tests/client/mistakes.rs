//! Wrong inputs, and the message that each one gets: what is wrong, and what would be right.

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::Command,
};

use crate::support::{Deployment, big, free_port, genres, program, text, tokens};

/// A mistake: what is typed, how it ends, and what must be said about it.
struct Mistake {
    typed: &'static [&'static str],
    code: i32,
    told: &'static [&'static str],
}

fn mistake(typed: &'static [&'static str], code: i32, told: &'static [&'static str]) -> Mistake {
    Mistake { typed, code, told }
}

fn check(command: &mut Command, mistake: &Mistake) {
    let output = command.output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(mistake.code), "{:?}: {said}", mistake.typed);
    for part in mistake.told {
        assert!(said.contains(part), "{:?} should say «{part}»:\n{said}", mistake.typed);
    }
    assert!(!said.contains("panicked") && !said.contains("RUST_BACKTRACE"), "{said}");
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_there_is() {
    for wrong in [
        mistake(&["fly"], 2, &["unrecognized subcommand 'fly'", "--help"]),
        mistake(&["shwo", "x"], 2, &["unrecognized subcommand 'shwo'", "similar subcommand", "'show'"]),
        mistake(&["show"], 2, &["<NAME>", "Usage: vitrina show"]),
        mistake(&["ls", "--jsn"], 2, &["unexpected argument '--jsn'", "'--json'"]),
        mistake(&["ls", "--status", "BUSY"], 2, &["invalid value 'BUSY'", "RUN_REQUESTED"]),
        mistake(&["ls", "--url", "localhost:8080"], 2, &["--url <URL>", "write it like http://127.0.0.1:8080"]),
        mistake(&["ls", "--token", ""], 2, &["--token", "the token is empty"]),
        mistake(&["reconcile", "x", "--depth", "deep"], 2, &["invalid value 'deep'", "counts, keys, rows"]),
        mistake(&["runs", "x", "--limit", "0"], 2, &["0 is not in 1..=200"]),
        mistake(&["apply"], 2, &["--file <FILE>"]),
        mistake(&["apply", "films.yaml"], 2, &["a file is given with -f: vitrina apply -f films.yaml"]),
        mistake(&["validate"], 2, &["NAME"]),
        mistake(&["completions", "tcsh"], 2, &["invalid value 'tcsh'", "bash"]),
        mistake(&["demo", "--films", "many"], 2, &["invalid value 'many' for '--films <N>'"]),
        mistake(&["up", "--workers", "65"], 2, &["65 is not in 0..=64"]),
    ] {
        check(program().args(wrong.typed), &wrong);
    }
}

#[tokio::test]
async fn what_the_api_refuses_is_said_with_what_would_be_right() {
    let here = Deployment::api(&[]).await;
    let none = mistake(&["show", "x"], 1, &["there is no pipeline `x`: there is none at all yet; `vitrina apply"]);
    check(&mut here.vitrina(none.typed), &none);
    here.apply(&genres());
    here.apply(&big());
    here.apply(&genres().replace("name: genres", "name: off").replace("mode: full", "mode: full\n    enabled: false"));
    for wrong in [
        mistake(&["show", "gernes"], 1, &["there is no pipeline `gernes`: did you mean `genres`?"]),
        mistake(&["run", "gernes", "--wait"], 1, &["did you mean `genres`?"]),
        mistake(&["events", "gernes"], 1, &["did you mean `genres`?"]),
        mistake(&["show", "orders"], 1, &["there is no pipeline `orders`: `vitrina ls` lists what there is"]),
        mistake(&["show", "../targets"], 1, &["there is no pipeline `../targets`"]),
        mistake(&["show", ".."], 1, &["there is no pipeline `..`"]),
        mistake(&["again", "nonsense"], 1, &["there is no run `nonsense`"]),
        mistake(&["pause", "genres"], 1, &["cannot pause a pipeline that is IDLE: it has no run in progress"]),
        mistake(&["run", "off"], 1, &["`off` is disabled"]),
        mistake(&["delete", "gernes"], 1, &["did you mean `genres`?"]),
        mistake(&["run", "big", "--allow-removal"], 1, &["only a full run removes rows: ask for one too (`--full`"]),
        mistake(&["validate", "file.yaml"], 1, &["a file is given with -f: vitrina validate -f file.yaml"]),
    ] {
        check(&mut here.vitrina(wrong.typed), &wrong);
    }
}

#[tokio::test]
async fn a_wrong_file_is_told_with_its_place() {
    let here = Deployment::api(&[]).await;
    let apply: &[&str] = &["apply", "-f", "file.yaml"];
    let missing = mistake(&["apply", "-f", "nowhere.yaml"], 1, &["nowhere.yaml cannot be read: No such file"]);
    check(&mut here.vitrina(missing.typed), &missing);
    let changed = |from: &str, to: &str| genres().replace(from, to);
    for (file, told) in [
        (changed("mode: full", "mode: [full"), "file.yaml:4:"),
        (String::new(), "file.yaml:1:1: there is nothing in it: write `pipelines:` and a list of them"),
        (
            changed("source_query", "souce_query"),
            "file.yaml:5:5: pipeline genres: there is no `souce_query` here; did you mean `source_query`?",
        ),
        (changed("full", "daily"), "file.yaml:3:11: pipeline genres, mode: takes full or incremental, not `daily`"),
        (
            changed("full", "full\n    batch_size: 0"),
            "file.yaml:4:17: pipeline genres, batch_size: takes a number from 1 to 1000000, not 0",
        ),
        (changed("full", "full\n    batch_size: 1e3"), "takes a whole number"),
        (
            changed("full", "full\n    batch_size: 1e9999"),
            "file.yaml:4:17: not all digits of this number would be kept",
        ),
        (changed("genres", "1genres"), "file.yaml:2:5: pipeline 1genres, name: "),
        (changed("full", "full\n    schedule: '* * * * *'"), "there is no `schedule` here"),
        (changed("select id", "delete id"), "file.yaml:5:5: pipeline genres, source_query: a query starts with SELECT"),
        (changed("content.genre", "etl.etl_runs"), "etl.etl_runs is out of reach: queries read from content, ugc"),
        (
            changed("content.genre", "shop.genre"),
            "Add `shop` to VITRINA_SOURCE_SCHEMAS, then restart `vitrina up`, or run",
        ),
        (changed("id as genre_id", "id as genre_id, 1"), "column 2 of the query has no name"),
        (changed("id as genre_id", "id"), "the query lacks `genre_id`"),
        (changed("analytics.genre_dim", "genre_dim"), "`genre_dim` is not a target: write `analytics.<table>`"),
        (changed("analytics.genre_dim", "analytics.orders"), "target `analytics.orders` is not in the whitelist"),
        (
            changed("name: genres", "name: genres\n    tasks: [{order_index: 1, task_type: SQL, body: x, option: 1}]"),
            "did you mean `options`?",
        ),
    ] {
        here.file("file.yaml", &file);
        let output = here.vitrina(apply).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains(told), "«{told}» is not in:\n{}", text(&output));
        assert!(text(&output).contains("nothing was changed"), "{}", text(&output));
    }
}

#[tokio::test]
async fn without_the_right_token_nothing_is_done_and_the_way_to_one_is_told() {
    let (list, _) = tokens();
    let here = Deployment::api(&[("VITRINA_TOKENS", &list)]).await;
    let url = format!("http://{}/docs", here.addr);
    let astray = here.vitrina(&["ls", "--url", &url]).output().unwrap();
    assert!(text(&astray).contains("check the path in --url or VITRINA_URL"), "{}", text(&astray));
    let none = mistake(&["ls"], 1, &["the API asks for a token: set VITRINA_TOKEN"]);
    check(&mut here.vitrina(none.typed), &none);
    let wrong =
        mistake(&["ls", "--token", "not-the-right-secret"], 1, &["the API does not know this token", "VITRINA_TOKENS"]);
    check(&mut here.vitrina(wrong.typed), &wrong);
    let output = here.vitrina(wrong.typed).output().unwrap();
    assert!(!text(&output).contains("not-the-right-secret"));
}

/// Answers every request with these bytes.
fn stranger(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn an_address_that_is_no_api_is_told_from_one_that_does_not_answer() {
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nHello";
    let lost = "HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let moved =
        "HTTP/1.1 301 Moved\r\nLocation: https://new.example.org/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"items\":";
    let busy = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 76\r\nConnection: close\r\n\r\n{\"type\":\"urn:vitrina:problem:too-many\",\"status\":429,\"detail\":\"\",\"errors\":[]}";
    for (url, told) in [
        (format!("http://127.0.0.1:{}", free_port()), "no API answers at"),
        ("http://nobody.invalid".to_owned(), "no API answers at http://nobody.invalid"),
        (stranger(page), "answers, but not as a Vitrina API does (status 200)"),
        (stranger(lost), "answers, but not as a Vitrina API does (status 404)"),
        (stranger(moved), "sends elsewhere (301): give the address that it names, https://new.example.org/"),
        (stranger(cut), "was lost"),
        (stranger("EFATAL"), "see whether this is the API's address"),
        (stranger(busy), "the API has too much to do: try again in a moment"),
    ] {
        let output = program().args(["ls", "--url", &url]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output).contains(told), "«{told}» is not in: {}", text(&output));
    }
    let output = program().arg("ls").env("VITRINA_URL", "nonsense").output().unwrap();
    assert!(text(&output).contains("VITRINA_URL is wrong: "), "{}", text(&output));
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_left_alone() {
    let here = Deployment::api(&[]).await;
    let newer = "insert into etl._sqlx_migrations (version, description, success, checksum, execution_time)
                 values (9999, 'of the future', true, '', 0)";
    sqlx::raw_sql(newer).execute(here.db.admin()).await.unwrap();
    let output = program().arg("migrate").env("DATABASE_URL", here.db.owner_url()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = "the database was migrated by a newer Vitrina (to version 9999)";
    assert!(text(&output).contains(told), "{}", text(&output));
}

#[test]
fn a_wrong_environment_is_told_by_the_variables_name() {
    let place = tempfile::TempDir::new().unwrap();
    for (variables, command, told) in [
        (&[("DATABASE_URL", "mysql://a@b/c")][..], "worker", "DATABASE_URL is no database address"),
        (
            &[("VITRINA_CONCURRENCY", "0"), ("DATABASE_URL", "postgres://a@127.0.0.1:1/x")][..],
            "worker",
            "VITRINA_CONCURRENCY is \"0\"",
        ),
        (
            &[("VITRINA_CREATE_TARGETS", "maybe"), ("DATABASE_URL", "postgres://a@127.0.0.1:1/x")][..],
            "api",
            "VITRINA_CREATE_TARGETS is \"maybe\"",
        ),
        (&[("ELASTICSEARCH_URL", "search:9200")][..], "doctor", "ELASTICSEARCH_URL is no server address"),
    ] {
        let output = program().arg(command).envs(variables.iter().copied()).current_dir(place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output).contains(told), "«{told}» is not in: {}", text(&output));
    }
    // A misspelled setting is ignored, and told, from the environment and from the file.
    std::fs::write(place.path().join(".env"), "VITRINA_CONCURENCY=3\n").unwrap();
    let output =
        program().args(["apply", "--schema"]).env("VITRINA_SOURCE_SCHEMA", "shop").current_dir(place.path()).output();
    let output = output.unwrap();
    assert!(output.status.success());
    for (wrong, right) in
        [("VITRINA_SOURCE_SCHEMA", "VITRINA_SOURCE_SCHEMAS"), ("VITRINA_CONCURENCY", "VITRINA_CONCURRENCY")]
    {
        let told = format!("warning: {wrong} is no setting of Vitrina and is ignored: did you mean {right}?");
        assert!(String::from_utf8_lossy(&output.stderr).contains(&told), "{}", text(&output));
    }
    std::fs::write(place.path().join(".env"), "VITRINA_URL = a b\n").unwrap();
    let output = program().arg("ls").current_dir(place.path()).output().unwrap();
    assert!(text(&output).contains(".env line 1 is not of the form NAME=value"), "{}", text(&output));
}

#[tokio::test]
async fn what_a_row_or_a_file_contains_does_not_steer_the_terminal() {
    let here = Deployment::start().await;
    sqlx::raw_sql("update content.genre set name = E'\\x1b[2J\\u009b31m\\u202eplain'")
        .execute(here.db.admin())
        .await
        .unwrap();
    here.apply(
        &genres().replace("id as genre_id, name, modified", "id as genre_id, (name::int)::text as name, modified"),
    );
    for typed in [&["preview", "genres"][..], &["reconcile", "genres", "--depth", "rows"], &["run", "genres", "--wait"]]
    {
        let output = here.vitrina(typed).output().unwrap();
        let said = text(&output);
        assert!(!output.status.success() && said.contains("plain"), "{typed:?}: {said}");
        assert!(!said.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{typed:?}: {said:?}");
    }
    here.file("file.yaml", "\"\\e[2Jplain\": 1\n");
    for command in ["validate", "apply"] {
        let said = text(&here.vitrina(&[command, "-f", "file.yaml"]).output().unwrap());
        assert!(said.contains("plain") && !said.contains('\u{1b}'), "{command}: {said:?}");
    }
    // JSON is the same for programs, whatever is in it.
    sqlx::raw_sql("update content.genre set name = U&'\\009bplain'").execute(here.db.admin()).await.unwrap();
    here.apply(&genres());
    let printed = here.prints(&["preview", "genres", "--json"]);
    assert!(!printed.contains('\u{9b}'), "{printed:?}");
    let preview: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert!(preview.to_string().contains("\u{9b}plain"), "{preview}");
}

#[test]
fn the_token_of_the_environment_is_not_sent_to_the_address_of_a_file() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let addr = listener.local_addr().unwrap();
    let asked = || {
        let mut asked = 0;
        while listener.accept().is_ok() {
            asked += 1;
        }
        asked
    };
    let directory = tempfile::TempDir::new().unwrap();
    let secret = "environment-secret-1";
    let ls = || {
        let mut command = program();
        command.arg("ls").current_dir(directory.path());
        command
    };
    for line in [format!("VITRINA_URL=http://{addr}"), format!("VITRINA_ADDR={addr}")] {
        std::fs::write(directory.path().join(".env"), format!("{line}\n")).unwrap();
        for command in [ls().env("VITRINA_TOKEN", secret), ls().args(["--token", secret])] {
            let output = command.output().unwrap();
            let said = text(&output);
            assert_eq!((output.status.code(), asked()), (Some(1), 0), "{said}");
            assert!(
                said.contains("the file .env of this directory names the address") && !said.contains(secret),
                "{said}"
            );
        }
    }
    // An address of the user's own is asked, and so is the file's with no token or with the file's own.
    let url = format!("http://{addr}");
    std::fs::write(directory.path().join(".env"), format!("VITRINA_URL={url}\n")).unwrap();
    for command in [ls().args(["--url", &url]).env("VITRINA_TOKEN", secret), &mut ls()] {
        reach(command, &listener);
    }
    std::fs::write(directory.path().join(".env"), format!("VITRINA_URL={url}\nVITRINA_TOKEN=a-secret-of-the-file\n"))
        .unwrap();
    reach(&mut ls(), &listener);
    // Nor does a file say through whom requests go: only settings of ours are taken from it.
    std::fs::write(directory.path().join(".env"), format!("HTTP_PROXY=http://{addr}\nhttp_proxy=http://{addr}\n"))
        .unwrap();
    let output = ls().args(["--url", "http://vitrina.invalid:1"]).env("VITRINA_TOKEN", secret).output().unwrap();
    assert_eq!((output.status.code(), asked()), (Some(1), 0), "{}", text(&output));
}

/// Whether the program asks at this address; it gets no answer.
fn reach(command: &mut Command, listener: &TcpListener) {
    let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let deadline = std::time::Instant::now() + crate::support::SOON;
    let reached = loop {
        match listener.accept() {
            Ok(_) => break true,
            Err(_) if std::time::Instant::now() > deadline => break false,
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    let _ = child.kill();
    child.wait().unwrap();
    while listener.accept().is_ok() {}
    assert!(reached, "no request came");
}
