//! Requests, made of templates over a row's columns.
//!
//! A template is text with expressions, `{{ column | filter }}`, and nothing else of the language: no statements, no calls and no
//! operators that make texts longer. So what it makes is about as long as the template and the columns it takes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    sync::Arc,
};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, filters,
    value::{Object, Value, ValueKind},
};
use serde_json::value::RawValue;

use super::super::RowDocument;

/// The longest template, and the longest text that is made of one.
pub const MAX_TEMPLATE_BYTES: usize = 16 * 1024;
const MAX_RENDERED_BYTES: usize = 1024 * 1024;
const MAX_DEPTH: usize = 32;
const DEEPEST_VALUE: usize = 128;
/// A filter may make a text a few times as long.
const MAX_FILTERS: usize = 3;
/// Words and signs of an expression. The template engine reads each one deeper than the one before.
const MAX_PARTS: usize = 64;
const FILTERS: [&str; 9] = ["tojson", "urlencode", "upper", "lower", "trim", "default", "length", "first", "last"];

/// A template that was read.
#[derive(Clone)]
pub struct Template {
    text: String,
    environment: Arc<Environment<'static>>,
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template").field(&self.text).finish()
    }
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(format!("a template has at most {MAX_TEMPLATE_BYTES} bytes"));
        }
        has_only_expressions(text)?;
        let mut environment = Environment::empty();
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_formatter(|out, _, value| Ok(out.write_str(&shown(value)?)?));
        environment.add_filter("tojson", |value: Value| json_of(&value, 0));
        environment.add_filter("urlencode", |value: Value| url_encoded(&value.to_string()));
        environment.add_filter("upper", filters::upper);
        environment.add_filter("lower", filters::lower);
        environment.add_filter("trim", filters::trim);
        environment.add_filter("default", filters::default);
        environment.add_filter("length", filters::length);
        environment.add_filter("first", filters::first);
        environment.add_filter("last", filters::last);
        environment.add_template_owned("template", text.to_owned()).map_err(|error| explain(&error))?;
        Ok(Self { text: text.to_owned(), environment: Arc::new(environment) })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names that the template takes from outside.
    pub fn names(&self) -> BTreeSet<String> {
        let template = self.environment.get_template("template");
        template.map(|template| template.undeclared_variables(false).into_iter().collect()).unwrap_or_default()
    }

    pub fn render(&self, context: &Value) -> Result<String, String> {
        let template = self.environment.get_template("template").map_err(|error| explain(&error))?;
        let mut text = Bounded(Vec::new());
        template.render_captured_to(context.clone(), &mut text).map_err(|error| explain(&error))?;
        String::from_utf8(text.0).map_err(|error| error.to_string())
    }
}

/// Whether a template has expressions alone, of columns, filters, texts and choices.
fn has_only_expressions(text: &str) -> Result<(), String> {
    if text.contains("{%") || text.contains("{#") {
        return Err("a template has expressions, `{{ column | filter }}`, and no statements or comments".to_owned());
    }
    for rest in text.split("{{").skip(1) {
        let expression = rest.split_once("}}").map_or(rest, |(expression, _)| expression);
        check_expression(expression)?;
    }
    Ok(())
}

fn check_expression(expression: &str) -> Result<(), String> {
    let (mut quote, mut filters, mut parts, mut before) = (None, 0, 0, ' ');
    for (at, sign) in expression.char_indices() {
        if quote.is_none() {
            let goes_on = is_of_word(sign) && is_of_word(before);
            parts += usize::from(!sign.is_whitespace() && !goes_on);
        }
        let behind = expression[..at].trim_end().chars().next_back();
        match (quote, sign) {
            (Some(begun), _) if begun == sign => quote = None,
            (Some(_), '\\' | '{') => return Err("a text in an expression has no `\\` and no `{`".to_owned()),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(sign),
            (None, '|') => {
                filters += 1;
                check_filter(&expression[at + 1..])?;
            }
            // Only behind what it takes an item of: there are no lists.
            (None, '[') if !behind.is_some_and(|sign| is_of_word(sign) || "])".contains(sign)) => {
                return Err("an expression has no lists".to_owned());
            }
            (None, sign) if sign.is_alphanumeric() || sign.is_whitespace() || "_.,()[]-=!<>".contains(sign) => {}
            (None, sign) => {
                return Err(format!(
                    "an expression has columns, filters, texts and `x if condition else y`, and no `{sign}`"
                ));
            }
        }
        before = sign;
        if parts > MAX_PARTS {
            return Err(format!("an expression has at most {MAX_PARTS} words and signs"));
        }
    }
    if quote.is_some() {
        return Err("a text in an expression has no `}}`, and ends with the quote that it began with".to_owned());
    }
    if filters > MAX_FILTERS {
        return Err(format!("an expression has at most {MAX_FILTERS} filters"));
    }
    Ok(())
}

fn is_of_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn check_filter(rest: &str) -> Result<(), String> {
    let rest = rest.trim_start();
    let name = rest.find(|sign| !is_of_word(sign)).map_or(rest, |end| &rest[..end]);
    if FILTERS.contains(&name) {
        return Ok(());
    }
    Err(format!("there is no filter `{name}`; there is {}", FILTERS.join(", ")))
}

/// Every byte but letters, digits and `-._~` as `%41`.
fn url_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// What is wrong with a template. It quotes no value of a row.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other kind says what it is by its name")]
fn explain(error: &Error) -> String {
    let line = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
    match error.kind() {
        ErrorKind::SyntaxError | ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction => {
            let detail = error.detail().unwrap_or_default();
            format!("{}{line}: {detail}", error.kind())
        }
        ErrorKind::WriteFailure => format!("the template makes more than {MAX_RENDERED_BYTES} bytes"),
        kind => format!("{kind}{line}"),
    }
}

/// A text that may not become longer.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_RENDERED_BYTES {
            return Err(io::Error::other("too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Columns of a row as a template sees them.
pub fn values<'a>(
    row: &RowDocument,
    columns: impl IntoIterator<Item = &'a String>,
) -> impl Iterator<Item = Result<(String, Value), String>> {
    columns.into_iter().map(|name| {
        let value = value(row.raw(name).unwrap_or("null"), 0);
        Ok((name.clone(), value.ok_or_else(|| format!("column `{name}` has json that cannot be read"))?))
    })
}

/// Refuses columns from which no text would come that is short enough.
pub fn check_bytes<'a>(row: &RowDocument, columns: impl IntoIterator<Item = &'a String>) -> Result<(), String> {
    let bytes: usize = columns.into_iter().filter_map(|name| row.raw(name)).map(str::len).sum();
    if bytes > MAX_RENDERED_BYTES {
        return Err(format!("the columns of the templates have {bytes} bytes, at most {MAX_RENDERED_BYTES} are sent"));
    }
    Ok(())
}

/// What a template takes names from.
pub fn context(values: impl Iterator<Item = Result<(String, Value), String>>) -> Result<Value, String> {
    Ok(Value::from_object(values.collect::<Result<BTreeMap<_, _>, _>>()?))
}

/// A value of a row, or of what is inside of it. A number that is no whole one of 64 bits keeps its digits and is no number to
/// the template. None where it is no JSON to PostgreSQL, or nested deeper than any.
fn value(raw: &str, depth: usize) -> Option<Value> {
    if depth > DEEPEST_VALUE {
        return None;
    }
    Some(match raw.as_bytes().first() {
        None | Some(b'n') => Value::from(()),
        Some(b't') => Value::from(true),
        Some(b'f') => Value::from(false),
        Some(b'"') => Value::from(serde_json::from_str::<String>(raw).ok()?),
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw).ok()?;
            let fields = fields.into_iter().map(|(name, inner)| Some((name, value(inner.get(), depth + 1)?)));
            Value::from_object(fields.collect::<Option<BTreeMap<_, _>>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
            Value::from(items.into_iter().map(|inner| value(inner.get(), depth + 1)).collect::<Option<Vec<_>>>()?)
        }
        Some(_) => raw.parse::<i64>().map_or_else(|_| Value::from_object(Digits(raw.to_owned())), Value::from),
    })
}

#[derive(Debug)]
struct Digits(String);

impl Object for Digits {
    fn repr(self: &Arc<Self>) -> minijinja::value::ObjectRepr {
        minijinja::value::ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value as the template's text has it: NULL is nothing, and what is no text is JSON.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other kind is written as JSON")]
fn shown(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::None => Ok(String::new()),
        ValueKind::String => Ok(value.to_string()),
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        _ => json_of(value, 0),
    }
}

/// A value as JSON. Numbers keep their digits.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other kind has no parts")]
fn json_of(value: &Value, depth: usize) -> Result<String, Error> {
    if depth > MAX_DEPTH {
        return Err(Error::new(ErrorKind::InvalidOperation, "nested too deeply"));
    }
    if let Some(digits) = value.downcast_object_ref::<Digits>() {
        return Ok(digits.0.clone());
    }
    let parts = |open: &str, parts: Vec<String>, close: &str| format!("{open}{}{close}", parts.join(","));
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter()?.map(|item| json_of(&item, depth + 1)).collect::<Result<Vec<_>, _>>()?;
            Ok(parts("[", items, "]"))
        }
        ValueKind::Map => {
            let entry = |key: Value| {
                let name = text_of(&key)?;
                let item = json_of(&value.get_item(&key)?, depth + 1)?;
                Ok(format!("{name}:{item}"))
            };
            Ok(parts("{", value.try_iter()?.map(entry).collect::<Result<Vec<_>, Error>>()?, "}"))
        }
        _ => text_of(value),
    }
}

fn text_of(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|_| Error::new(ErrorKind::InvalidOperation, "the value is no JSON"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROW: &str = r#"{"name":"Ä & <b>\"","n":7,"price":12345678901234567890.10,"none":null,"doc":{"a":[1,{"b":"x"}],"n":0.10,"e":{}},"yes":true}"#;

    fn rendered(text: &str) -> Result<String, String> {
        let row = RowDocument::parse(ROW).expect("a row");
        let names = ["name", "n", "price", "none", "doc", "yes"].map(str::to_owned);
        Template::parse(text)?.render(&context(values(&row, &names))?)
    }

    #[test]
    fn values_are_written_as_they_are_or_as_json_or_for_a_url() {
        for (text, expected) in [
            ("{{ name }}", "Ä & <b>\""),
            ("{{ name | tojson }}", r#""Ä & <b>\"""#),
            ("{{ name | urlencode }}", "%C3%84%20%26%20%3Cb%3E%22"),
            ("{{ price }}/{{ price | tojson }}", "12345678901234567890.10/12345678901234567890.10"),
            ("{{ n }} {{ yes }} {{ none }} {{ none | tojson }} {{ none | default('-', true) }}", "7 true  null -"),
            ("{{ doc.a[1].b }} {{ doc | tojson }}", r#"x {"a":[1,{"b":"x"}],"e":{},"n":0.10}"#),
            ("{{ doc.n }} {{ doc.e }}", "0.10 {}"),
            ("{{ doc.a | first }} {{ doc.a | length }} {{ name | upper | trim }}", "1 2 Ä & <B>\""),
            ("{{ name if n > 5 else 'few' }} { n } }}", "Ä & <b>\" { n } }}"),
        ] {
            assert_eq!(rendered(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_template_takes_only_the_columns_it_was_given_and_calls_nothing() {
        for text in [
            "{{ other }}",
            "{{ name.__class__ }}",
            "{{ range(10) }}",
            "{{ name.upper() }}",
            "{% include 'x' %}",
            "{% for a in doc.a %}{{ a }}{% endfor %}",
            "{{ name | nothing }}",
            "{{ name | replace('a', name) }}",
            "{{ name ~ name }}",
            "{{ name + name }}",
            "{{ name * 1000000 }}",
            "{{ name | tojson | tojson | tojson | tojson }}",
            "{{ '}}' ~ name }}",
            "{{ 'a\\' | upper ~ name }}",
            "{{ {'a': 1} }}",
            "{{ [n, n] | tojson }}",
            "{{ n | default([n]) }}",
            &format!("{{{{ 1{} }}}}", "-1".repeat(8000)),
            &format!("{{{{ {}n }}}}", "-".repeat(8000)),
            &format!("{{{{ {}n }}}}", "not ".repeat(4000)),
            &format!("{{{{ doc{} }}}}", ".b".repeat(8000)),
            &format!("{{{{ doc{} }}}}", "[0]".repeat(5000)),
            &format!("{{{{ 1{} }}}}", " if 1".repeat(3000)),
            &format!("{{{{ n{} }}}}", "()".repeat(8000)),
            &format!("{{{{ n{} }}}}", " or n".repeat(3000)),
            "{{ name",
        ] {
            let refusal = rendered(text).expect_err(text);
            assert!(!refusal.contains('Ä'), "{text}: {refusal}");
        }
        let names = Template::parse("{{ a.b }}{{ c | default('x') }}").expect("a template").names();
        assert_eq!(names, BTreeSet::from(["a".to_owned(), "c".to_owned()]));
    }

    #[test]
    fn what_a_template_makes_is_bounded() {
        let long = "x".repeat(MAX_RENDERED_BYTES);
        let row = RowDocument::parse(&serde_json::json!({"long": long}).to_string()).expect("a row");
        let names = ["long".to_owned()];
        let render = |text: &str| Template::parse(text).expect(text).render(&context(values(&row, &names))?);
        assert_eq!(render("{{ long }}").map(|text| text.len()), Ok(MAX_RENDERED_BYTES));
        assert!(render("{{ long }}{{ long }}").expect_err("twice").contains("more than"));
    }

    #[test]
    fn a_value_that_cannot_be_read_is_not_taken_for_null() {
        let deep = format!("{}1{}", "[".repeat(DEEPEST_VALUE + 2), "]".repeat(DEEPEST_VALUE + 2));
        for doc in [r#"{"\ud800":1}"#, r#"{"a":["\ud800"]}"#, r#""\ud800""#, &deep] {
            let row = RowDocument::parse(&format!(r#"{{"doc":{doc}}}"#)).expect("a row");
            let refusal = context(values(&row, &["doc".to_owned()])).expect_err(doc);
            assert_eq!(refusal, "column `doc` has json that cannot be read", "{doc}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_template_panic(text in "\\PC{0,60}", inner in "[a-z0-9 .|()\\[\\]{}%'+*<>=_-]{0,60}") {
            let _ = rendered(&text);
            let _ = rendered(&format!("{{{{ {inner} }}}}"));
            let _ = rendered(&format!("{{{{ name | {inner} }}}}"));
        }
    }
}
