//! Numbers on their way from one type to another.

use super::{Json, fit};
use crate::domain::column_type::Scalar;

/// Digits of a number that is made of a text, before and after its point.
const MAX_DIGITS: usize = 1000;
/// The largest exponent of a number that is made of a text.
const MAX_EXPONENT: u32 = 1000;

/// The value of a column of floating-point numbers as JSON of the type, if it fits. `single` ones have half the bits.
pub(in super::super) fn fit_float(raw: &str, single: bool, to: Scalar) -> Option<String> {
    let Json::Number(digits) = Json::read(raw)? else { return fit(raw, to) };
    let number = if single { f64::from(digits.parse::<f32>().ok()?) } else { digits.parse().ok()? };
    match to {
        // The point of a whole one does not count: all its digits are there.
        Scalar::Smallint | Scalar::Integer | Scalar::Bigint if number.fract() == 0.0 => {
            fit(&format!("{number:.0}"), to)
        }
        Scalar::Double => double(number),
        Scalar::Real => shorter(number),
        Scalar::Smallint
        | Scalar::Integer
        | Scalar::Bigint
        | Scalar::Numeric
        | Scalar::Boolean
        | Scalar::Text
        | Scalar::Uuid
        | Scalar::Date
        | Scalar::Timestamp
        | Scalar::ZonedTimestamp
        | Scalar::Json => fit(raw, to),
    }
}

/// A double as JSON of a `real`, under the rules of [`floating`].
fn shorter(number: f64) -> Option<String> {
    let single = number as f32;
    let is_bigint = number.fract() == 0.0 && number.abs() < BEYOND_BIGINT;
    let is_lost = !single.is_finite() || single == 0.0 && number != 0.0;
    if is_lost || is_bigint && f64::from(single) != number {
        return None;
    }
    serde_json::to_string(&single).ok().map(without_point)
}

pub(super) fn whole(value: &Json<'_>) -> Option<i64> {
    match value {
        Json::Boolean(value) => Some(i64::from(*value)),
        Json::Text(text) => {
            let text = text.trim_ascii();
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
        }
        Json::Number(number) => whole_number(number),
        Json::Null | Json::Structure => None,
    }
}

/// Digits of the longest whole number of 64 bits.
const MOST_WHOLE_DIGITS: usize = 19;
/// 2^63.
const BEYOND_BIGINT: f64 = 9_223_372_036_854_775_808.0;

/// A number of 64 bits without anything behind its point.
fn whole_number(number: &str) -> Option<i64> {
    let (sign, digits, zeros) = whole_digits(number)?;
    if digits.is_empty() {
        return Some(0);
    }
    (digits.len().checked_add(zeros)? <= MOST_WHOLE_DIGITS)
        .then(|| format!("{sign}{digits}{}", "0".repeat(zeros)).parse().ok())?
}

/// The sign, the digits and the zeros behind them of a number without anything behind its point.
fn whole_digits(number: &str) -> Option<(&'static str, String, usize)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |digits| ("-", digits));
    let (before, behind) = digits.split_once('.').unwrap_or((digits, ""));
    // The point is moved among the digits: a float would round them.
    let point = i32::try_from(before.len()).ok()?.checked_add(exponent.parse().ok()?)?;
    let digits = format!("{before}{behind}");
    let point = usize::try_from(point).unwrap_or(0);
    let (whole, fraction) = digits.split_at(point.min(digits.len()));
    let zeros = point.saturating_sub(digits.len());
    let has_fraction = !fraction.bytes().all(|byte| byte == b'0');
    (!has_fraction).then(|| (sign, whole.trim_start_matches('0').to_owned(), zeros))
}

pub(super) fn numeric(value: &Json<'_>) -> Option<String> {
    match value {
        Json::Number(number) => Some((*number).to_owned()),
        Json::Text(text) => decimal(text),
        Json::Boolean(_) | Json::Null | Json::Structure => None,
    }
}

/// A text that SQL reads as a number, as JSON writes it, with all its digits.
fn decimal(text: &str) -> Option<String> {
    let text = text.trim_ascii();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= MAX_DIGITS;
    if before.len() + behind.len() == 0
        || !are_digits(before)
        || !are_digits(behind)
        || exponent.unsigned_abs() > MAX_EXPONENT
    {
        return None;
    }
    let before = before.trim_start_matches('0');
    let before = if before.is_empty() { "0" } else { before };
    let point = if behind.is_empty() { "" } else { "." };
    let exponent = if exponent == 0 { String::new() } else { format!("e{exponent}") };
    Some(format!("{sign}{before}{point}{behind}{exponent}"))
}

/// The nearest floating-point number. A whole number that is none exactly does not fit, nor does one that is too large or too
/// small.
pub(super) fn floating(value: &Json<'_>, parse: impl Fn(&str) -> Option<f64>, is_single: bool) -> Option<String> {
    let text = numeric(value)?;
    let number = parse(&text)?;
    let is_zero =
        |text: &str| !text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).any(|b| (b'1'..=b'9').contains(&b));
    if number == 0.0 && !is_zero(&text) || !keeps_whole(&text, number) {
        return None;
    }
    let json = if is_single { serde_json::to_string(&(number as f32)) } else { serde_json::to_string(&number) };
    json.ok().map(without_point)
}

/// Whether a number has all its digits as this float, if it is whole. Beyond 64 bits an exponent says that it is a float, whose
/// digits are not all written.
fn keeps_whole(text: &str, number: f64) -> bool {
    if text.contains(['e', 'E']) {
        return whole_number(text).is_none_or(|whole| i128::from(whole) == number as i128);
    }
    let is_same = |(sign, digits, _): (&str, String, usize)| {
        digits.is_empty() || format!("{sign}{digits}") == format!("{number:.0}")
    };
    whole_digits(text).is_none_or(is_same)
}

/// A double as JSON.
pub(in super::super) fn double(number: f64) -> Option<String> {
    serde_json::to_string(&number).ok().map(without_point)
}

/// A whole number is written as PostgreSQL does.
fn without_point(json: String) -> String {
    json.strip_suffix(".0").map(str::to_owned).unwrap_or(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What SQL gives for `0.1::real::float8`, `1152921504606846976::float8::bigint` and the like.
    #[test]
    fn a_float_that_becomes_another_number_is_itself_and_not_its_digits() {
        let cases: &[(bool, &str, Scalar, Option<&str>)] = &[
            (true, "0.1", Scalar::Double, Some("0.10000000149011612")),
            (true, "0.1", Scalar::Real, Some("0.1")),
            (true, "0.1", Scalar::Numeric, Some("0.1")),
            (true, "0.1", Scalar::Text, Some(r#""0.1""#)),
            (true, "1.6777216e+07", Scalar::Integer, Some("16777216")),
            (true, "0.5", Scalar::Integer, None),
            (false, "0.1", Scalar::Double, Some("0.1")),
            (false, "0.1", Scalar::Real, Some("0.1")),
            (false, "1e+300", Scalar::Double, Some("1e+300")),
            (false, "1.152921504606847e+18", Scalar::Bigint, Some("1152921504606846976")),
            (false, "9.223372036854775e+18", Scalar::Bigint, Some("9223372036854774784")),
            (false, "9.223372036854776e+18", Scalar::Bigint, None),
            (false, "16777217", Scalar::Real, None),
            (false, "16777217.5", Scalar::Real, Some("16777218")),
            (false, "1e+39", Scalar::Real, None),
            (false, "1e-300", Scalar::Real, None),
            (false, "1e+20", Scalar::Real, Some("1e+20")),
            (false, "-0", Scalar::Bigint, Some("0")),
            (false, "null", Scalar::Bigint, Some("null")),
            (false, r#""NaN""#, Scalar::Real, None),
        ];
        for (single, raw, to, expected) in cases {
            assert_eq!(fit_float(raw, *single, *to).as_deref(), *expected, "{raw} as {to:?}");
        }
    }
}
