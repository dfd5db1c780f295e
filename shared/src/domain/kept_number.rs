//! Numbers of JSON and YAML that a program keeps: whole ones of 64 bits, and those that a double writes as they were written.
//! Others would arrive as their neighbours, so what people write is refused with [`LOST`].

/// What is wrong with a number that is not kept, and what would be right.
pub const LOST: &str = "not all digits of this number would be kept: write it as a text, in quotes";

/// Whether a number is the same once a program has read it.
pub fn is_kept(number: &str) -> bool {
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    let double = number.parse::<f64>().ok().filter(|double| double.is_finite());
    double.is_some_and(|double| Decimal::of(number) == Decimal::of(&format!("{double:e}")))
}

/// How many numbers are named: a path may be as long as its text.
const MOST_NAMED: usize = 20;

/// The paths of the first numbers in a JSON text that are not kept, such as `tasks[1].options.columns.n.value`.
pub fn lost_numbers(json: &str) -> Vec<String> {
    let (mut lost, mut path, mut rest) = (Vec::new(), Vec::new(), json);
    while let Some(first) = rest.bytes().next() {
        let length = match first {
            b'{' => {
                path.push(Place::Field(String::new()));
                1
            }
            b'[' => {
                path.push(Place::Element(0));
                1
            }
            b'}' | b']' => {
                path.pop();
                1
            }
            b',' => {
                if let Some(Place::Element(at)) = path.last_mut() {
                    *at += 1;
                }
                1
            }
            b'"' => {
                let length = text_length(rest);
                if rest[length..].trim_start().starts_with(':') {
                    path.pop();
                    path.push(Place::field(&rest[..length]));
                }
                length
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = rest.bytes().take_while(is_part).count();
                if !is_kept(&rest[..length]) {
                    lost.push(written(&path));
                }
                if lost.len() == MOST_NAMED {
                    return lost;
                }
                length
            }
            _ => 1,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    lost
}

/// Where a value stands in what is around it.
enum Place {
    Field(String),
    Element(usize),
}

impl Place {
    fn field(name: &str) -> Self {
        Self::Field(serde_json::from_str(name).unwrap_or_else(|_| name.to_owned()))
    }
}

fn written(path: &[Place]) -> String {
    let mut text = String::new();
    for place in path {
        match place {
            Place::Field(name) if text.is_empty() => text.push_str(name),
            Place::Field(name) => text.push_str(&format!(".{name}")),
            Place::Element(at) => text.push_str(&format!("[{at}]")),
        }
    }
    text
}

/// The bytes of the text at the beginning, with its quotes.
fn text_length(json: &str) -> usize {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(json.len(), |end| end + 2)
}

/// A number without a choice of how to write it.
#[derive(PartialEq)]
struct Decimal {
    is_negative: bool,
    /// From the first to the last that is no zero.
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(number: &str) -> Option<Self> {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let unsigned = mantissa.trim_start_matches(['+', '-']);
        let (before, behind) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let all = format!("{before}{behind}");
        let digits = all.trim_end_matches('0');
        let zeros = i64::try_from(all.len() - digits.len()).ok()?;
        let exponent =
            exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(behind.len()).ok()?)?.checked_add(zeros)?;
        let digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        Some(Self { is_negative: mantissa.starts_with('-'), digits, exponent })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_kept_if_a_program_writes_it_as_it_was_written() {
        for kept in [
            "0",
            "-0",
            "0.0",
            "-0.0e7",
            "1.50",
            "+0.1",
            ".5",
            "1e3",
            "1.5E+300",
            "-1e-300",
            "5e-324",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
            "100000000000000000000",
            "9007199254740992.0",
            "0.30000000000000004",
            "12345678901234567000.00",
        ] {
            assert!(is_kept(kept), "{kept}");
        }
        for lost in [
            "12345678901234567890.123",
            "-12345678901234567890",
            "18446744073709551616",
            "9007199254740993.0",
            "9007199254740993e0",
            "0.12345678901234567890123",
            "3.14159265358979323846",
            "1e400",
            "1e-400",
            "1e99999999999999999999",
        ] {
            assert!(!is_kept(lost), "{lost}");
        }
    }

    #[test]
    fn numbers_are_found_by_their_paths_and_texts_are_none() {
        let json = r#" {"a\"1e400": "1e400\\", "b": [0, [1e400], {"c" : -1e400, "d": true}, "ä, 1e400"], "e": {}, "f": 1e400} "#;
        assert_eq!(lost_numbers(json), ["b[1][0]", "b[2].c", "f"]);
        assert_eq!(lost_numbers("1e400"), [""]);
        assert_eq!(lost_numbers(r#"{"\"x\"": [null, 1e400]}"#), ["\"x\"[1]"]);
        assert!(lost_numbers(&"[".repeat(1_000_000)).is_empty());
        let many = format!("{}{}", "[".repeat(100_000), "1e400,".repeat(100_000));
        assert_eq!(lost_numbers(&many).len(), MOST_NAMED);
    }

    proptest! {
        #[test]
        fn what_a_program_writes_is_kept(double in any::<f64>().prop_filter("finite", |double| double.is_finite())) {
            prop_assert!(is_kept(&double.to_string()));
            prop_assert!(is_kept(&serde_json::json!(double).to_string()));
        }

        #[test]
        fn any_text_is_walked_to_its_end(text in "[\\[\\]{}\",:0-9eE.+ ä\\\\-]{0,60}") {
            let _ = lost_numbers(&text);
        }
    }
}
