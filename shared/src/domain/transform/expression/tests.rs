use proptest::prelude::*;

use super::*;

fn columns() -> Vec<SourceColumn> {
    let types = [
        ("n", "bigint"),
        ("big", "bigint"),
        ("x", "double precision"),
        ("r", "real"),
        ("t", "text"),
        ("b", "boolean"),
        ("id", "uuid"),
        ("price", "numeric(10,2)"),
        ("modified", "timestamp with time zone"),
        ("none", "text"),
    ];
    let column = |(name, type_name): (&str, &str)| SourceColumn {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        ..SourceColumn::default()
    };
    types.into_iter().map(column).collect()
}

const ROW: &str = r#"{"n":7,"big":9007199254740993,"x":0.5,"r":0.1,"t":"Ünder","b":true,
    "id":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","price":12.50,"modified":"2026-01-01T00:00:00+00:00","none":null}"#;

fn evaluate(text: &str) -> Result<Value, String> {
    let mut expression = Expression::parse(text)?;
    expression.type_of(&columns())?;
    expression.prepare(&columns());
    expression.evaluate(&RowDocument::parse(ROW).expect("a row"))
}

#[test]
fn operators_and_functions_have_the_values_that_the_language_gives_them() {
    for (text, expected) in [
        ("n + 1", Value::Int(8)),
        ("(n - 1) * 2 / 5 % 2", Value::Int(0)),
        ("-n", Value::Int(-7)),
        ("x * 4.0", Value::Float(2.0)),
        ("r == 0.1", Value::Bool(false)),
        ("t + '!' + string(n)", Value::String("Ünder!7".to_owned().into())),
        ("t.size() == 5 && size(t) == 5", Value::Bool(true)),
        ("t.upperAscii().startsWith('Ü')", Value::Bool(true)),
        ("t.substring(1) + t.substring(0, 1).lowerAscii()", Value::String("nderÜ".to_owned().into())),
        ("t.contains('nd') && t.endsWith('r')", Value::Bool(true)),
        ("n in [1, 7] ? 'yes' : null", Value::String("yes".to_owned().into())),
        ("b || n > 100", Value::Bool(true)),
        ("!b", Value::Bool(false)),
        ("none == null && modified != null && price != null", Value::Bool(true)),
        ("none != 'x'", Value::Bool(true)),
        ("none", Value::Null),
        ("int('12') + int(2.9) + n", Value::Int(21)),
        ("double(n) / 2.0 + double('0.5')", Value::Float(4.0)),
        ("id == 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", Value::Bool(true)),
        ("t < 'z'", Value::Bool(false)),
    ] {
        assert_eq!(evaluate(text), Ok(expected), "{text}");
    }
}

/// A whole number of more than 53 bits equals another one as a float.
#[test]
fn whole_numbers_are_not_compared_with_floats() {
    for text in ["big == 9007199254740992.0", "big > x", "n < 1.5", "big in [1.0]", "n == x", "x + 1", "b ? 1 : 1.0"] {
        let refusal = evaluate(text).expect_err(text);
        assert!(refusal.contains("a whole number") && refusal.contains("a double"), "{text}: {refusal}");
    }
    assert_eq!(evaluate("big == 9007199254740992"), Ok(Value::Bool(false)));
    assert_eq!(evaluate("big == 9007199254740993"), Ok(Value::Bool(true)));
}

#[test]
fn what_is_no_expression_over_the_columns_is_refused_with_the_reason() {
    for (text, expected) in [
        ("n +", "it is no expression"),
        ("", "it is no expression"),
        ("m + 1", "there is no column `m` at this step; there is n, big,"),
        ("price > 5", "column `price` is numeric(10,2), which expressions only compare with null"),
        ("modified > '2026'", "use `cast` before"),
        ("t == 1", "`==` is not there for a text and a whole number"),
        ("t && b", "`&&` is not there for a text and a boolean"),
        ("[1, 2].all(i, i > n)", "there is no function `all`"),
        ("t.all(i, true)", "there is no function `all`"),
        ("t.map(i, i)", "there is no function `map`"),
        ("t.matches('a+')", "there is no function `matches`"),
        ("'%s'.format([t])", "there is no function `format`"),
        ("[n] == [1]", "a list stands only behind `in`"),
        ("t.replace('a', t)", "there is no function `replace`"),
        ("t.inner", "`.inner` is no function"),
        ("has(t.inner)", "there is no function `has`"),
        ("{'a': 1}", "no objects or loops"),
        ("Point{x: 1}", "no objects or loops"),
        ("n in t", "behind `in` stands a list"),
        ("5u", "there are no others"),
        ("b'x'", "there are no others"),
        ("size(n)", "`size` is not there for a whole number"),
        ("string(x)", "`string` is not there for a double"),
        ("b ? 1 : 'x'", "`?:` is not there for"),
    ] {
        let refusal = evaluate(text).expect_err(text);
        assert!(refusal.contains(expected), "{text}: {refusal}");
    }
}

#[test]
fn a_row_for_which_there_is_no_value_is_told_without_its_values() {
    for (text, expected) in [
        ("n / (n - 7)", "the expression divides by zero"),
        ("n % 0", "the expression divides by zero"),
        ("x / 0.0", "the expression gives no finite number"),
        ("big * big", "the expression gives a number beyond 64 bits"),
        ("none + t", "the expression uses a value that is NULL"),
        ("none < t", "the expression uses a value that is NULL"),
        ("int(t)", "a function of the expression has no value for these arguments"),
        ("t.substring(9)", "a function of the expression has no value for these arguments"),
    ] {
        assert_eq!(evaluate(text), Err(expected.to_owned()), "{text}");
    }
    let mut expression = Expression::parse("x > 0.0").expect("an expression");
    expression.prepare(&columns());
    let not_a_number = RowDocument::parse(r#"{"x":"NaN"}"#).expect("a row");
    let refusal = expression.evaluate(&not_a_number).expect_err("NaN");
    assert_eq!(refusal, "column `x` has a value that expressions do not have");
}

#[test]
fn texts_of_a_row_are_bounded_by_how_often_they_are_named() {
    let text = ["t"; 11].join("+");
    let mut expression = Expression::parse(&text).expect("an expression");
    expression.prepare(&columns());
    let row = |bytes: usize| RowDocument::parse(&format!(r#"{{"t":"{}"}}"#, "x".repeat(bytes))).expect("a row");
    assert!(expression.evaluate(&row(MAX_INPUT_BYTES / 11)).is_ok());
    assert!(expression.evaluate(&row(MAX_INPUT_BYTES / 11 + 1)).expect_err("large").contains("at most 1048576 bytes"));
}

/// The longest and deepest texts of many forms are refused or parsed, and what was parsed is evaluated and dropped, on a
/// stack that is smaller than those of the worker's threads.
#[test]
fn no_text_takes_more_stack_than_there_is() {
    let repeated = |one: &str| one.repeat(MAX_BYTES / one.len());
    let mut texts = Vec::new();
    for one in [
        "(", "[", "{", "!", "-", "- ", "b?", "b?b:", "t.", "t+", "b||", "b&&", "n<", "n in[", "size(", "f(", "'",
        "\"\"\"", "`",
    ] {
        texts.push(repeated(one));
        texts.push(format!("{}n", repeated(one).chars().take(MAX_BYTES - 1).collect::<String>()));
    }
    for depth in 1..=MAX_NESTING {
        texts.push(format!("{}n{}", "(".repeat(depth), ")".repeat(depth)));
        texts.push(format!("{}b", "!".repeat(depth)));
        texts.push(format!("{}'a'", "b ? 'x' : ".repeat(depth)));
        texts.push(format!("{}t{}", "string(".repeat(depth), ")".repeat(depth)));
    }
    for length in [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 400] {
        texts.push(vec!["n"; length].join("+"));
        texts.push(vec!["t"; length].join("+"));
        texts.push(vec!["b"; length].join("||"));
        texts.push(format!("t{}", ".lowerAscii()".repeat(length.min(70))));
    }
    let on_a_small_stack = move || {
        let mut admitted = 0;
        for text in texts {
            admitted += usize::from(evaluate(&text).is_ok());
        }
        admitted
    };
    let thread = thread::Builder::new().stack_size(1024 * 1024).spawn(on_a_small_stack).expect("a thread");
    let admitted = thread.join().expect("no panic");
    assert!(admitted > 3 * MAX_NESTING, "only {admitted} were admitted");
    let long = Expression::parse(&"n".repeat(MAX_BYTES + 1)).expect_err("long");
    assert_eq!(long, "an expression has at most 1000 bytes, this one has 1001");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_refused_or_evaluated(text in "[a-z0-9nxtb .,()\\[\\]{}?:!<>=&|+*/%'\"\\\\-]{0,60}") {
        let _ = evaluate(&text);
    }

    #[test]
    fn any_words_are_refused_or_evaluated(words in prop::collection::vec(prop::sample::select(vec![
        "n", "x", "t", "b", "none", "price", "1", "2.5", "'a'", "null", "true", "(", ")", "[", "]", ",", "+", "-", "*", "/",
        "%", "==", "!=", "<", ">=", "&&", "||", "!", "?", ":", "in", ".size()", ".substring(1)", "string(", "int(", "double(",
    ]), 1..12)) {
        let _ = evaluate(&words.join(" "));
    }
}
