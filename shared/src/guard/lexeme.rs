//! The tokens of a query that matter, with its placeholders among them.
//!
//! Placeholders are found between tokens, so never inside a string, a comment, a cast (`::`) or an array slice (`[1:n]`).

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};

use super::{Placeholder, Refusal};

/// A token that matters (no whitespace, no comment) and where the user wrote it.
#[derive(Debug, Clone)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) placeholder: Option<Placeholder>,
    pub(super) start: Location,
    pub(super) end: Location,
}

impl Lexeme {
    fn token(token: &TokenWithSpan) -> Self {
        Self { token: plain(&token.token), placeholder: None, start: token.span.start, end: token.span.end }
    }

    /// A placeholder reads as `null` for the parser and for the server's description.
    fn placeholder(colon: &TokenWithSpan, placeholder: Placeholder) -> Self {
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
    let mut lexemes = mark_placeholders(&tokens)?;
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

/// Drops whitespace and comments from `tokens` and turns each `:name` into one lexeme.
fn mark_placeholders(tokens: &[TokenWithSpan]) -> Result<Vec<Lexeme>, Refusal> {
    let mut lexemes: Vec<Lexeme> = Vec::new();
    let mut brackets = Brackets::default();
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if matches!(first.token, Token::Whitespace(_)) {
            continue;
        }
        brackets.pass(&first.token);
        match named_after(first, after) {
            Some(name) if !brackets.in_slice() && !labels(lexemes.last(), first) => {
                rest = &after[1..];
                lexemes.push(Lexeme::placeholder(first, Placeholder::from_name(&name)?));
            }
            Some(_) | None => lexemes.push(Lexeme::token(first)),
        }
    }
    Ok(lexemes)
}

/// The word directly after `colon`, if that is a colon.
fn named_after(colon: &TokenWithSpan, after: &[TokenWithSpan]) -> Option<String> {
    let next = after.first()?;
    let Token::Word(word) = &next.token else { return None };
    let adjacent = colon.token == Token::Colon && colon.span.end == next.span.start;
    (adjacent && word.quote_style.is_none()).then(|| word.value.to_ascii_lowercase())
}

/// Whether the colon directly follows a value, as in `json_object('label':title)`.
fn labels(before: Option<&Lexeme>, colon: &TokenWithSpan) -> bool {
    before.is_some_and(|lexeme| {
        let token = &lexeme.token;
        let name = matches!(token, Token::Word(word) if word.keyword == Keyword::NoKeyword);
        let value = matches!(token, Token::SingleQuotedString(_) | Token::Number(..) | Token::RParen);
        (name || value) && lexeme.end == colon.span.start
    })
}

/// Which kind of bracket is open, to tell `[1:upper]` from `(:upper)`.
#[derive(Default)]
struct Brackets(Vec<bool>);

impl Brackets {
    fn pass(&mut self, token: &Token) {
        if matches!(token, Token::LBracket | Token::LParen) {
            self.0.push(*token == Token::LBracket);
        } else if matches!(token, Token::RBracket | Token::RParen) {
            self.0.pop();
        }
    }

    fn in_slice(&self) -> bool {
        self.0.last().copied().unwrap_or(false)
    }
}
