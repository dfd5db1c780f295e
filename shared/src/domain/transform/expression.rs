//! Expressions over the columns of a row, in the Common Expression Language: the crate `cel` parses and evaluates them.
//!
//! - `check` finds the type of an expression before any row, and admits only a part of the language: operators, conditions and
//!   a list of functions. There is no loop, so an expression evaluates each of its parts once at most.
//! - The parser and `check` recurse, so they have a thread with a large stack, and the length and the nesting of a text are
//!   bounded before. What passes is shallow enough to be evaluated and dropped on any thread.
//! - Texts of a row that an expression names are bounded together, so that joining them over and over stays cheap.

mod check;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    thread,
};

use cel::{Context, Env, ExecutionError, IdedExpr, Value};

use super::{RowDocument, SourceColumn, value::Json};

pub(super) use check::Type;

pub(super) const MAX_BYTES: usize = 1000;
/// Deepest nesting of brackets, conditions and negations in a text. The parser takes 100 KB of stack for each.
const MAX_NESTING: usize = 16;
/// Deepest nesting of a parsed expression: a chain of `+` is as deep as it is long. Evaluating takes 40 KB of stack for each, in
/// a build without optimizations.
const MAX_DEPTH: usize = 16;
/// Only what is used of it takes memory.
const STACK_BYTES: usize = 128 * 1024 * 1024;
/// Bytes of a row's texts, each as often as the expression names its column.
const MAX_INPUT_BYTES: usize = 1024 * 1024;

/// The standard functions and those of `strings`, without macros: those make loops.
static ENV: LazyLock<Result<Arc<Env>, String>> = LazyLock::new(|| {
    let mut env = Env::default().with_optional_support(false).with_stdlib();
    env.add_extension(cel::extensions::strings).map_err(|error| error.to_string())?;
    Ok(Arc::new(env))
});

/// A parsed expression.
#[derive(Debug)]
pub(super) struct Expression {
    parsed: IdedExpr,
    /// How often each column is named.
    named: BTreeMap<String, usize>,
    /// How each of these columns is read, once it is known what arrives.
    columns: Vec<(String, Type)>,
}

impl Expression {
    /// Parses a text, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("an expression has at most {MAX_BYTES} bytes, this one has {}", text.len()));
        }
        if nesting(text) > MAX_NESTING {
            return Err(format!("an expression is nested at most {MAX_NESTING} deep: use several steps"));
        }
        let env = ENV.clone()?;
        let parse = || {
            let parsed = env.parser().parse(text).map_err(|errors| first_error(&errors))?;
            let named = check::admit(&parsed, MAX_DEPTH)?;
            Ok(Self { parsed, named, columns: Vec::new() })
        };
        let with_stack = thread::Builder::new().name("expression".to_owned()).stack_size(STACK_BYTES);
        thread::scope(|scope| {
            let parsing =
                with_stack.spawn_scoped(scope, parse).map_err(|error| format!("it cannot be parsed now: {error}"))?;
            parsing.join().unwrap_or_else(|_| Err("it cannot be parsed".to_owned()))
        })
    }

    /// The type of its values, given what arrives.
    pub fn type_of(&self, columns: &[SourceColumn]) -> Result<Type, String> {
        check::type_of(&self.parsed, columns)
    }

    /// Tells it which columns arrive, before it is evaluated.
    pub fn prepare(&mut self, columns: &[SourceColumn]) {
        let arriving = columns.iter().filter(|column| self.named.contains_key(&column.name));
        self.columns = arriving.map(|column| (column.name.clone(), Type::of(column))).collect();
    }

    /// Its value for a row, or why it has none, without values of the row.
    pub fn evaluate(&self, row: &RowDocument) -> Result<Value, String> {
        let mut context = Context::with_env(ENV.clone()?);
        let mut bytes = 0;
        for (name, kind) in &self.columns {
            let value = read(row.raw(name).unwrap_or("null"), *kind)
                .ok_or_else(|| format!("column `{name}` has a value that expressions do not have"))?;
            if let Value::String(text) = &value {
                bytes += text.len() * self.named.get(name).copied().unwrap_or(1);
            }
            context.add_variable_from_value(name.as_str(), value);
        }
        if bytes > MAX_INPUT_BYTES {
            return Err(format!("the texts of an expression have at most {MAX_INPUT_BYTES} bytes together"));
        }
        match Value::resolve(&self.parsed, &context) {
            Ok(Value::Float(number)) if !number.is_finite() => Err("the expression gives no finite number".to_owned()),
            Ok(value) => Ok(value),
            Err(error) => Err(reason(&error).to_owned()),
        }
    }
}

/// A value of a row as the expression has it.
fn read(raw: &str, kind: Type) -> Option<Value> {
    Some(match (Json::read(raw)?, kind) {
        (Json::Null, _) => Value::Null,
        (Json::Boolean(value), Type::Bool) => Value::Bool(value),
        (Json::Number(number), Type::Int) => Value::Int(number.parse().ok()?),
        (Json::Number(number), Type::Double) => Value::Float(number.parse().ok()?),
        // As the server compares it: with the float that it is, not with its decimals.
        (Json::Number(number), Type::Single) => Value::Float(f64::from(number.parse::<f32>().ok()?)),
        (Json::Text(text), Type::Text) => Value::String(text.into()),
        // It is only compared with null.
        (_, Type::Other) => Value::Bool(true),
        (_, Type::Bool | Type::Int | Type::Double | Type::Single | Type::Text | Type::Null) => return None,
    })
}

/// How deep brackets, conditions and signs are nested at most, counted without a stack. A bracket in a text counts too.
fn nesting(text: &str) -> usize {
    let (mut open, mut conditions, mut signs, mut deepest) = (0_usize, 0_usize, 0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b'?' => conditions += 1,
            _ => {}
        }
        signs = match byte {
            b'!' | b'-' => signs + 1,
            b' ' | b'\t' | b'\n' | b'\r' => signs,
            _ => 0,
        };
        deepest = deepest.max(open + conditions + signs);
    }
    deepest
}

fn first_error(errors: &cel::ParseErrors) -> String {
    let first = errors.errors.first();
    let (place, message) = first.map_or((0, ""), |error| (error.pos.1, error.msg.as_str()));
    let message: String = message.lines().next().unwrap_or_default().chars().take(200).collect();
    format!("it is no expression, at character {place}: {message}")
}

/// Why an expression has no value, in words that quote none.
fn reason(error: &ExecutionError) -> &'static str {
    if matches!(error, ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_)) {
        "the expression divides by zero"
    } else if matches!(error, ExecutionError::Overflow(..)) {
        "the expression gives a number beyond 64 bits"
    } else if matches!(error, ExecutionError::FunctionError { .. }) {
        "a function of the expression has no value for these arguments"
    } else {
        "the expression uses a value that is NULL"
    }
}

#[cfg(test)]
mod tests;
