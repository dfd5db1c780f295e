//! Which expressions are admitted, and the types of their values.
//!
//! CEL itself compares values of any two types: a text never equals a number, and a whole number is compared with a float by its
//! nearest one. Here both are refused before a row moves.

use std::collections::BTreeMap;

use cel::{
    IdedExpr,
    common::ast::{CallExpr, Expr, LiteralValue, operators},
};

use crate::domain::{SourceColumn, column_type::Scalar};

/// The type of a value. Each may be NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Type {
    Bool,
    Int,
    Double,
    /// A `real`: a double whose decimals are those of a shorter float.
    Single,
    Text,
    /// Nothing but NULL.
    Null,
    /// A column of another type, which can only be compared with `null`.
    Other,
}

/// Functions by name, the types of their arguments, the object that they are called on included, and of their value.
const FUNCTIONS: &[(&str, bool, &[Type], Type)] = &[
    ("size", true, &[Type::Text], Type::Int),
    ("size", false, &[Type::Text], Type::Int),
    ("contains", true, &[Type::Text, Type::Text], Type::Bool),
    ("startsWith", true, &[Type::Text, Type::Text], Type::Bool),
    ("endsWith", true, &[Type::Text, Type::Text], Type::Bool),
    ("lowerAscii", true, &[Type::Text], Type::Text),
    ("upperAscii", true, &[Type::Text], Type::Text),
    ("substring", true, &[Type::Text, Type::Int], Type::Text),
    ("substring", true, &[Type::Text, Type::Int, Type::Int], Type::Text),
    ("string", false, &[Type::Text], Type::Text),
    ("string", false, &[Type::Int], Type::Text),
    ("string", false, &[Type::Bool], Type::Text),
    ("int", false, &[Type::Int], Type::Int),
    ("int", false, &[Type::Double], Type::Int),
    ("int", false, &[Type::Text], Type::Int),
    ("double", false, &[Type::Int], Type::Double),
    ("double", false, &[Type::Double], Type::Double),
    ("double", false, &[Type::Text], Type::Double),
];

/// How the language calls `?:`, `!`, `-` and so on, and how they are written.
const WRITTEN: &[(&str, &str)] = &[
    (operators::ADD, "+"),
    (operators::SUBSTRACT, "-"),
    (operators::MULTIPLY, "*"),
    (operators::DIVIDE, "/"),
    (operators::MODULO, "%"),
    (operators::LESS, "<"),
    (operators::LESS_EQUALS, "<="),
    (operators::GREATER, ">"),
    (operators::GREATER_EQUALS, ">="),
    (operators::EQUALS, "=="),
    (operators::NOT_EQUALS, "!="),
    (operators::LOGICAL_AND, "&&"),
    (operators::LOGICAL_OR, "||"),
    (operators::LOGICAL_NOT, "!"),
    (operators::NEGATE, "-"),
    (operators::IN, "in"),
    (operators::CONDITIONAL, "?:"),
];

impl Type {
    pub fn of(column: &SourceColumn) -> Self {
        match column.value_type().scalar() {
            Some(Scalar::Boolean) => Self::Bool,
            Some(Scalar::Smallint | Scalar::Integer | Scalar::Bigint) => Self::Int,
            Some(Scalar::Double) => Self::Double,
            Some(Scalar::Real) => Self::Single,
            Some(Scalar::Text | Scalar::Uuid) => Self::Text,
            Some(Scalar::Numeric | Scalar::Date | Scalar::Timestamp | Scalar::ZonedTimestamp | Scalar::Json) | None => {
                Self::Other
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "a boolean",
            Self::Int => "a whole number",
            Self::Double | Self::Single => "a double",
            Self::Text => "a text",
            Self::Null => "null",
            Self::Other => "of a type that expressions do not have",
        }
    }

    /// The same in a computation.
    fn computed(self) -> Self {
        if self == Self::Single { Self::Double } else { self }
    }
}

/// Refuses what is too deep, and all of the language that is not admitted. Returns how often each column is named.
pub(super) fn admit(expression: &IdedExpr, deepest: usize) -> Result<BTreeMap<String, usize>, String> {
    let mut named = BTreeMap::new();
    let too_deep = format!("an expression has at most {deepest} operators one within the other: use several steps");
    walk(expression, deepest, &mut named).map_err(|refusal| refusal.unwrap_or(too_deep))?;
    Ok(named)
}

/// The refusal has no words where the expression is too deep.
fn walk(expression: &IdedExpr, deepest: usize, named: &mut BTreeMap<String, usize>) -> Result<(), Option<String>> {
    let Some(deeper) = deepest.checked_sub(1) else { return Err(None) };
    let refused = |words: &str| Err(Some(words.to_owned()));
    match &expression.expr {
        Expr::Ident(name) => *named.entry(name.clone()).or_default() += 1,
        Expr::Literal(LiteralValue::Bytes(_) | LiteralValue::UInt(_)) => {
            return refused("write texts like 'x' and whole numbers like 1: there are no others");
        }
        Expr::Literal(_) => {}
        Expr::Call(call) => {
            known(&call.func_name).map_err(Some)?;
            let parts = call.target.iter().map(AsRef::as_ref).chain(&call.args);
            for (place, part) in parts.enumerate() {
                let behind_in = call.func_name == operators::IN && place == 1;
                if let (Expr::List(list), true) = (&part.expr, behind_in) {
                    list.elements.iter().try_for_each(|element| walk(element, deeper, named))?;
                } else {
                    walk(part, deeper, named)?;
                }
            }
        }
        Expr::List(_) => return refused("a list stands only behind `in`"),
        Expr::Select(select) => {
            let field = printable(&select.field);
            return Err(Some(format!("`.{field}` is no function: json_extract makes columns of what is inside json")));
        }
        Expr::Comprehension(_) | Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {
            return refused("an expression has columns, values, operators and functions, and no objects or loops");
        }
    }
    Ok(())
}

/// Refuses a function that is not in the list.
fn known(name: &str) -> Result<(), String> {
    if WRITTEN.iter().any(|(operator, _)| *operator == name) || FUNCTIONS.iter().any(|known| known.0 == name) {
        return Ok(());
    }
    let mut known: Vec<_> = FUNCTIONS.iter().map(|known| known.0).collect();
    known.dedup();
    Err(format!("there is no function `{}`; there is {}", printable(name), known.join(", ")))
}

/// The type of an expression's values, or what is wrong with it.
pub(super) fn type_of(expression: &IdedExpr, columns: &[SourceColumn]) -> Result<Type, String> {
    match &expression.expr {
        Expr::Ident(name) => {
            let found = columns.iter().find(|column| column.name == *name);
            found.map(Type::of).ok_or_else(|| {
                let known = columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
                format!("there is no column `{}` at this step; there is {known}", printable(name))
            })
        }
        Expr::Literal(literal) => Ok(match literal {
            LiteralValue::Boolean(_) => Type::Bool,
            LiteralValue::Double(_) => Type::Double,
            LiteralValue::Int(_) => Type::Int,
            LiteralValue::String(_) => Type::Text,
            LiteralValue::Null | LiteralValue::Bytes(_) | LiteralValue::UInt(_) => Type::Null,
        }),
        Expr::Call(call) => call_type(call, columns),
        Expr::List(_)
        | Expr::Select(_)
        | Expr::Comprehension(_)
        | Expr::Map(_)
        | Expr::Struct(_)
        | Expr::Unspecified => Err("it is no expression of a value".to_owned()),
    }
}

fn call_type(call: &CallExpr, columns: &[SourceColumn]) -> Result<Type, String> {
    let name = call.func_name.as_str();
    if name == operators::IN {
        return membership(call, columns);
    }
    let arguments = call.target.iter().map(AsRef::as_ref).chain(&call.args);
    let types = arguments.map(|argument| type_of(argument, columns)).collect::<Result<Vec<_>, _>>()?;
    match (operator(name, &types), WRITTEN.iter().find(|(own, _)| *own == name)) {
        (Some(result), _) => Ok(result),
        (None, Some((_, written))) => Err(mismatch(written, &types, call, columns)),
        (None, None) => function(call, &types),
    }
}

/// The type of an operator's value, where it is one and has one for these.
fn operator(name: &str, types: &[Type]) -> Option<Type> {
    use Type::{Bool, Double, Int, Null, Text};
    let computed: Vec<_> = types.iter().map(|one| one.computed()).collect();
    match (name, computed.as_slice()) {
        (operators::LOGICAL_AND | operators::LOGICAL_OR, [Bool, Bool]) | (operators::LOGICAL_NOT, [Bool]) => Some(Bool),
        (operators::EQUALS | operators::NOT_EQUALS, [one, other]) if compares(*one, *other) => Some(Bool),
        (
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
            [Int, Int] | [Double, Double] | [Text, Text],
        ) => Some(Bool),
        (
            operators::ADD | operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE,
            [one @ (Int | Double), other],
        ) if one == other => Some(*one),
        (operators::ADD, [Text, Text]) => Some(Text),
        (operators::MODULO, [Int, Int]) => Some(Int),
        (operators::NEGATE, [one @ (Int | Double)]) => Some(*one),
        (operators::CONDITIONAL, [Bool, one, other]) if one == other && *one != Type::Other => Some(*one),
        (operators::CONDITIONAL, [Bool, Null, one] | [Bool, one, Null]) if *one != Type::Other => Some(*one),
        _ => None,
    }
}

fn compares(one: Type, other: Type) -> bool {
    one == other && one != Type::Other || one == Type::Null || other == Type::Null
}

/// `column in ['a', 'b']`.
fn membership(call: &CallExpr, columns: &[SourceColumn]) -> Result<Type, String> {
    let [one, IdedExpr { expr: Expr::List(list), .. }] = call.args.as_slice() else {
        return Err("behind `in` stands a list, like ['a', 'b']".to_owned());
    };
    let one = type_of(one, columns)?.computed();
    for element in &list.elements {
        let element = type_of(element, columns)?.computed();
        if one != element || matches!(one, Type::Other | Type::Null) {
            return Err(format!(
                "`in` looks for {} in a list with {}: both are of one type",
                one.name(),
                element.name()
            ));
        }
    }
    Ok(Type::Bool)
}

fn function(call: &CallExpr, types: &[Type]) -> Result<Type, String> {
    let (name, is_member) = (call.func_name.as_str(), call.target.is_some());
    let types: Vec<_> = types.iter().map(|one| one.computed()).collect();
    let named: Vec<_> = FUNCTIONS.iter().filter(|known| known.0 == name).collect();
    let found = named.iter().find(|known| known.1 == is_member && known.2 == types);
    found.map(|known| known.3).ok_or_else(|| {
        let given = types.iter().map(|one| one.name()).collect::<Vec<_>>().join(" and ");
        format!("`{name}` is not there for {given}")
    })
}

fn mismatch(written: &str, types: &[Type], call: &CallExpr, columns: &[SourceColumn]) -> String {
    let other = call.target.iter().map(AsRef::as_ref).chain(&call.args).find_map(|argument| {
        let Expr::Ident(name) = &argument.expr else { return None };
        columns.iter().find(|column| column.name == *name && Type::of(column) == Type::Other)
    });
    if let Some(column) = other {
        return format!(
            "column `{}` is {}, which expressions only compare with null: use `cast` before, or the query",
            column.name, column.type_name
        );
    }
    let given = types.iter().map(|one| one.name()).collect::<Vec<_>>().join(" and ");
    let mixes = types.contains(&Type::Int) && types.iter().any(|one| one.computed() == Type::Double);
    let hint = if mixes { ": write 1.0 instead of 1, or double(…)" } else { "" };
    format!("`{written}` is not there for {given}{hint}")
}

fn printable(name: &str) -> String {
    name.chars().take(100).collect()
}
