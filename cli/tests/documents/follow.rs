//! Following a document from its beginning to its end.

use serde_json::Value;

use crate::{
    markdown::{Block, Step, parse, read, steps},
    terminal::Desk,
};

const OWNER: &str =
    "db=postgres://vitrina_owner:$(cat .vitrina/owner.password)@127.0.0.1:$(cat .vitrina/postgres.port)/vitrina";

/// Does what the document says in an empty directory, and makes sure that there were at least so many blocks to do.
pub fn follow(document: &str, at_least: usize) {
    follow_text(&read(document), document, at_least);
}

/// The same with a text.
pub fn follow_text(text: &str, name: &str, at_least: usize) {
    do_document(&mut Desk::new(), text, name, at_least);
}

/// The same, where `vitrina up` runs already and its database has the cinema; `$db` is its owner's address.
pub fn follow_at_the_cinema(document: &str, at_least: usize) {
    let mut desk = Desk::new();
    desk.start("vitrina up", "…api listening…");
    for command in ["vitrina cinema --films 1000 --ratings 5000", OWNER] {
        expect_success(&mut desk, command, document);
    }
    do_document(&mut desk, &read(document), document, at_least);
}

/// The same with a copy of the examples' service in the directory.
pub fn follow_beside_the_service(document: &str, at_least: usize) {
    do_document(&mut Desk::beside_the_service(), &read(document), document, at_least);
}

/// The same with the page of an example, in a copy of its directory.
pub fn follow_example(name: &str, at_least: usize) {
    let document = format!("examples/{name}/README.md");
    do_document(&mut Desk::in_example(name), &read(&document), &document, at_least);
}

fn do_document(desk: &mut Desk, text: &str, document: &str, at_least: usize) {
    let mut done = 0;
    for block in parse(text).blocks {
        let place = format!("{document}:{}", block.line);
        if do_block(desk, &block, &place) {
            done += 1;
        }
    }
    assert!(done >= at_least, "{document}: only {done} blocks could be tried");
}

/// Returns whether there was something to do.
fn do_block(desk: &mut Desk, block: &Block, place: &str) -> bool {
    if let Some(reason) = block.remark.strip_prefix("not run:") {
        assert!(!reason.trim().is_empty(), "{place}: say why it is not run");
        return false;
    }
    if let Some(command) = block.remark.strip_prefix("before: ") {
        expect_success(desk, command, place);
    }
    match block.language.as_str() {
        "console" => do_console(desk, block, place),
        "yaml" => do_yaml(desk, &block.text, place),
        "json" => check_pipeline(desk, &block.text, place),
        "sql" => do_sql(desk, &block.text, place),
        "text" => {
            assert!(!block.text.lines().any(|line| line.starts_with("$ ")), "{place}: commands belong into `console`");
            return false;
        }
        other => panic!("{place}: a block of {other:?} cannot be tried; mark it with <!-- not run: why -->"),
    }
    true
}

fn do_console(desk: &mut Desk, block: &Block, place: &str) {
    let mut steps = steps(&block.text);
    if block.remark == "stays" {
        assert_eq!(steps.len(), 1, "{place}: one command has the terminal");
        desk.start(&steps[0].command, &steps[0].shown);
        return;
    }
    let last = steps.pop().unwrap_or_else(|| panic!("{place}: no command after `$ `"));
    for step in &steps {
        do_step(desk, step, 0, place);
    }
    let code = block.remark.strip_prefix("exits with ").map_or(0, |code| code.parse().unwrap());
    do_step(desk, &last, code, place);
}

fn do_step(desk: &mut Desk, step: &Step, code: i32, place: &str) {
    let Step { command, shown } = step;
    let ended = desk.run(command);
    let printed = ended.everything();
    assert_eq!(ended.code, code, "{place}: {command}\nprinted\n{printed}");
    assert!(
        shown.is_empty() || ended.agrees(shown),
        "{place}: {command}\nprinted\n{printed}\nbut the document shows\n{shown}"
    );
}

/// A file if its first line says which, otherwise pipelines that could be applied.
fn do_yaml(desk: &mut Desk, text: &str, place: &str) {
    if let Some(name) =
        text.lines().next().and_then(|line| line.strip_prefix("# ")).filter(|name| name.ends_with(".yaml"))
    {
        desk.write(name, text);
        return;
    }
    desk.write("snippet.yaml", text);
    expect_success(desk, "vitrina apply -f snippet.yaml --dry-run", place);
}

/// The body of `POST /pipelines`, which nothing must be wrong with.
fn check_pipeline(desk: &mut Desk, text: &str, place: &str) {
    let body: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{place}: {error}"));
    desk.write("snippet.json", &body.to_string());
    let printed = expect_success(
        desk,
        "curl -sS http://127.0.0.1:8080/api/v1/pipelines/validate -H 'Content-Type: application/json' -d @snippet.json",
        place,
    );
    assert_eq!(printed.trim(), r#"{"problems":[]}"#, "{place}");
}

/// A statement, or the query of a pipeline of the demo.
fn do_sql(desk: &mut Desk, text: &str, place: &str) {
    if text.contains(":after_key") {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = words(text.trim_end().trim_end_matches(';'));
        assert!(words(&read("demo/pipelines.yaml")).contains(&shown), "{place}: not a query of demo/pipelines.yaml");
        return;
    }
    desk.write("snippet.sql", text);
    expect_success(desk, "psql \"$db\" -v ON_ERROR_STOP=1 -f snippet.sql", place);
}

fn expect_success(desk: &mut Desk, command: &str, place: &str) -> String {
    let ended = desk.run(command);
    assert_eq!(ended.code, 0, "{place}: {command}\nprinted\n{}", ended.everything());
    ended.output
}
