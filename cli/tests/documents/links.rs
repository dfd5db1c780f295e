//! Links between documents lead somewhere.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

use crate::markdown::{parse, repository};

/// Every Markdown file of the repository, and its text.
pub fn documents() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![repository("").canonicalize().unwrap()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if entry.file_type().unwrap().is_dir() {
                if !name.starts_with('.') && name != "target" && name != "node_modules" {
                    directories.push(path);
                }
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path, text);
            }
        }
    }
    found
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let prose = parse(text).prose;
    let headings = prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let anchor: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
            let count = seen.entry(anchor.clone()).and_modify(|count| *count += 1).or_default();
            if *count == 0 { anchor } else { format!("{anchor}-{count}") }
        })
        .collect()
}

/// Where a document links to, without the web.
fn links(text: &str) -> Vec<String> {
    let code = Regex::new(r"`[^`\n]*`").unwrap();
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let prose = parse(text).prose;
    let prose = code.replace_all(&prose, "code");
    let targets = link.captures_iter(&prose).map(|found| found[1].to_owned());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// What is wrong with a link, if anything is.
fn problem(document: &Path, link: &str, documents: &BTreeMap<PathBuf, String>) -> Option<String> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { document.to_owned() } else { document.parent().unwrap().join(path) };
    let Ok(target) = target.canonicalize() else {
        return Some(format!("{}: there is no {path}", document.display()));
    };
    if anchor.is_empty() {
        return None;
    }
    let known = documents.get(&target).map(|text| anchors(text)).unwrap_or_default();
    (!known.iter().any(|known| known == anchor)).then(|| format!("{}: {link} has no such heading", document.display()))
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_heading() {
    let documents = documents();
    let mut looked_at = 0;
    let mut problems = Vec::new();
    for (document, text) in &documents {
        for link in links(text) {
            looked_at += 1;
            problems.extend(problem(document, &link, &documents));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(looked_at > 50, "only {looked_at} links were found");
}

#[test]
fn headings_get_the_anchors_that_github_gives_them() {
    let text = "# Two words\n## Why: `etl_page.run`?\n```\n# not a heading\n```\n## Two words\n";
    assert_eq!(anchors(text), ["two-words", "why-etl_pagerun", "two-words-1"]);
}

#[test]
fn links_in_code_and_to_the_web_are_left_alone() {
    assert_eq!(links("[a\nb](x.md#y) `[c](d.md)` [e](https://example.org)"), ["x.md#y"]);
}
