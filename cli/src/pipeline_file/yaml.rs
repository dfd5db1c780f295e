//! YAML as a tree in which every value has its line and column.

use std::{borrow::Cow, fmt};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value};
use vitrina_shared::domain::kept_number::{LOST, is_kept};

use super::FileProblem;

/// No pipeline file is nested deeper.
const DEEPEST: usize = 32;
/// An alias repeats what it names; a few of them can make a small file huge.
const MOST_NODES: usize = 100_000;
/// So can a long text with many aliases. The API takes a pipeline of 1 MiB.
const MOST_MIB: usize = 16;

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    line: usize,
    column: usize,
}

/// The beginning of a file.
impl Default for LineColumn {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) place: LineColumn,
    pub(super) content: Content,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Scalar(Value),
    List(Vec<Node>),
    /// Keys with their places, in the order of the file.
    Map(Vec<(String, LineColumn, Node)>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Scalar(Value::Null)
    }
}

impl Node {
    pub(super) fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(Value::Null))
    }

    pub(super) fn child(&self, key: &str) -> Option<&Self> {
        let Content::Map(entries) = &self.content else { return None };
        entries.iter().find(|(name, _, _)| name == key).map(|(_, _, node)| node)
    }

    pub(super) fn item(&self, at: usize) -> Option<&Self> {
        if let Content::List(items) = &self.content { items.get(at) } else { None }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Map(entries) => {
                entries.iter().map(|(key, _, node)| (key.clone(), node.to_json())).collect::<Map<_, _>>().into()
            }
        }
    }

    /// Where the field of that path stands, for instance `tasks[1].body`; where there is none, what would hold it.
    pub(super) fn place(&self, path: &str) -> LineColumn {
        let (mut node, mut place) = (self, self.place);
        for step in path.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
            let found = match &node.content {
                Content::Map(entries) => {
                    entries.iter().find(|(key, _, _)| key == step).map(|(_, at, node)| (*at, node))
                }
                Content::List(items) => {
                    step.parse().ok().and_then(|at: usize| items.get(at)).map(|node| (node.place, node))
                }
                Content::Scalar(_) => None,
            };
            let Some((at, inner)) = found else { break };
            (node, place) = (inner, at);
        }
        place
    }

    /// Values, and bytes of text, with all that is within.
    fn size(&self) -> Size {
        match &self.content {
            Content::Scalar(value) => Size { nodes: 1, bytes: value.as_str().map_or(0, str::len) },
            Content::List(items) => items.iter().map(Self::size).fold(Size::NODE, Size::plus),
            Content::Map(entries) => {
                let of_entry =
                    |(key, _, node): &(String, LineColumn, Self)| node.size().plus(Size { nodes: 1, bytes: key.len() });
                entries.iter().map(of_entry).fold(Size::NODE, Size::plus)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
}

impl Size {
    const NODE: Self = Self { nodes: 1, bytes: 0 };

    fn plus(self, other: Self) -> Self {
        Self { nodes: self.nodes.saturating_add(other.nodes), bytes: self.bytes.saturating_add(other.bytes) }
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Node>, FileProblem> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text.trim_start_matches('\u{feff}')) {
        let (event, span) = event.map_err(|error| {
            let at = LineColumn { line: error.marker().line().max(1), column: error.marker().col() + 1 };
            wrong(at, format!("this is not YAML: {}", error.info()))
        })?;
        builder.take(event, place(&span))?;
    }
    Ok(builder.documents)
}

fn place(span: &Span) -> LineColumn {
    LineColumn { line: span.start.line().max(1), column: span.start.col() + 1 }
}

fn wrong(place: LineColumn, message: String) -> FileProblem {
    FileProblem { place, about: String::new(), message }
}

#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: std::collections::HashMap<usize, Node>,
    size: Size,
}

/// A list or map that is not complete yet.
struct Open {
    node: Node,
    anchor: usize,
    /// The key whose value comes next.
    key: Option<(String, LineColumn)>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, place: LineColumn) -> Result<(), FileProblem> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.grow(Size { nodes: 1, bytes: text.len() }, anchor > 0, place)?;
                let content = Content::Scalar(scalar(&text, style, tag.as_ref(), place)?);
                self.put(Node { place, content }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(Content::List(Vec::new()), anchor, place),
            Event::MappingStart(anchor, _) => self.begin(Content::Map(Vec::new()), anchor, place),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.put(open.node, open.anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some(size) = self.anchors.get(&anchor).map(Node::size) else {
                    return Err(wrong(place, "this alias names nothing that stands before it".to_owned()));
                };
                // Checked before the copy, so that a value that is too large is never made.
                self.grow(size, false, place)?;
                let node = self.anchors.get(&anchor).cloned().unwrap_or_default();
                self.put(node, 0)
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
        }
    }

    fn begin(&mut self, content: Content, anchor: usize, place: LineColumn) -> Result<(), FileProblem> {
        if self.open.len() == DEEPEST {
            return Err(wrong(place, format!("this is nested more than {DEEPEST} times")));
        }
        self.grow(Size::NODE, false, place)?;
        self.open.push(Open { node: Node { place, content }, anchor, key: None });
        Ok(())
    }

    /// Counts what is about to be kept, `twice` where it has a name by which it can be repeated.
    fn grow(&mut self, size: Size, twice: bool, place: LineColumn) -> Result<(), FileProblem> {
        self.size = self.size.plus(size);
        if twice {
            self.size = self.size.plus(size);
        }
        if self.size.nodes > MOST_NODES {
            return Err(wrong(place, format!("the file has more than {MOST_NODES} values")));
        }
        if self.size.bytes > MOST_MIB * 1024 * 1024 {
            return Err(wrong(place, format!("the file has more than {MOST_MIB} MiB, with what its aliases repeat")));
        }
        Ok(())
    }

    /// Adds a complete value to its parent: to a map as key or value, to a list, or as a document.
    fn put(&mut self, node: Node, anchor: usize) -> Result<(), FileProblem> {
        if anchor > 0 {
            if !matches!(node.content, Content::Scalar(_)) {
                self.grow(node.size(), false, node.place)?;
            }
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            return Ok(());
        };
        match (&mut open.node.content, open.key.take()) {
            (Content::List(items), _) => items.push(node),
            (Content::Map(entries), Some((key, at))) => entries.push((key, at, node)),
            (Content::Map(entries), None) => {
                let Content::Scalar(Value::String(key)) = node.content else {
                    return Err(wrong(node.place, "a key is a word".to_owned()));
                };
                if entries.iter().any(|(known, _, _)| *known == key) {
                    return Err(wrong(node.place, format!("`{key}` stands here twice")));
                }
                open.key = Some((key, node.place));
            }
            (Content::Scalar(_), _) => {}
        }
        Ok(())
    }
}

/// The value of a scalar, by the core schema of YAML 1.2: what is quoted or in a block is text.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Cow<'_, Tag>>, place: LineColumn) -> Result<Value, FileProblem> {
    if let Some(tag) = tag {
        return match tag.suffix.as_str() {
            "str" => Ok(Value::String(text.to_owned())),
            other => Err(wrong(place, format!("the tag `{other}` means nothing here: leave it out"))),
        };
    }
    if style != ScalarStyle::Plain {
        return Ok(Value::String(text.to_owned()));
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number(text) {
            Some(_) if !is_kept(text) => return Err(wrong(place, LOST.to_owned())),
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    })
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return None;
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = unsigned.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = unsigned.parse::<u64>() {
        return Some(whole.into());
    }
    let like_a_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let number = unsigned.chars().all(like_a_number).then(|| unsigned.parse::<f64>().ok())??;
    // One that is too large for any double is not kept either.
    Some(Number::from_f64(number).unwrap_or_else(|| 0.into()))
}
