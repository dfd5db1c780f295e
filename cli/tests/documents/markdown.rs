//! What a Markdown document is made of, as far as we look: fenced blocks with the remark before them, and prose.

use std::{fs, path::PathBuf};

/// A file of this repository.
pub fn repository(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

/// The text of a file of this repository.
pub fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A fenced block.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The line of its fence, counted from 1.
    pub line: usize,
    /// What follows the opening fence.
    pub language: String,
    /// The HTML comment right before it, if there is one.
    pub remark: String,
    /// What is in it, without the indent of the fence.
    pub text: String,
}

/// A document, taken apart.
#[derive(Debug, Default)]
pub struct Document {
    /// Its fenced blocks, in order.
    pub blocks: Vec<Block>,
    /// Everything else.
    pub prose: String,
}

/// Takes a document apart.
pub fn parse(text: &str) -> Document {
    let mut document = Document::default();
    let mut remark = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let words = line.trim();
        if let Some(language) = words.strip_prefix("```") {
            let indent = line.len() - line.trim_start().len();
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
            let text = inside.map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect();
            let language = language.to_owned();
            document.blocks.push(Block { line: at + 1, language, remark: std::mem::take(&mut remark), text });
            continue;
        }
        document.prose.push_str(line);
        document.prose.push('\n');
        if let Some(comment) = words.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) {
            comment.trim().clone_into(&mut remark);
        } else if !words.is_empty() {
            remark.clear();
        }
    }
    document
}

/// A command of a console block, and what the document shows of its output.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub command: String,
    pub shown: String,
}

/// The commands of a console block: a line after `$ `, and the lines after it while a quote is open.
pub fn steps(console: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in console.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (_, Some(step)) if step.shown.is_empty() && is_open(&step.command) => {
                step.command.push('\n');
                step.command.push_str(line);
            }
            (Some(command), _) => steps.push(Step { command: command.to_owned(), shown: String::new() }),
            (None, Some(step)) => {
                step.shown.push_str(line);
                step.shown.push('\n');
            }
            (None, None) => panic!("a console block begins with a command after `$ `, not with {line:?}"),
        }
    }
    steps
}

/// Whether the shell would ask for another line.
fn is_open(command: &str) -> bool {
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None | Some('"'), '\\') if letters.next().is_none() => return true,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None | Some(_), _) => {}
        }
    }
    quote.is_some()
}

#[test]
fn a_block_has_its_remark_and_loses_its_indent() {
    let document = parse("Do:\n\n   <!-- not run: why -->\n   ```sh\n   make\n     more\n   ```\n\n```json\n{}\n```\n");
    let first = Block { line: 4, language: "sh".into(), remark: "not run: why".into(), text: "make\n  more\n".into() };
    let second = Block { line: 9, language: "json".into(), text: "{}\n".into(), ..Block::default() };
    assert_eq!(document.blocks, [first, second]);
    assert!(!document.prose.contains("make") && document.prose.contains("Do:"));
}

#[test]
fn a_command_goes_on_while_a_quote_is_open() {
    let steps = steps("$ curl -d '{\n    \"a\": \"it is\"}' \\\n  x\n{}\n$ echo \"it's\"\n");
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0], Step { command: "curl -d '{\n    \"a\": \"it is\"}' \\\n  x".into(), shown: "{}\n".into() });
    assert_eq!(steps[1].command, "echo \"it's\"");
}
