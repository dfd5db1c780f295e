//! The text that goes to the server: not what the user wrote, but what we read.
//!
//! A guard that reads one thing and sends another is open to texts that two lexers see differently: a quote swallowed
//! by an operator, a comment inside another, `E'\''`, escapes in names. So the query is written anew from the tokens that were
//! judged: no comments, every string in its plain form, a space between any two tokens. Each piece remembers where it
//! came from, so that the server's complaint can be pointed at the user's line.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};

use super::{ParameterTypes, Placeholder, Refusal, placeholders};
use crate::sql;

/// PostgreSQL cuts longer names, after which they might mean something else.
const MAX_NAME_BYTES: usize = 63;
const OPERATORS_AND_PUNCTUATION: &str = "+-*/<>=~!@#%^&|`?,().:;[]";

/// A token that matters (no whitespace, no comment) and where the user wrote it.
#[derive(Debug, Clone)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) placeholder: Option<Placeholder>,
    start: Location,
    pub(super) end: Location,
}

impl Lexeme {
    pub(super) fn token(token: &TokenWithSpan) -> Self {
        Self { token: plain(&token.token), placeholder: None, start: token.span.start, end: token.span.end }
    }

    /// A placeholder reads as `null` for the parser and for the server's description.
    pub(super) fn placeholder(colon: &TokenWithSpan, placeholder: Placeholder) -> Self {
        let null = Token::Word(Word { value: "null".to_owned(), quote_style: None, keyword: Keyword::NULL });
        Self { token: null, placeholder: Some(placeholder), start: colon.span.start, end: colon.span.end }
    }

    /// Whether this is that keyword or unquoted name, given in lower case.
    pub(super) fn is_word(&self, name: &str) -> bool {
        let Token::Word(word) = &self.token else { return false };
        word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name)
    }

    /// The name that PostgreSQL makes of this word: unquoted ones fold to lower case.
    pub(super) fn name(&self) -> Option<String> {
        let Token::Word(word) = &self.token else { return None };
        Some(fold(&word.value, word.quote_style))
    }

    pub(super) fn with_span(&self) -> TokenWithSpan {
        TokenWithSpan::at(self.token.clone(), self.start, self.end)
    }
}

/// `E'…'` and `$$…$$` are other ways to write a plain string, which the parser and the server shall both see.
fn plain(token: &Token) -> Token {
    if let Token::EscapedStringLiteral(value) = token {
        return Token::SingleQuotedString(value.clone());
    }
    if let Token::DollarQuotedString(string) = token {
        return Token::SingleQuotedString(string.value.clone());
    }
    token.clone()
}

/// Folds a name as PostgreSQL does: ASCII letters only, and only without quotes.
pub(super) fn fold(value: &str, quote: Option<char>) -> String {
    if quote.is_some() { value.to_owned() } else { value.to_ascii_lowercase() }
}

/// Splits `sql` into lexemes without its final semicolon.
pub(super) fn lexemes(sql: &str) -> Result<Vec<Lexeme>, Refusal> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql)
        .tokenize_with_location()
        .map_err(|error| Refusal::Syntax { message: error.to_string() })?;
    refuse_unicode_names(&tokens)?;
    let mut lexemes = placeholders::mark(&tokens)?;
    while lexemes.pop_if(|last| last.token == Token::SemiColon).is_some() {}
    Ok(lexemes)
}

/// `U&"…"` names would be three tokens here and one for the server.
fn refuse_unicode_names(tokens: &[TokenWithSpan]) -> Result<(), Refusal> {
    let escaped = tokens.windows(3).any(|window| {
        let [u, ampersand, name] = window else { return false };
        let touching = u.span.end == ampersand.span.start && ampersand.span.end == name.span.start;
        let prefix = matches!(&u.token, Token::Word(word) if word.value.eq_ignore_ascii_case("u"));
        let quoted = matches!(&name.token, Token::Word(word) if word.quote_style.is_some());
        touching && prefix && quoted && ampersand.token == Token::Ampersand
    });
    if escaped { Err(Refusal::UnicodeEscape) } else { Ok(()) }
}

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
