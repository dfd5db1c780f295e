//! Values on their way from one type to another, as JSON. What does not fit exactly is no value of the other type, but for
//! decimals, which become the nearest floating-point number.
//!
//! The digits of a floating-point number are those that tell it from all others, and no more: `real 0.1` is 0.10000000149011612.
//! Where it becomes another number ([`fit_float`]), the number itself counts.

mod numbers;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Timelike, Utc};
use serde_json::value::RawValue;

use self::numbers::{floating, numeric, whole};
use crate::domain::column_type::Scalar;

pub(super) use self::numbers::{double, fit_float};

/// A JSON value, as a step reads it.
#[derive(Debug, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Boolean(bool),
    /// With the digits as they were written.
    Number(&'a str),
    Text(String),
    /// An object or a list.
    Structure,
}

impl<'a> Json<'a> {
    /// Reads a value of a document. A text with half of a surrogate pair is none that PostgreSQL has.
    pub fn read(raw: &'a str) -> Option<Self> {
        Some(match raw.as_bytes().first()? {
            b'n' => Self::Null,
            b't' => Self::Boolean(true),
            b'f' => Self::Boolean(false),
            b'"' => Self::Text(serde_json::from_str(raw).ok()?),
            b'{' | b'[' => Self::Structure,
            _ => Self::Number(raw),
        })
    }
}

/// The value as JSON of the type, if it fits.
pub(super) fn fit(raw: &str, to: Scalar) -> Option<String> {
    let value = Json::read(raw)?;
    if value == Json::Null {
        return Some("null".to_owned());
    }
    match to {
        Scalar::Smallint => whole(&value).filter(|n| i16::try_from(*n).is_ok()).map(|n| n.to_string()),
        Scalar::Integer => whole(&value).filter(|n| i32::try_from(*n).is_ok()).map(|n| n.to_string()),
        Scalar::Bigint => whole(&value).map(|n| n.to_string()),
        Scalar::Numeric => numeric(&value),
        Scalar::Real => {
            floating(&value, |text| text.parse::<f32>().ok().filter(|n| n.is_finite()).map(f64::from), true)
        }
        Scalar::Double => floating(&value, |text| text.parse::<f64>().ok().filter(|n| n.is_finite()), false),
        Scalar::Boolean => boolean(&value).map(|value| value.to_string()),
        Scalar::Text => text(value).map(|text| quoted(&text)),
        Scalar::Uuid => uuid(&value),
        Scalar::Date => moment(&value).and_then(|text| date(text.trim())).map(|date| quoted(&date.to_string())),
        Scalar::Timestamp => moment(&value).and_then(|text| timestamp(text.trim())).map(|at| quoted(&written(at))),
        Scalar::ZonedTimestamp => {
            moment(&value).and_then(|text| zoned(text.trim())).map(|at| quoted(&(written(at.naive_utc()) + "+00:00")))
        }
        Scalar::Json => json(&value),
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn boolean(value: &Json<'_>) -> Option<bool> {
    match value {
        Json::Boolean(value) => Some(*value),
        Json::Number("0") => Some(false),
        Json::Number("1") => Some(true),
        Json::Text(text) => match text.trim_ascii().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
        Json::Number(_) | Json::Null | Json::Structure => None,
    }
}

fn text(value: Json<'_>) -> Option<String> {
    match value {
        Json::Text(text) => Some(text),
        Json::Number(number) => Some(number.to_owned()),
        Json::Boolean(value) => Some(value.to_string()),
        Json::Null | Json::Structure => None,
    }
}

fn uuid(value: &Json<'_>) -> Option<String> {
    let Json::Text(text) = value else { return None };
    let text = text.trim_ascii();
    let parsed = if text.starts_with("urn") { None } else { uuid::Uuid::try_parse(text).ok() };
    parsed.map(|uuid| quoted(&uuid.hyphenated().to_string()))
}

/// The text of a date or a time. Longer ones are none.
fn moment<'a>(value: &'a Json<'_>) -> Option<&'a str> {
    match value {
        Json::Text(text) if text.len() <= 64 && text.is_ascii() => Some(text),
        Json::Text(_) | Json::Number(_) | Json::Boolean(_) | Json::Null | Json::Structure => None,
    }
}

/// A date of the years 1 to 9999.
fn date(text: &str) -> Option<NaiveDate> {
    let has_form = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| has_form && !text.starts_with("0000"))
}

/// A date with a time of up to six digits behind the second; midnight without one.
fn timestamp(text: &str) -> Option<NaiveDateTime> {
    let day = date(text.get(..10)?)?;
    let time = &text[10..];
    if time.is_empty() {
        return day.and_hms_opt(0, 0, 0);
    }
    let time = time.strip_prefix(['T', ' '])?;
    let has_form = time.bytes().enumerate().all(|(at, byte)| match at {
        2 | 5 => byte == b':',
        8 => byte == b'.',
        _ => byte.is_ascii_digit(),
    });
    if !has_form || !(time.len() == 8 || (10..=15).contains(&time.len())) {
        return None;
    }
    let time = chrono::NaiveTime::parse_from_str(time, "%H:%M:%S%.f").ok()?;
    (time.nanosecond() < 1_000_000_000).then(|| day.and_time(time))
}

/// A timestamp with its distance from UTC: `Z`, `+02` or `+02:00`.
fn zoned(text: &str) -> Option<DateTime<Utc>> {
    if let Some(text) = text.strip_suffix(['Z', 'z']) {
        return timestamp(text).filter(|_| text.len() > 10).map(|at| at.and_utc());
    }
    let (at, sign) = text.bytes().enumerate().skip(11).find(|(_, byte)| matches!(byte, b'+' | b'-'))?;
    let (hours, minutes) = text[at + 1..].split_once(':').unwrap_or((&text[at + 1..], "00"));
    let two = |text: &str| -> Option<i64> {
        (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    let distance = chrono::TimeDelta::minutes(hours * 60 + minutes);
    let distance = if sign == b'-' { -distance } else { distance };
    let utc = timestamp(&text[..at])?.checked_sub_signed(distance)?.and_utc();
    (hours <= 15 && minutes <= 59 && (1..=9999).contains(&chrono::Datelike::year(&utc))).then_some(utc)
}

/// As PostgreSQL writes a timestamp in JSON.
fn written(at: NaiveDateTime) -> String {
    let micros = at.and_utc().timestamp_subsec_micros();
    let behind = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    format!("{}{}", at.format("%Y-%m-%dT%H:%M:%S"), behind.trim_end_matches('0'))
}

fn json(value: &Json<'_>) -> Option<String> {
    let Json::Text(text) = value else { return None };
    serde_json::from_str::<&RawValue>(text).ok().map(|value| value.get().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_becomes_one_of_another_type_only_if_it_fits() {
        let cases: &[(Scalar, &str, Option<&str>)] = &[
            (Scalar::Integer, "null", Some("null")),
            (Scalar::Integer, r#"" 42 ""#, Some("42")),
            (Scalar::Integer, "12.00", Some("12")),
            (Scalar::Integer, "12.5", None),
            (Scalar::Integer, r#""12.0""#, None),
            (Scalar::Integer, r#""""#, None),
            (Scalar::Integer, r#""-""#, None),
            (Scalar::Integer, r#""0x10""#, None),
            (Scalar::Integer, "2147483648", None),
            (Scalar::Smallint, "32768", None),
            (Scalar::Smallint, "-32768", Some("-32768")),
            (Scalar::Bigint, "9223372036854775807", Some("9223372036854775807")),
            (Scalar::Bigint, "9223372036854775808", None),
            (Scalar::Bigint, "1e+15", Some("1000000000000000")),
            (Scalar::Bigint, "1e+20", None),
            (Scalar::Bigint, "9007199254740993e0", Some("9007199254740993")),
            (Scalar::Bigint, "-12.50e1", Some("-125")),
            (Scalar::Bigint, "1200e-2", Some("12")),
            (Scalar::Bigint, "12e-1", None),
            (Scalar::Bigint, "1.00000000000000000001e0", None),
            (Scalar::Bigint, "0e-2000000000", Some("0")),
            (Scalar::Bigint, "1e2000000000", None),
            (Scalar::Bigint, "true", Some("1")),
            (Scalar::Numeric, "12345678901234567890.10", Some("12345678901234567890.10")),
            (Scalar::Numeric, r#""+007.50""#, Some("7.50")),
            (Scalar::Numeric, r#"".5e3""#, Some("0.5e3")),
            (Scalar::Numeric, r#""1e1001""#, None),
            (Scalar::Numeric, r#"".""#, None),
            (Scalar::Numeric, r#""NaN""#, None),
            (Scalar::Double, r#""0.1""#, Some("0.1")),
            (Scalar::Double, "9007199254740993", None),
            (Scalar::Double, "9007199254740994", Some("9007199254740994")),
            (Scalar::Double, "9007199254740993.00", None),
            (Scalar::Double, r#""-9007199254740993.""#, None),
            (Scalar::Double, "9007199254740993e0", None),
            (Scalar::Double, "9007199254740994.00", Some("9007199254740994")),
            (Scalar::Double, "9007199254740993.5", Some("9007199254740994")),
            (Scalar::Double, "12345678901234567890.00", None),
            (Scalar::Double, "100000000000000000000000000000000000000000000000.0", None),
            (
                Scalar::Double,
                "1606938044258990275541962092341162602522202993782792835301376.0",
                Some("1.6069380442589903e+60"),
            ),
            (Scalar::Double, "1.5e300", Some("1.5e+300")),
            (Scalar::Double, "-0.00", Some("-0")),
            (Scalar::Double, "1e-400", None),
            (Scalar::Double, r#""1e999""#, None),
            (Scalar::Double, r#""Infinity""#, None),
            (Scalar::Real, "0.1", Some("0.1")),
            (Scalar::Real, "16777217", None),
            (Scalar::Real, r#""16777217.0""#, None),
            (Scalar::Real, "16777216.0", Some("16777216")),
            (Scalar::Real, "1e39", None),
            (Scalar::Boolean, r#""Yes""#, Some("true")),
            (Scalar::Boolean, "0", Some("false")),
            (Scalar::Boolean, "2", None),
            (Scalar::Text, "1.50", Some(r#""1.50""#)),
            (Scalar::Text, "false", Some(r#""false""#)),
            (Scalar::Text, "[1]", None),
            (Scalar::Text, r#""\ud800""#, None),
            (Scalar::Uuid, r#""A0EEBC999C0B4EF8BB6D6BB9BD380A11""#, Some(r#""a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11""#)),
            (Scalar::Uuid, r#""a0eebc99""#, None),
            (Scalar::Date, r#""2024-02-29""#, Some(r#""2024-02-29""#)),
            (Scalar::Date, r#""2023-02-29""#, None),
            (Scalar::Date, r#""02/03/2023""#, None),
            (Scalar::Timestamp, r#""2024-02-29 23:59:59.500""#, Some(r#""2024-02-29T23:59:59.5""#)),
            (Scalar::Timestamp, r#""2024-02-29""#, Some(r#""2024-02-29T00:00:00""#)),
            (Scalar::Timestamp, r#""2024-02-29 23:59:60""#, None),
            (Scalar::Timestamp, r#""2024-02-29 23:59:59.1234567""#, None),
            (Scalar::ZonedTimestamp, r#""2024-02-29 23:59:59+02""#, Some(r#""2024-02-29T21:59:59+00:00""#)),
            (Scalar::ZonedTimestamp, r#""2024-02-29T23:59:59Z""#, Some(r#""2024-02-29T23:59:59+00:00""#)),
            (Scalar::ZonedTimestamp, r#""2024-02-29 23:59:59""#, None),
            (Scalar::Json, r#""{\"a\": 1.50}""#, Some(r#"{"a": 1.50}"#)),
            (Scalar::Json, r#""{a: 1}""#, None),
        ];
        for (to, raw, expected) in cases {
            assert_eq!(fit(raw, *to).as_deref(), *expected, "{raw} as {to:?}");
        }
    }
}
