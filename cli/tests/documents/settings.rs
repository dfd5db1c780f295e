//! The page of commands and settings has all of them, with the defaults that they have.

use clap::CommandFactory;
use vitrina::arguments::Arguments;

use crate::markdown::read;

const PAGE: &str = "docs/settings.md";

/// Rows of the page's tables, by their first cell.
fn rows() -> Vec<(String, String)> {
    let page = read(PAGE);
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    cells.map(|(first, rest)| (first.to_owned(), rest.to_owned())).collect()
}

#[test]
fn every_command_is_on_the_page() {
    let rows = rows();
    let commands = Arguments::command();
    let named: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
    assert!(named.len() > 20);
    for name in named {
        let is_it =
            |cell: &str| cell.replace("`vitrina ", "`").split('`').any(|code| code.split(' ').next() == Some(name));
        assert!(rows.iter().any(|(first, _)| is_it(first)), "{PAGE} lacks `vitrina {name}`");
    }
}

#[test]
fn every_variable_of_the_sample_is_on_the_page_with_its_default() {
    let rows = rows();
    let sample = read(".env.sample");
    let (ours, _) = sample.split_once("# --- docker compose").unwrap();
    let variables = ours.lines().filter_map(|line| line.strip_prefix('#')?.split_once('='));
    let variables: Vec<_> = variables.filter(|(name, _)| !name.contains(' ')).collect();
    assert!(variables.len() > 20);
    for (name, default) in variables {
        // The page of Elasticsearch has those.
        if name.starts_with("VITRINA_ELASTICSEARCH_") {
            assert!(read("docs/ELASTICSEARCH.md").contains(&format!("| `{name}` |")), "{name}");
            continue;
        }
        let row = rows.iter().find(|(first, _)| *first == format!("`{name}`"));
        let (_, rest) = row.unwrap_or_else(|| panic!("{PAGE} lacks {name}"));
        let is_an_example = default.contains("SECRET") || default.contains("PASSWORD");
        let shown = rest.split(" | ").next().unwrap().trim_matches('`');
        assert!(is_an_example || default.is_empty() || shown == default, "{PAGE}: {name} is {default}, not {shown}");
    }
}
