//! Layer 1: finds the functions that a query names.
//!
//! Calls are found between tokens: a name before an opening parenthesis, which no special form of the syntax tree can hide,
//! and a name after a period that follows a bracket, because PostgreSQL calls functions of one argument as attributes
//! (`(expression).function`). That finds too much (`in (`, `as t(a, b)`, `(row).column`), which is harmless: a name that is no
//! function is left to the server.

use std::collections::BTreeSet;
use std::fmt;

use sqlparser::tokenizer::Token;

use super::lexeme::Lexeme;
use super::{Refusal, SourceSchemas};

pub(super) const CATALOG: &str = "pg_catalog";

/// A function as PostgreSQL looks it up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionName {
    /// The schema that was written.
    pub schema: Option<String>,
    pub name: String,
}

impl FunctionName {
    fn is_builtin(&self) -> bool {
        self.schema.as_deref().is_none_or(|schema| schema == CATALOG)
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        f.write_str(&self.name)
    }
}

/// Finds the calls of a query, and refuses calls into other schemas.
pub(super) fn called(lexemes: &[Lexeme], schemas: &SourceSchemas) -> Result<BTreeSet<FunctionName>, Refusal> {
    let ends = (0..lexemes.len()).filter(|&end| lexemes[end].token == Token::LParen);
    let functions: BTreeSet<_> = ends.filter_map(|end| name_before(&lexemes[..end])).collect();
    let foreign = functions.iter().find(|function| {
        let schema = function.schema.as_deref();
        !function.is_builtin() && !schema.is_some_and(|schema| schemas.allows(schema))
    });
    match foreign {
        Some(function) => Err(Refusal::ForeignFunction { function: function.clone(), schemas: schemas.clone() }),
        None => Ok(functions),
    }
}

/// Finds the names that are taken as attributes of an expression: each may be a field, or a function of one argument.
pub(super) fn attributes(lexemes: &[Lexeme]) -> BTreeSet<String> {
    let taken = lexemes.windows(3).filter_map(|window| {
        let [before, period, name] = window else { return None };
        let of_expression = matches!(before.token, Token::RParen | Token::RBracket) && period.token == Token::Period;
        of_expression.then(|| name.name()).flatten()
    });
    taken.collect()
}

/// The name that `lexemes` end with. Of a name in three parts the first two are taken for its schema.
fn name_before(lexemes: &[Lexeme]) -> Option<FunctionName> {
    let name = lexemes.last()?.name()?;
    let mut qualifiers = Vec::new();
    let mut before = &lexemes[..lexemes.len() - 1];
    while let [rest @ .., qualifier, period] = before
        && period.token == Token::Period
    {
        qualifiers.extend(qualifier.name());
        before = rest;
    }
    qualifiers.reverse();
    let schema = (!qualifiers.is_empty()).then(|| qualifiers.join("."));
    Some(FunctionName { schema, name })
}
