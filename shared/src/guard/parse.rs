//! Layer 1: the query is one `select` that reads tables of the source schemas. Pure, no database.
//!
//! Keywords that PostgreSQL reserves (`into`, `for update`, `table`) are refused wherever they stand as tokens, without
//! trusting the syntax tree; relations and data-modifying CTEs are found in the tree (`relations`).

use std::collections::BTreeSet;

use sqlparser::ast::{Query, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::lexeme::{Lexeme, lexemes};
use super::relations::check_relations;
use super::text::Text;
use super::{FunctionName, MAX_QUERY_BYTES, ParameterTypes, Placeholder, Refusal, SourceSchemas, functions};

/// How deep brackets may nest: each level costs the parser a good piece of stack.
const MAX_BRACKETS: usize = 24;
const MAX_RECURSION: usize = 200;
/// A chain of operators is a tree as deep as the chain is long; this bounds it.
const MAX_LINKS: usize = 4_000;
/// More than the limits above can use up, several times over. Pages that are not touched cost nothing.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// A query that passed layer 1.
#[derive(Debug, Clone)]
pub struct SourceQuery {
    pub(super) text: Text,
    pub(super) pads_with_nulls: bool,
    functions: BTreeSet<FunctionName>,
    /// Names after a period that follows an expression: fields, or functions of one argument.
    pub(super) attributes: BTreeSet<String>,
}

impl SourceQuery {
    /// Everything in it that looks like a call; some may be column lists of aliases.
    pub fn functions(&self) -> &BTreeSet<FunctionName> {
        &self.functions
    }

    /// The placeholders that it uses: with any of them the query pages by itself, otherwise it is wrapped.
    pub fn placeholders(&self) -> BTreeSet<Placeholder> {
        self.text.placeholders().collect()
    }

    /// The text to run. [`Placeholder::number`] says which parameter is which; bind all four, used or not.
    /// There is neither a final semicolon nor a comment in it, so it can stand inside other SQL.
    pub fn render(&self, types: &ParameterTypes) -> String {
        self.text.with_parameters(types)
    }
}

/// Reads `sql` and refuses everything but one `select` over tables of `schemas`.
pub fn parse(sql: &str, schemas: &SourceSchemas) -> Result<SourceQuery, Refusal> {
    refuse_unreadable(sql)?;
    let lexemes = lexemes(sql)?;
    refuse_other_statements(&lexemes)?;
    refuse_depth(&lexemes)?;
    refuse_reserved(&lexemes)?;
    let text = Text::new(&lexemes)?;
    let functions = functions::called(&lexemes, schemas)?;
    let attributes = functions::attributes(&lexemes);
    with_a_stack_of(STACK_BYTES, || check_relations(&syntax_tree(&lexemes)?, schemas))?;
    let padding = ["left", "right", "full", "rollup", "cube", "grouping"];
    let pads_with_nulls = lexemes.iter().any(|lexeme| padding.iter().any(|word| lexeme.is_word(word)));
    Ok(SourceQuery { text, pads_with_nulls, functions, attributes })
}

fn refuse_unreadable(sql: &str) -> Result<(), Refusal> {
    if sql.len() > MAX_QUERY_BYTES {
        return Err(Refusal::TooLong { bytes: sql.len() });
    }
    if sql.contains('\0') {
        return Err(Refusal::NulCharacter);
    }
    Ok(())
}

fn refuse_other_statements(lexemes: &[Lexeme]) -> Result<(), Refusal> {
    let first = lexemes.iter().find(|lexeme| lexeme.token != Token::LParen).ok_or(Refusal::Empty)?;
    if first.is_word("table") {
        return Err(Refusal::TableCommand);
    }
    if !["select", "with", "values"].iter().any(|word| first.is_word(word)) {
        return Err(Refusal::NotASelect { found: first.token.to_string() });
    }
    if lexemes.iter().any(|lexeme| lexeme.token == Token::SemiColon) {
        return Err(Refusal::SeveralStatements);
    }
    Ok(())
}

fn refuse_depth(lexemes: &[Lexeme]) -> Result<(), Refusal> {
    let flat = |token: &Token| matches!(token, Token::Comma | Token::Number(..) | Token::SingleQuotedString(_));
    let mut open = 0_usize;
    let mut links = 0;
    for Lexeme { token, .. } in lexemes {
        if matches!(token, Token::LParen | Token::LBracket) {
            open += 1;
        } else if matches!(token, Token::RParen | Token::RBracket) {
            open = open.saturating_sub(1);
        }
        links += usize::from(!flat(token) && !matches!(token, Token::LParen | Token::RParen));
        if open > MAX_BRACKETS || links > MAX_LINKS {
            return Err(Refusal::TooComplex);
        }
    }
    Ok(())
}

/// Refuses clauses by keywords that cannot be anything else, except after `.` and `as`, where they are column names.
fn refuse_reserved(lexemes: &[Lexeme]) -> Result<(), Refusal> {
    for window in lexemes.windows(3) {
        let [before, lexeme, next] = window else { continue };
        if before.token == Token::Period || before.is_word("as") {
            continue;
        }
        if lexeme.is_word("into") {
            let writes = before.is_word("insert") || before.is_word("merge");
            return Err(if writes { Refusal::DataModification } else { Refusal::SelectInto });
        }
        if lexeme.is_word("table") {
            return Err(Refusal::TableCommand);
        }
        if lexeme.is_word("for") && ["update", "no", "share", "key"].iter().any(|word| next.is_word(word)) {
            return Err(Refusal::RowLock);
        }
        if lexeme.is_word("operator") && next.token == Token::LParen {
            return Err(Refusal::QualifiedOperator);
        }
        if lexeme.is_word("treat") && next.token == Token::LParen {
            return Err(Refusal::Treat);
        }
    }
    Ok(())
}

/// Runs the parser on a thread of its own: it recurses, and a stack that overflows would end the whole process.
fn with_a_stack_of<T: Send>(bytes: usize, read: impl FnOnce() -> Result<T, Refusal> + Send) -> Result<T, Refusal> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(bytes).spawn_scoped(scope, read);
        let thread = thread.map_err(|error| Refusal::NoMemory { reason: error.to_string() })?;
        thread.join().unwrap_or(Err(Refusal::TooComplex))
    })
}

/// Parses the lexemes, so that the tree is of the very tokens that were judged and will be sent.
fn syntax_tree(lexemes: &[Lexeme]) -> Result<Query, Refusal> {
    let tokens = without_only(lexemes).map(Lexeme::with_span).collect();
    let mut statements = Parser::new(&PostgreSqlDialect {})
        .with_recursion_limit(MAX_RECURSION)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(unreadable)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(Statement::Query(query)), true) => Ok(*query),
        (Some(_), true) => Err(Refusal::DataModification),
        (Some(_), false) => Err(Refusal::SeveralStatements),
        (None, _) => Err(Refusal::Empty),
    }
}

/// `only` before a table, which PostgreSQL reserves and the parser takes for a name, and the brackets around the table.
fn without_only(lexemes: &[Lexeme]) -> impl Iterator<Item = &Lexeme> {
    let mut left_out = BTreeSet::new();
    for (place, window) in lexemes.windows(3).enumerate() {
        let [before, only, next] = window else { continue };
        let begins = ["from", "join"].iter().any(|word| before.is_word(word))
            || matches!(before.token, Token::Comma | Token::LParen);
        if begins && only.is_word("only") {
            left_out.insert(place + 1);
            if next.token == Token::LParen {
                let close = lexemes[place + 2..].iter().position(|lexeme| lexeme.token == Token::RParen);
                left_out.insert(place + 2);
                left_out.extend(close.map(|close| place + 2 + close));
            }
        }
    }
    lexemes.iter().enumerate().filter(move |(place, _)| !left_out.contains(place)).map(|(_, lexeme)| lexeme)
}

fn unreadable(error: ParserError) -> Refusal {
    match error {
        ParserError::RecursionLimitExceeded => Refusal::TooComplex,
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => Refusal::Syntax { message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::GuardError;

    #[test]
    fn a_lack_of_memory_is_no_fault_of_the_query() {
        let refusal = with_a_stack_of(usize::MAX / 2, || Ok(())).expect_err("no machine has that much");
        assert!(matches!(refusal, Refusal::NoMemory { .. }), "{refusal}");
        let GuardError::Database(error) = refusal.into() else { panic!("the query was refused") };
        let sqlx::Error::Io(error) = error else { panic!("{error}") };
        assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
    }
}
