//! Keys that come from the database's clock: `timestamptz` and `date`, at any precision.
//!
//! A row's key is the time at which its transaction began, or later. Where the column keeps less than microseconds, many
//! transactions share a key, and one that began before the last bound says nothing about the others: rows with the
//! checkpoint's own key may still come. How coarse a column is, its values show: whole seconds, whole days.

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, TimeDelta, Timelike, Utc, Weekday};

use super::checkpoint::key_time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockKey {
    Timestamp,
    Date,
}

/// The most that a declared precision cuts off: `timestamptz(0)` keeps whole seconds.
const COARSEST_PRECISION: TimeDelta = TimeDelta::seconds(1);

/// A day begins up to twelve hours later than in Greenwich.
const WESTERNMOST: TimeDelta = TimeDelta::hours(12);
/// And up to fourteen hours earlier.
const EASTERNMOST: TimeDelta = TimeDelta::hours(14);

pub fn type_of(key: &str) -> ClockKey {
    if date(key).is_some() { ClockKey::Date } else { ClockKey::Timestamp }
}

/// What may be cut off of some keys of a query while others have all their digits. The values of a table's own column are cut
/// alike and show it; a key that is made of several columns (`union all`, `greatest`, a view) may be cut here and not there.
pub fn hidden_cut(is_column_of_table: bool) -> TimeDelta {
    if is_column_of_table { TimeDelta::zero() } else { COARSEST_PRECISION }
}

/// The smallest key of the transactions that began at this time or later.
pub fn smallest_key(since: DateTime<Utc>, key_type: ClockKey) -> String {
    match key_type {
        ClockKey::Date => (since - WESTERNMOST).date_naive().to_string(),
        ClockKey::Timestamp => text(since),
    }
}

/// A key that is greater than all those of transactions that began before this time. With `timestamptz` it is greater than
/// no other key.
pub fn bound(before: DateTime<Utc>, key_type: ClockKey) -> String {
    match key_type {
        ClockKey::Date => ((before + EASTERNMOST).date_naive() + TimeDelta::days(1)).to_string(),
        ClockKey::Timestamp => text(before),
    }
}

/// The server's text form of a timestamp.
pub fn text(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S%.6f+00").to_string()
}

/// Whether a checkpoint has this time, or a later one, behind it.
pub fn is_past(checkpoint: &str, key_type: ClockKey, time: DateTime<Utc>) -> bool {
    match key_type {
        ClockKey::Date => date(checkpoint).is_some_and(|day| day >= (time - WESTERNMOST).date_naive()),
        ClockKey::Timestamp => key_time(checkpoint).is_some_and(|key| key >= time),
    }
}

/// The start of the first transaction whose rows may still come although the checkpoint is past them. `horizon` is the bound
/// of the run that moved the checkpoint there: before it everything was complete. `hidden` is what [`hidden_cut`] says.
pub fn unsettled_since(
    checkpoint: &str,
    key_type: ClockKey,
    horizon: Option<DateTime<Utc>>,
    hidden: TimeDelta,
) -> Option<DateTime<Utc>> {
    if key_type == ClockKey::Date {
        let first = date(checkpoint)?.and_time(NaiveTime::MIN).and_utc() + WESTERNMOST;
        return Some(horizon.unwrap_or(first)).filter(|since| is_past(checkpoint, ClockKey::Date, *since));
    }
    let key = key_time(checkpoint)?;
    let grain = grain(key).max(hidden);
    match horizon {
        None => (grain > TimeDelta::zero()).then(|| key - hidden),
        Some(horizon) if key >= horizon => Some(horizon - grain),
        // The greatest key below the horizon is not greater than that of the transactions that began at the horizon, unless
        // more is cut off of theirs.
        Some(horizon) => {
            (key + grain > horizon).then(|| if hidden.is_zero() { key } else { key.min(horizon - hidden) })
        }
    }
}

/// The same time, earlier by as much as a column may cut off that has this checkpoint: from here on a walk finds the keys of
/// the transactions that began at that time.
pub fn allowing_for_grain(
    since: DateTime<Utc>,
    checkpoint: &str,
    key_type: ClockKey,
    hidden: TimeDelta,
) -> DateTime<Utc> {
    match key_type {
        ClockKey::Date => since,
        ClockKey::Timestamp => key_time(checkpoint).map_or(since, |key| since - grain(key).max(hidden)),
    }
}

fn date(key: &str) -> Option<NaiveDate> {
    key.parse().ok()
}

/// How coarse a column may be that has this value; zero where it has microseconds. Rather too coarse than too fine: a whole
/// minute may be one of `date_bin`, and a quarter of an hour is a midnight somewhere.
fn grain(key: DateTime<Utc>) -> TimeDelta {
    let micros = key.nanosecond() / 1000;
    if micros == 0 {
        return match (key.second(), key.minute() % 15) {
            (0, 0) => calendar_grain(key),
            (0, _) => TimeDelta::hours(1),
            _ => TimeDelta::minutes(1),
        };
    }
    let zeros = (1..6_u32).take_while(|digits| micros.is_multiple_of(10_u32.pow(*digits))).last();
    TimeDelta::microseconds(zeros.map_or(0, |digits| 10_i64.pow(digits)))
}

/// How long the unit of `date_trunc` is that may begin at this midnight, wherever it is one. Some days have 25 hours.
fn calendar_grain(midnight: DateTime<Utc>) -> TimeDelta {
    let hours = TimeDelta::hours(1);
    let days = [midnight - WESTERNMOST, midnight + EASTERNMOST].map(|there| there.date_naive());
    let begins = |unit: fn(&NaiveDate) -> bool| days.iter().any(unit);
    let begins_year = |unit: fn(i32) -> bool| days.iter().any(|day| day.ordinal() == 1 && unit(day.year()));
    if begins_year(|year| year.rem_euclid(1000) == 1) {
        TimeDelta::days(365_243) + hours
    } else if begins_year(|year| year.rem_euclid(100) == 1) {
        TimeDelta::days(36_525) + hours
    } else if begins_year(|year| year.rem_euclid(10) == 0) {
        TimeDelta::days(3_653) + hours
    } else if begins_year(|_| true) {
        TimeDelta::days(366) + hours
    } else if begins(|day| day.day() == 1 && day.month0().is_multiple_of(3)) {
        TimeDelta::days(92) + hours
    } else if begins(|day| day.day() == 1) {
        TimeDelta::days(31) + hours
    } else if begins(|day| day.weekday() == Weekday::Mon) {
        TimeDelta::days(7) + hours
    } else {
        TimeDelta::days(1) + hours
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockKey::*, *};

    fn time(text: &str) -> DateTime<Utc> {
        key_time(&format!("2026-11-17 {text}+00")).expect(text)
    }

    fn unsettled(checkpoint: &str, horizon: &str) -> Option<DateTime<Utc>> {
        unsettled_since(&format!("2026-11-17 {checkpoint}+00"), Timestamp, Some(time(horizon)), TimeDelta::zero())
    }

    #[test]
    fn a_timestamp_survives_the_way_from_text_and_back() {
        for form in ["2026-01-02 03:04:05.123456+00", "2026-01-02 03:04:05+00"] {
            let time = key_time(form).expect(form);
            assert_eq!(key_time(&text(time)), Some(time));
        }
        assert_eq!(key_time("infinity"), None);
    }

    #[test]
    fn a_key_with_microseconds_is_complete_below_its_horizon() {
        assert_eq!(unsettled("12:00:00.123456", "12:00:00.123457"), None);
        assert_eq!(unsettled("12:00:00.123456", "12:00:00.123"), Some(time("12:00:00.123")));
    }

    #[test]
    fn a_coarse_key_is_complete_once_the_horizon_has_left_it() {
        for (key, inside, outside) in [
            ("12:00:00.12345", "12:00:00.123459", "12:00:00.12346"),
            ("12:00:00.123", "12:00:00.1235", "12:00:00.124"),
            ("12:00:00.1", "12:00:00.15", "12:00:00.2"),
            ("12:00:07", "12:00:07.5", "12:01:07"),
            ("12:07:00", "12:30:00", "13:07:00"),
        ] {
            assert_eq!(unsettled(key, inside), Some(time(key)), "{key}");
            assert_eq!(unsettled(key, outside), None, "{key}");
        }
        assert_eq!(unsettled("12:00:01", "12:00:00.5"), Some(time("11:59:00.5")), "a key before its horizon");
        assert_eq!(unsettled("00:00:00", "23:59:59"), Some(time("00:00:00")), "a midnight");
    }

    #[test]
    fn a_midnight_is_complete_once_the_longest_unit_has_ended_that_may_begin_there() {
        for (midnight, inside, outside) in [
            ("2026-03-04", "2026-03-04 20:00:00", "2026-03-05 02:00:00"),
            ("2026-03-09", "2026-03-15 20:00:00", "2026-03-16 02:00:00"),
            ("2026-03-01", "2026-03-31 20:00:00", "2026-04-01 02:00:00"),
            ("2026-10-01", "2026-12-31 20:00:00", "2027-01-01 02:00:00"),
            ("2026-01-01", "2026-12-31 20:00:00", "2027-01-02 02:00:00"),
            ("2020-01-01", "2029-12-31 20:00:00", "2030-01-01 02:00:00"),
            ("2101-01-01", "2200-12-31 20:00:00", "2201-01-02 02:00:00"),
            ("2001-01-01", "3000-12-31 20:00:00", "3001-01-02 02:00:00"),
        ] {
            let at = |text: &str| key_time(&format!("{text}+00")).expect(text);
            let unsettled = |horizon| {
                let midnight = format!("{midnight} 00:00:00+00");
                unsettled_since(&midnight, Timestamp, Some(at(horizon)), TimeDelta::zero())
            };
            assert_eq!(unsettled(inside), Some(at(&format!("{midnight} 00:00:00"))), "{midnight}");
            assert_eq!(unsettled(outside), None, "{midnight}");
        }
    }

    #[test]
    fn a_key_of_several_columns_is_complete_a_second_later_whatever_its_values_show() {
        let hidden = hidden_cut(false);
        let unsettled = |key: &str, horizon: &str| {
            unsettled_since(&format!("2026-11-17 {key}+00"), Timestamp, Some(time(horizon)), hidden)
        };
        assert_eq!(unsettled("12:00:00.123456", "12:00:00.2"), Some(time("11:59:59.2")), "12:00:00 may still come");
        assert_eq!(unsettled("12:00:00.123456", "12:00:01.1"), Some(time("12:00:00.1")));
        assert_eq!(unsettled("12:00:00.123456", "12:00:01.2"), None);
        let since = allowing_for_grain(time("12:00:03.7"), "2026-11-17 12:30:00.123456+00", Timestamp, hidden);
        assert_eq!(since, time("12:00:02.7"));
    }

    #[test]
    fn a_transaction_may_have_a_key_before_its_start() {
        let since = |key: &str| {
            allowing_for_grain(time("12:00:03.7"), &format!("2026-11-17 {key}+00"), Timestamp, TimeDelta::zero())
        };
        assert_eq!(since("12:30:00.123456"), time("12:00:03.7"));
        assert_eq!(since("12:30:00.5"), time("12:00:03.6"));
        assert_eq!(since("12:30:07"), time("11:59:03.7"));
    }

    #[test]
    fn a_day_ends_when_it_has_ended_everywhere() {
        let horizon = time("10:00:00");
        assert_eq!(smallest_key(horizon, Date), "2026-11-16");
        assert_eq!(bound(horizon, Date), "2026-11-19");
        assert_eq!(unsettled_since("2026-11-16", Date, Some(horizon), TimeDelta::zero()), Some(horizon));
        assert_eq!(unsettled_since("2026-11-15", Date, Some(horizon), TimeDelta::zero()), None);
        let unknown = unsettled_since("2026-11-17", Date, None, TimeDelta::zero()).expect("nothing is known");
        assert_eq!(smallest_key(unknown, Date), "2026-11-17");
    }
}
