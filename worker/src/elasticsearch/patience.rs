//! How long to go on with a server that gets nothing done.

use std::time::{Duration, Instant};

use rand::RngExt;

/// The first pause; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long to go on without progress, and the pauses meanwhile.
#[derive(Debug)]
pub struct Patience {
    limit: Duration,
    since: Option<Instant>,
    next: Duration,
}

impl Patience {
    pub fn new(limit: Duration) -> Self {
        Self { limit, since: None, next: FIRST_PAUSE }
    }

    /// Something got done: it begins anew.
    pub fn renew(&mut self) {
        *self = Self::new(self.limit);
    }

    /// The next pause: what the server asks for, or ours. None when it would go beyond the limit.
    pub fn pause(&mut self, retry_after: Option<Duration>) -> Option<Duration> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let own = self.next.mul_f64(rand::rng().random_range(0.5..=1.0));
        self.next = (self.next * 2).min(LONGEST_PAUSE);
        let pause = retry_after.map_or(own, |asked| asked.max(own));
        (since.elapsed() + pause <= self.limit).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_jitter_and_end_with_the_limit() {
        let mut patience = Patience::new(Duration::from_secs(3600));
        for expected in [100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            let pause = patience.pause(None).expect("within the limit").as_millis();
            assert!((expected / 2..=expected).contains(&pause), "{pause}");
        }
        assert_eq!(patience.pause(Some(Duration::from_secs(3601))), None);
        assert_eq!(patience.pause(Some(Duration::from_secs(30))), Some(Duration::from_secs(30)));
        assert_eq!(Patience::new(Duration::ZERO).pause(None), None);
    }
}
