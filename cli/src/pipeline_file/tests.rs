use super::*;

fn problems(text: &str) -> Vec<String> {
    match PipelineFile::parse("f", text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

const GOOD: &str = "pipelines:
  - name: genre_dim
    mode: full
    target_table: analytics.genre_dim
    source_query: |
      select 1
";

#[test]
fn a_good_file_has_no_problems_and_its_defaults() {
    let file = PipelineFile::parse("f", GOOD).expect("a good file");
    let body = file.pipelines[0].wanted.body();
    assert_eq!(body["source_query"], "select 1\n");
    assert_eq!((&body["batch_size"], &body["type"]), (&1000.into(), &"SQL".into()));
    assert_eq!(body["options"], serde_json::json!({}));
    assert!(body.get("enabled").is_none() && body.get("target").is_none(), "{body}");
}

#[test]
fn the_demos_file_is_good() {
    let file = PipelineFile::parse("f", include_str!("../../../demo/pipelines.yaml")).expect("the demo's file");
    assert_eq!(file.pipelines.len(), 3);
}

#[test]
fn documents_add_up_and_may_be_empty() {
    let file =
        PipelineFile::parse("f", &format!("---\n---\n{GOOD}---\ntargets:\n- target: es:x\n  key: [id]\npipelines:\n"));
    let file = file.expect("three documents");
    assert_eq!((file.pipelines.len(), file.targets.len()), (1, 1));
    assert!(PipelineFile::parse("f", "pipelines: []").expect("no pipelines").pipelines.is_empty());
    for nothing in ["", "---\n", "# later\n"] {
        assert_eq!(problems(nothing), ["1:1: there is nothing in it: write `pipelines:` and a list of them"]);
    }
}

#[test]
fn every_problem_is_found_at_once_with_its_place() {
    let text = "pipelines:
  - name: a
    mdoe: full
    target_table: analytics.a
    batch_size: many
    options: {null_keys: frist, tempo: 1}
  - name: b
    mode: ful
    enabled: yes
    tasks: SQL
  - mode: full
    target_table: analytics.c
    tasks: [{order_index: 1, task_type: SQL, body: x}, {order_index: 2, task_type: RUST, body: mask, option: 1}]
";
    assert_eq!(
        problems(text),
        [
            "3:5: pipeline a: there is no `mdoe` here; did you mean `mode`?",
            "5:17: pipeline a, batch_size: takes a whole number, not the text `many`",
            "6:26: pipeline a, options.null_keys: takes error or first, not `frist`; did you mean `first`?",
            "6:33: pipeline a, options: there is no `tempo` here; it takes full_strategy, hooks, key_order, lookback_seconds, max_rejects, max_removed, null_keys, on_row_error",
            "2:5: pipeline a: `mode` is missing",
            "8:11: pipeline b, mode: takes full or incremental, not `ful`; did you mean `full`?",
            "9:14: pipeline b, enabled: takes true or false, not the text `yes`",
            "10:12: pipeline b, tasks: takes a list, not the text `SQL`",
            "7:5: pipeline b: `target_table` is missing",
            "13:102: pipelines[2], tasks[1]: there is no `option` here; did you mean `options`?",
            "11:5: pipelines[2]: `name` is missing",
        ]
    );
}

#[test]
fn what_only_the_parser_finds_is_called_like_everything_else() {
    let found = problems(&GOOD.replace("    mode: full\n", "    mode: full\n    options: {max_removed: 2.5}\n"));
    assert!(found[0].starts_with("4:15: pipeline genre_dim, options.max_removed: "), "{found:?}");
}

#[test]
fn a_number_that_would_lose_digits_is_refused_wherever_it_stands() {
    let options = |value: &str| {
        format!(
            "pipelines:
  - name: a
    mode: full
    target_table: analytics.a
    tasks: [{{order_index: 1, task_type: RUST, body: set, options: {{columns: {{n: {{value: {value}}}}}}}}}]
"
        )
    };
    for lost in ["12345678901234567890.123", "+18446744073709551616", "0.12345678901234567890123", "-1e400", "1e-400"] {
        let message = "5:89: not all digits of this number would be kept: write it as a text, in quotes";
        assert_eq!(problems(&options(lost)), [message], "{lost}");
    }
    for (kept, expected) in [
        ("18446744073709551615", serde_json::json!(18_446_744_073_709_551_615_u64)),
        ("+1.50", serde_json::json!(1.5)),
        ("'12345678901234567890.123'", serde_json::json!("12345678901234567890.123")),
        ("2026-01-31", serde_json::json!("2026-01-31")),
        ("1.2.3", serde_json::json!("1.2.3")),
    ] {
        let file = PipelineFile::parse("f", &options(kept)).expect(kept);
        let pipeline = file.pipelines[0].wanted.body();
        assert_eq!(pipeline["tasks"][0]["options"]["columns"]["n"]["value"], expected, "{kept}");
    }
}

#[test]
fn what_is_no_yaml_is_told_with_line_and_column() {
    for (text, place) in [("pipelines:\n  - name: [a\n", "3:1"), ("a: b: c\n", "1:5"), ("a: \"b", "1:")] {
        let found = problems(text);
        assert!(found.len() == 1 && found[0].starts_with(place) && found[0].contains("not YAML"), "{found:?}");
    }
}

#[test]
fn a_pipeline_that_is_no_item_of_the_list_is_told_where_it_belongs() {
    let found = problems("name: a\nmode: full\n");
    assert!(found[0].contains("a pipeline is an item of the list `pipelines:`"), "{found:?}");
    assert_eq!(problems("- name: a\n"), ["1:1: takes fields with values, not a list"]);
    assert_eq!(problems("hello\n"), ["1:1: takes fields with values, not the text `hello`"]);
}

#[test]
fn names_and_keys_stand_once() {
    assert_eq!(problems("pipelines: []\npipelines: []\n"), ["2:1: `pipelines` stands here twice"]);
    let twice = format!("{GOOD}{}", GOOD.replace("pipelines:\n", ""));
    assert_eq!(problems(&twice), ["7:5: pipeline genre_dim, name: another pipeline of this file has the same name"]);
}

#[test]
fn aliases_cannot_make_a_small_file_huge() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..8 {
        let before = level - 1;
        text.push_str(&format!(
            "a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}]\n"
        ));
    }
    assert!(problems(&text)[0].contains("more than 100000 values"));
    assert!(problems(&"[".repeat(100))[0].contains("nested more than 32 times"));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(3_000));
    assert!(problems(&long)[0].contains("more than 16 MiB"), "{:?}", problems(&long)[0].len());
}

#[test]
fn the_place_of_a_field_is_found_by_its_path() {
    let node = yaml::parse("a:\n  - b: 1\n    c: 2\n").expect("yaml").remove(0);
    assert_eq!(node.place("a[0].c").to_string(), "3:5");
    assert_eq!(node.place("a[7].c").to_string(), "1:1");
    assert_eq!(node.place("").to_string(), "1:1");
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pipeline.schema.json");
    let published = std::fs::read_to_string(path).expect("docs/pipeline.schema.json");
    assert!(published == schema_text(), "write it anew: vitrina apply --schema > docs/pipeline.schema.json");
}
