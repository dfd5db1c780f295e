//! The text that goes to the server: not what the user wrote, but what we read.
//!
//! A guard that reads one thing and sends another is open to texts that two lexers see differently: a quote swallowed
//! by an operator, a comment inside another, `E'\''`, escapes in names. So the query is written anew from the tokens that were
//! judged: no comments, every string in its plain form, a space between any two tokens. Each piece remembers where it
//! came from, so that the server's complaint can be pointed at the user's line.

use sqlparser::tokenizer::{Location, Token, Word};

use super::lexeme::Lexeme;
use super::{ParameterTypes, Placeholder, Refusal};
use crate::sql;

/// PostgreSQL cuts longer names, after which they might mean something else.
const MAX_NAME_BYTES: usize = 63;
const OPERATORS_AND_PUNCTUATION: &str = "+-*/<>=~!@#%^&|`?,().:;[]";

/// A judged query, ready to be written out for describing or for running.
#[derive(Debug, Clone)]
pub(super) struct Text(Vec<Piece>);

#[derive(Debug, Clone)]
struct Piece {
    code: String,
    placeholder: Option<Placeholder>,
    start: Location,
}

impl Text {
    pub(super) fn new(lexemes: &[Lexeme]) -> Result<Self, Refusal> {
        let piece = |lexeme: &Lexeme| {
            // In brackets, so that it can stand for nothing but a value.
            let code = if lexeme.placeholder.is_some() { "(null)".to_owned() } else { code(&lexeme.token)? };
            Ok(Piece { code, placeholder: lexeme.placeholder, start: lexeme.start })
        };
        lexemes.iter().map(piece).collect::<Result<_, Refusal>>().map(Self)
    }

    pub(super) fn placeholders(&self) -> impl Iterator<Item = Placeholder> + '_ {
        self.0.iter().filter_map(|piece| piece.placeholder)
    }

    /// The text with `null` for every placeholder.
    pub(super) fn with_nulls(&self) -> String {
        self.write(|piece| piece.code.clone())
    }

    /// The text with a null of its type for every placeholder, as it will be executed but for the values.
    pub(super) fn with_typed_nulls(&self, types: &ParameterTypes) -> String {
        self.write(|piece| match piece.placeholder {
            Some(placeholder) => placeholder.null(types),
            None => piece.code.clone(),
        })
    }

    /// The text with a numbered, typed parameter for every placeholder.
    pub(super) fn with_parameters(&self, types: &ParameterTypes) -> String {
        self.write(|piece| match piece.placeholder {
            Some(placeholder) => placeholder.parameter(types),
            None => piece.code.clone(),
        })
    }

    /// Where the user wrote what stands at a character (counted from 1) of [`Text::with_nulls`].
    pub(super) fn locate(&self, position: usize) -> Option<Location> {
        let mut passed = 0;
        self.0.iter().find_map(|piece| {
            passed += piece.code.chars().count() + 1;
            (position <= passed).then_some(piece.start)
        })
    }

    /// Keeps the user's lines, so that logs and `pg_stat_activity` stay readable.
    fn write(&self, code: impl Fn(&Piece) -> String) -> String {
        let mut text = String::new();
        let mut line = None;
        for piece in &self.0 {
            if let Some(line) = line {
                text.push(if line == piece.start.line { ' ' } else { '\n' });
            }
            text.push_str(&code(piece));
            line = Some(piece.start.line);
        }
        text
    }
}

/// Writes one token so that the server reads exactly this token.
#[expect(clippy::wildcard_enum_match_arm, reason = "`operator` refuses every token that it does not know")]
fn code(token: &Token) -> Result<String, Refusal> {
    match token {
        Token::Word(word) => name(word),
        Token::Number(digits, false) => Ok(digits.clone()),
        Token::SingleQuotedString(value) => Ok(quoted("", value)),
        Token::NationalStringLiteral(value) => Ok(quoted("n", value)),
        Token::SingleQuotedByteStringLiteral(value) => Ok(quoted("b", value)),
        // `0x1F` and `x'1F'` are the same to our reader and not to the server, whose versions differ too.
        Token::HexStringLiteral(_) => Err(Refusal::HexLiteral),
        Token::UnicodeStringLiteral(_) => Err(Refusal::UnicodeEscape),
        Token::Placeholder(written) => Err(Refusal::PositionalParameter { written: written.clone() }),
        other => operator(other),
    }
}

fn name(word: &Word) -> Result<String, Refusal> {
    if word.value.len() > MAX_NAME_BYTES {
        return Err(Refusal::NameTooLong { name: word.value.clone() });
    }
    Ok(match word.quote_style {
        Some(_) => sql::quote(&word.value),
        None => word.value.clone(),
    })
}

fn quoted(prefix: &str, value: &str) -> String {
    format!("{prefix}{}", sql::literal(value))
}

/// Operators and punctuation stay as they are, unless the server would see a comment begin in them.
fn operator(token: &Token) -> Result<String, Refusal> {
    let code = token.to_string();
    if code.contains("--") || code.contains("/*") {
        let message = format!("put a space before the comment in {code}");
        return Err(Refusal::Syntax { message });
    }
    if !code.chars().all(|character| OPERATORS_AND_PUNCTUATION.contains(character)) {
        return Err(Refusal::Syntax { message: format!("{code} has no place in it") });
    }
    Ok(code)
}
