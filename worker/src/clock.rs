//! Whether the database's clock went back: rows that are written then have keys behind the checkpoint.
//!
//! | what happened | how it is seen | read again from |
//! |---|---|---|
//! | it went back while this worker lived, even if it has caught up since | the worker's own clock, which cannot go back | the time to which it went back, by all pipelines |
//! | it is behind the last bound | by the bound | a day before it |
//! | a standby took over | by the timeline | an hour before the last bound |
//! | a server that was started before the last bound is another one, or has a clock that went back | by the time at which it was started | that time |

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::{Connection, PgConnection};
use vitrina_shared::{
    domain::checkpoint::key_time,
    metrics::CLOCK_STEPS,
    store::{
        self,
        horizon::{self, Horizon},
    },
};

use crate::mutex::unpoisoned;

/// No clock is set back further than this without an operator who sees it.
const LONGEST_STEP: TimeDelta = TimeDelta::days(1);
/// The clocks of two servers that take over from each other differ by less.
const SERVERS_DIFFER: TimeDelta = TimeDelta::hours(1);
/// Two answers that differ by less say nothing, and neither does a thousandth of the time between them.
const UNSURE: TimeDelta = TimeDelta::milliseconds(5);

/// What the database's clock said last, by a clock that cannot go back.
#[derive(Debug, Default)]
pub struct DatabaseClock(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    last: Option<ClockAnswer>,
    /// A step that is not noted for the pipelines yet.
    unnoted: Option<DateTime<Utc>>,
}

/// What the clock said between two moments.
#[derive(Debug, Clone, Copy)]
struct ClockAnswer {
    asked: Instant,
    answered: Instant,
    said: DateTime<Utc>,
}

impl DatabaseClock {
    /// Notes what the clock said just now. If it went back, notes that for all pipelines that walk by it; whether it did.
    pub async fn note(&self, connection: &mut PgConnection, asked: Instant, said: DateTime<Utc>) -> sqlx::Result<bool> {
        let Some(from) = self.find_step(asked, said) else { return Ok(false) };
        // The step is noted once: a worker that has noted it does not look back further.
        let mut tx = connection.begin().await?;
        store::commit_durably(&mut tx).await?;
        let pipelines = horizon::owe_all(&mut tx, from).await?;
        tx.commit().await?;
        let mut known = unpoisoned(&self.0);
        known.unnoted = known.unnoted.filter(|unnoted| *unnoted < from);
        report_step(from, pipelines);
        Ok(true)
    }

    /// The time to which the clock went back, if that is not noted for the pipelines yet.
    fn find_step(&self, asked: Instant, said: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let now = ClockAnswer { asked, answered: Instant::now(), said };
        let mut known = unpoisoned(&self.0);
        let step = known.last.and_then(|last| set_back_to(last, now));
        known.unnoted = known.unnoted.into_iter().chain(step).min();
        if known.last.is_none_or(|last| last.answered < now.answered) {
            known.last = Some(now);
        }
        known.unnoted
    }
}

/// The earliest time that the clock can have said between two answers, if it went back between them.
fn set_back_to(before: ClockAnswer, after: ClockAnswer) -> Option<DateTime<Utc>> {
    let shown = after.said - before.said;
    let unsure = UNSURE + elapsed(before.asked, after.answered).abs() / 1000;
    let at_least = elapsed(before.answered, after.asked);
    let at_most = elapsed(before.asked, after.answered);
    (shown + unsure < at_least).then(|| before.said - (at_most - shown) - unsure)
}

fn elapsed(from: Instant, to: Instant) -> TimeDelta {
    let positive = |duration: Duration| TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX);
    match to.checked_duration_since(from) {
        Some(duration) => positive(duration),
        None => -positive(from.duration_since(to)),
    }
}

/// From when on a pipeline reads again because the clock is behind the one that its last bound was taken from.
pub fn went_back(horizon: &Horizon) -> Option<DateTime<Utc>> {
    let last = horizon.last?;
    if horizon.clock < last {
        return Some(horizon.clock - LONGEST_STEP);
    }
    let then = horizon.last_server.as_deref().and_then(server)?;
    let now = server(&horizon.server)?;
    if then.0 != now.0 {
        return Some(last - SERVERS_DIFFER);
    }
    key_time(now.1).filter(|started| then.1 != now.1 && *started < last)
}

/// Timeline and start of a server, as `etl.this_server` says them.
fn server(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ')
}

pub fn report_step(from: DateTime<Utc>, pipelines: u64) {
    metrics::counter!(CLOCK_STEPS).increment(1);
    tracing::warn!(%from, pipelines, "the database's clock went back, or another server took over: rows are read again");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn horizon(clock: i64, server: &str) -> Horizon {
        let at = |minutes| DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
        Horizon {
            clock: at(clock),
            upper: at(clock),
            checkpoint: None,
            last: Some(at(100)),
            last_server: Some("00000001 1970-01-01 00:10:00.000000+00".to_owned()),
            server: server.to_owned(),
            passed: Vec::new(),
            unseen: Vec::new(),
            due: Vec::new(),
            due_from: None,
        }
    }

    #[test]
    fn a_server_that_took_over_or_began_anew_with_a_slower_clock_is_noticed() {
        let from = |clock, server: &str| went_back(&horizon(clock, server)).map(|from| from.timestamp() / 60);
        assert_eq!(from(200, "00000001 1970-01-01 00:10:00.000000+00"), None, "nothing happened");
        assert_eq!(from(200, "00000001 1970-01-01 01:50:00.000000+00"), None, "it was started later");
        assert_eq!(from(200, "00000001 1970-01-01 01:30:00.000000+00"), Some(90), "started by a slower clock");
        assert_eq!(from(200, "00000002 1970-01-01 00:05:00.000000+00"), Some(40), "a standby took over");
        assert_eq!(from(200, "00000001 1970-01-01 00:05:00.000000+00"), Some(5), "another server");
        assert_eq!(from(99, "00000001 1970-01-01 00:10:00.000000+00"), Some(99 - 1440), "it is behind");
    }

    #[test]
    fn a_clock_that_went_back_and_caught_up_is_noticed() {
        let begun = Instant::now();
        let answer = |asked: u64, answered: u64, said: i64| ClockAnswer {
            asked: begun + Duration::from_millis(asked),
            answered: begun + Duration::from_millis(answered),
            said: DateTime::UNIX_EPOCH + TimeDelta::milliseconds(said),
        };
        let before = answer(0, 10, 100_000);
        assert_eq!(set_back_to(before, answer(60_000, 60_010, 160_005)), None, "it went on");
        assert_eq!(set_back_to(before, answer(60_000, 60_010, 200_000)), None, "it was set forward");
        assert_eq!(set_back_to(before, answer(60_000, 60_010, 159_970)), None, "it is slow");
        let to = set_back_to(before, answer(60_000, 60_010, 150_000)).expect("ten seconds less");
        assert!((89_000..90_000).contains(&to.timestamp_millis()), "{to}");
        let beat = answer(2_000, 2_010, 101_800);
        assert!(set_back_to(before, beat).is_some(), "a fifth of a second less, between two heartbeats");
        // Two that overlap: the one that was asked first was answered last.
        assert_eq!(set_back_to(answer(0, 900, 100_800), answer(100, 110, 100_105)), None);
    }
}
