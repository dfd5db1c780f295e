//! How many rows of its target a run may remove.
//!
//! A full run makes its target equal to the query's result. If the query returns nothing because a filter is wrong or a
//! table is being loaded anew, that would empty the target. So a run that would remove more than is allowed fails before
//! it removes anything.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How many rows every run may remove unless its pipeline says otherwise: a small target may change whole.
pub const ALWAYS_REMOVABLE: u64 = 100;

/// Parts of a share: it is written with at most four decimals of a percent.
const WHOLE: u32 = 1_000_000;

const EXPECTED: &str = "a whole number of rows, a share between 0 and 1, or a percentage such as \"20%\"";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxRemoved {
    Rows(u64),
    /// A share of the target's rows, in millionths.
    Share(u32),
}

impl MaxRemoved {
    /// Whatever the query does not return any more.
    pub const EVERYTHING: Self = Self::Share(WHOLE);

    fn allows(self, removed: u64, of: u64) -> bool {
        match self {
            Self::Rows(most) => removed <= most,
            Self::Share(share) => u128::from(removed) * u128::from(WHOLE) <= u128::from(of) * u128::from(share),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
        (0.0..=100.0).contains(&percent).then(|| Self::of_share(percent / 100.0))
    }

    fn of_share(share: f64) -> Self {
        Self::Share((share * f64::from(WHOLE)).round() as u32)
    }
}

pub fn is_allowed(limit: Option<MaxRemoved>, removed: u64, of: u64) -> bool {
    match limit {
        Some(limit) => limit.allows(removed, of),
        None => removed <= ALWAYS_REMOVABLE || removed <= of / 2,
    }
}

/// Why a run may not remove so many rows of `target`, and how to go on; none if it may.
pub fn refusal(limit: Option<MaxRemoved>, removed: u64, of: u64, target: &str, pipeline: &str) -> Option<String> {
    if is_allowed(limit, removed, of) {
        return None;
    }
    let allowed = match limit {
        Some(limit) => format!("options.max_removed allows {limit}"),
        None => {
            format!("without options.max_removed a run may remove half of them, or {ALWAYS_REMOVABLE} if that is more")
        }
    };
    Some(format!(
        "{removed} of the {of} rows of `{target}` would be removed, and {allowed}: nothing was removed. Look at what the \
         query returns; if that is right, allow it once with `vitrina run {pipeline} --full --allow-removal` \
         (POST …/run?full=true&allow_removal=true), or set options.max_removed"
    ))
}

impl fmt::Display for MaxRemoved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => write!(f, "{rows}"),
            Self::Share(share) => write!(f, "{}%", f64::from(*share) / f64::from(WHOLE / 100)),
        }
    }
}

impl Serialize for MaxRemoved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rows(rows) => serializer.serialize_u64(*rows),
            Self::Share(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for MaxRemoved {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;

        impl de::Visitor<'_> for Form {
            type Value = MaxRemoved;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_u64<E: de::Error>(self, rows: u64) -> Result<MaxRemoved, E> {
                Ok(MaxRemoved::Rows(rows))
            }

            fn visit_i64<E: de::Error>(self, rows: i64) -> Result<MaxRemoved, E> {
                u64::try_from(rows)
                    .map(MaxRemoved::Rows)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(rows), &self))
            }

            fn visit_f64<E: de::Error>(self, share: f64) -> Result<MaxRemoved, E> {
                if share > 0.0 && share < 1.0 {
                    return Ok(MaxRemoved::of_share(share));
                }
                Err(E::invalid_value(de::Unexpected::Float(share), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<MaxRemoved, E> {
                MaxRemoved::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn every_form_is_read_and_written_alike() {
        for (given, meant, written) in [
            (json!(0), MaxRemoved::Rows(0), json!(0)),
            (json!(500), MaxRemoved::Rows(500), json!(500)),
            (json!(0.2), MaxRemoved::Share(200_000), json!("20%")),
            (json!("20%"), MaxRemoved::Share(200_000), json!("20%")),
            (json!("12.5 %"), MaxRemoved::Share(125_000), json!("12.5%")),
            (json!("100%"), MaxRemoved::EVERYTHING, json!("100%")),
        ] {
            let read: MaxRemoved = from_value(given.clone()).expect("it is one of the forms");
            assert_eq!((read, to_value(read).expect("it is JSON")), (meant, written), "{given}");
        }
        for wrong in
            [json!(-1), json!(1.5), json!(0.0), json!("20"), json!("120%"), json!("half"), json!(null), json!([])]
        {
            let refused = from_value::<MaxRemoved>(wrong.clone()).expect_err("it is none of them");
            assert!(refused.to_string().contains(EXPECTED), "{wrong}: {refused}");
        }
    }

    #[test]
    fn without_the_option_a_large_target_loses_at_most_half_of_its_rows() {
        let allowed = |removed, of| is_allowed(None, removed, of);
        assert!(allowed(100, 100) && allowed(500, 1000) && allowed(0, 0));
        assert!(!allowed(101, 101) && !allowed(501, 1000));
    }

    #[test]
    fn a_number_or_a_share_is_the_most_that_may_be_removed() {
        assert!(is_allowed(Some(MaxRemoved::Rows(5)), 5, 5) && !is_allowed(Some(MaxRemoved::Rows(5)), 6, 1000));
        let share = Some(MaxRemoved::Share(200_000));
        assert!(is_allowed(share, 2, 10) && !is_allowed(share, 3, 10) && is_allowed(share, 0, 0));
        assert!(is_allowed(Some(MaxRemoved::EVERYTHING), 10, 10));
        assert!(refusal(Some(MaxRemoved::Rows(0)), 1, 10, "analytics.item", "items").is_some());
    }
}
