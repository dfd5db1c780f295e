//! The objects in PostgreSQL's own parse tree of a query.
//!
//! The server stores a view as a tree of nodes, written as text: `{LABEL :field value …}`, lists in parentheses, `<>` for
//! nothing, a backslash before characters that mean something else. Fields and values alternate, so a name that a user
//! chose can never be taken for a field. Every reviewed kind of node and field is in `nodes.txt`; every other one is refused.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::super::Refusal;

static NODES: LazyLock<HashMap<&str, HashMap<&str, Meaning>>> = LazyLock::new(|| {
    let lines = include_str!("nodes.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' ')).map(|(label, fields)| (label, self::fields(fields))).collect()
});

fn fields(line: &'static str) -> HashMap<&'static str, Meaning> {
    let field = |word: &'static str| match word.split_once(':') {
        Some((name, meaning)) => (name, Meaning::of(meaning)),
        None => (word, Meaning::Plain),
    };
    line.split(' ').map(field).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Function,
    Support,
    Operator,
    Order,
    Relation,
    Sampling,
    Type,
    Made,
    Literal,
    Select,
    Unlocked,
    False,
    Absent,
    Origin,
    OriginColumn,
    Plain,
    /// A word that `nodes.txt` does not explain; a test makes sure that there is none.
    Unexplained,
}

impl Meaning {
    fn of(word: &str) -> Self {
        match word {
            "function" => Self::Function,
            "support" => Self::Support,
            "operator" => Self::Operator,
            "order" => Self::Order,
            "relation" => Self::Relation,
            "sampling" => Self::Sampling,
            "type" => Self::Type,
            "made" => Self::Made,
            "literal" => Self::Literal,
            "select" => Self::Select,
            "unlocked" => Self::Unlocked,
            "false" => Self::False,
            "absent" => Self::Absent,
            "origin" => Self::Origin,
            "origin_column" => Self::OriginColumn,
            _ => Self::Unexplained,
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    pub functions: BTreeSet<u32>,
    /// Functions that sorting and grouping bring along.
    pub support: BTreeSet<u32>,
    pub operators: BTreeSet<u32>,
    /// Operators by which rows are sorted or compared.
    pub orders: BTreeSet<u32>,
    pub relations: BTreeSet<u32>,
    pub samplings: BTreeSet<u32>,
    pub types: BTreeSet<u32>,
    /// Types whose values are made by a cast or a literal.
    pub made: BTreeSet<u32>,
    /// Whether it asks for the current date, time or user by a word of its own.
    pub current: bool,
    /// The column of a table that each column of the query is, as its relation and its number; zeros where it is none.
    pub origins: Vec<(u32, i16)>,
}

impl Mentions {
    /// Notes where a column of the query comes from: its table, and then its number there.
    fn note_origin(&mut self, meaning: Meaning, value: &str) -> Result<(), Refusal> {
        if meaning == Meaning::Origin {
            self.origins.push((value.parse().map_err(|_| unknown(value))?, 0));
        } else if meaning == Meaning::OriginColumn {
            let column = value.parse().map_err(|_| unknown(value))?;
            self.origins.last_mut().ok_or_else(|| unknown(value))?.1 = column;
        }
        Ok(())
    }

    fn note(&mut self, meaning: Meaning, value: &str) -> Result<(), Refusal> {
        let list = match meaning {
            Meaning::Function => &mut self.functions,
            Meaning::Support => &mut self.support,
            Meaning::Operator => &mut self.operators,
            Meaning::Order => &mut self.orders,
            Meaning::Relation => &mut self.relations,
            Meaning::Sampling => &mut self.samplings,
            Meaning::Type => &mut self.types,
            // `to_tsvector('english', …)` names a configuration by a literal.
            Meaning::Literal if TEXT_SEARCH.contains(&value) => return Ok(()),
            Meaning::Made | Meaning::Literal => &mut self.made,
            Meaning::Select if value == "1" => return Ok(()),
            Meaning::Unlocked if value == "false" => return Ok(()),
            Meaning::False if matches!(value, "false" | "0") => return Ok(()),
            Meaning::Unlocked => return Err(Refusal::RowLock),
            Meaning::Select | Meaning::False | Meaning::Absent => return Err(Refusal::DataModification),
            Meaning::Unexplained => return Err(unknown(value)),
            Meaning::Plain | Meaning::Origin | Meaning::OriginColumn => return Ok(()),
        };
        let oid = value.parse().map_err(|_| unknown(value))?;
        // Zero is no oid: nothing is there.
        if oid > 0 {
            list.insert(oid);
        }
        Ok(())
    }
}

/// The oids of `regconfig` and `regdictionary`.
const TEXT_SEARCH: [&str; 2] = ["3734", "3769"];

/// How much is open within a column of the whole query: a list, the query, its list of columns, and the column.
const COLUMN_DEPTH: usize = 4;

/// The reader's place: within a node, before a field or before its value, or within a list.
enum Open {
    Field { node: &'static HashMap<&'static str, Meaning>, label: &'static str },
    Value { node: &'static HashMap<&'static str, Meaning>, label: &'static str, meaning: Meaning },
    List { meaning: Meaning, begun: bool },
}

/// Reads a tree. It is as deep as the query, so what is open is kept in a list and not on the stack.
pub(super) fn read(text: &str) -> Result<Mentions, Refusal> {
    let mut mentions = Mentions::default();
    let mut open: Vec<Open> = Vec::new();
    let mut tokens = Tokens(text).peekable();
    while let Some(token) = tokens.next() {
        match open.pop() {
            Some(Open::Field { node, label }) => {
                if token == "}" {
                    continue;
                }
                let field = token.strip_prefix(':').ok_or_else(|| unknown(token))?;
                let meaning = *node.get(field).ok_or_else(|| unknown(&format!("{label}.{field}")))?;
                open.push(Open::Value { node, label, meaning });
            }
            Some(Open::Value { node, label, meaning }) => {
                open.push(Open::Field { node, label });
                if open.len() == COLUMN_DEPTH {
                    mentions.note_origin(meaning, token)?;
                }
                begin(token, meaning, &mut tokens, &mut open, &mut mentions)?;
                // The bytes of a constant follow their number.
                if tokens.peek() == Some(&"[") {
                    tokens.by_ref().find(|token| *token == "]");
                }
            }
            Some(Open::List { meaning, begun }) => {
                if token == ")" {
                    continue;
                }
                open.push(Open::List { meaning, begun: true });
                // A list of numbers begins with their kind.
                let kind = !begun && matches!(token, "o" | "i" | "b" | "x");
                if !kind {
                    begin(token, meaning, &mut tokens, &mut open, &mut mentions)?;
                }
            }
            None => begin(token, Meaning::Plain, &mut tokens, &mut open, &mut mentions)?,
        }
    }
    if open.is_empty() { Ok(mentions) } else { Err(unknown("a tree without an end")) }
}

/// Begins a value: a node, a list, or what is whole already.
fn begin<'t>(
    token: &'t str,
    meaning: Meaning,
    tokens: &mut impl Iterator<Item = &'t str>,
    open: &mut Vec<Open>,
    mentions: &mut Mentions,
) -> Result<(), Refusal> {
    match token {
        "<>" => return Ok(()),
        "{" | "(" if meaning == Meaning::Unlocked => return Err(Refusal::RowLock),
        "{" | "(" if matches!(meaning, Meaning::Absent | Meaning::Select | Meaning::False) => {
            return Err(Refusal::DataModification);
        }
        "{" => {
            let written = tokens.next().unwrap_or_default();
            let (label, node) = NODES.get_key_value(written).ok_or_else(|| unknown(written))?;
            mentions.current |= *label == "SQLVALUEFUNCTION";
            open.push(Open::Field { node, label });
        }
        "(" => open.push(Open::List { meaning, begun: false }),
        ")" | "}" => return Err(unknown(token)),
        value => mentions.note(meaning, value)?,
    }
    Ok(())
}

fn unknown(part: &str) -> Refusal {
    Refusal::UnknownNode { part: part.chars().take(60).collect() }
}

/// The tokens of a tree: brackets, and words in which a backslash keeps the next character from meaning anything.
struct Tokens<'t>(&'t str);

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = self.0.trim_start_matches([' ', '\n', '\t']);
        let mut escaped = false;
        let ends = |character: char| {
            let ends = !escaped && matches!(character, ' ' | '\n' | '\t' | '(' | ')' | '{' | '}');
            escaped = !escaped && character == '\\';
            ends
        };
        let length = text.find(ends).unwrap_or(text.len());
        // A bracket is a token by itself.
        let length = if length == 0 { text.chars().next()?.len_utf8() } else { length };
        let (token, rest) = text.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_table_is_explained() {
        for (label, fields) in NODES.iter() {
            for (field, meaning) in fields {
                assert_ne!(*meaning, Meaning::Unexplained, "{label}.{field}");
            }
        }
        assert!(NODES.len() > 60, "{}", NODES.len());
    }

    #[test]
    fn oids_are_found_at_any_depth_and_constants_are_passed() {
        let tree = r#"({FUNCEXPR :funcid 870 :funcresulttype 25 :funcretset false :args ({CONST :consttype 25 :constlen -1
            :constvalue 5 [ 20 0 0 0 97 ]} {OPEXPR :opno 96 :opfuncid 65 :args <>} {ROWCOMPAREEXPR :opnos (o 7 8)})})"#;
        let mentions = read(tree).expect("a tree");
        assert!(mentions.functions.iter().eq(&[65, 870]));
        assert!(mentions.operators.iter().eq(&[7, 8, 96]));
        assert!(mentions.types.iter().eq(&[25]) && mentions.made.iter().eq(&[25]));
    }

    #[test]
    fn a_name_is_a_name_whatever_it_looks_like() {
        for name in [":funcid", r"\{FUNCEXPR", r"\)", r"a\ :funcid\ 5", r#""x"#, r"\\", r"\<>", "[", "o"] {
            let tree = format!("{{ALIAS :aliasname {name} :colnames (\"{name}\" \"b\")}}");
            assert_eq!(read(&tree), Ok(Mentions::default()), "{tree}");
        }
    }

    #[test]
    fn nodes_and_fields_that_were_not_reviewed_are_refused() {
        for tree in
            ["{NEWEXPR :arg <>}", "{FUNCEXPR :newfield 7}", "{FUNCEXPR :funcid x}", "{FUNCEXPR funcid 7}", "({ALIAS"]
        {
            assert!(matches!(read(tree), Err(Refusal::UnknownNode { .. })), "{tree}");
        }
    }

    #[test]
    fn locks_and_other_statements_are_refused() {
        assert_eq!(read("{QUERY :rowMarks ({ROWMARKCLAUSE :rti 1})}"), Err(Refusal::RowLock));
        assert_eq!(read("{QUERY :hasForUpdate true}"), Err(Refusal::RowLock));
        for tree in ["{QUERY :commandType 3}", "{QUERY :hasModifyingCTE true}", "{QUERY :returningList ({VAR})}"] {
            assert_eq!(read(tree), Err(Refusal::DataModification), "{tree}");
        }
        assert_eq!(read("{QUERY :commandType 1 :rowMarks <> :returningList <>}"), Ok(Mentions::default()));
    }
}
