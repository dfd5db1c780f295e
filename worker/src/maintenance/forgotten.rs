//! Jobs that the queue has assigned to this worker and that it does not work on: it never received them.
//!
//! They are returned to the queue after a while, measured by a monotonic clock.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// Since when jobs have been forgotten.
#[derive(Debug, Default)]
pub struct Forgotten(HashMap<String, Instant>);

impl Forgotten {
    /// Notes what is forgotten now; anything else is forgotten no more.
    pub fn note(&mut self, jobs: &[String]) {
        self.0.retain(|job, _| jobs.contains(job));
        for job in jobs {
            self.0.entry(job.clone()).or_insert_with(Instant::now);
        }
    }

    /// What has been forgotten for at least as long.
    pub fn long_since(&self, limit: Duration) -> Vec<String> {
        self.0.iter().filter(|(_, since)| since.elapsed() >= limit).map(|(job, _)| job.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_forgotten_for_as_long_as_it_is_seen_so() {
        let (mut forgotten, job) = (Forgotten::default(), "a".to_owned());
        forgotten.note(std::slice::from_ref(&job));
        assert_eq!(forgotten.long_since(Duration::ZERO), [job]);
        assert!(forgotten.long_since(Duration::from_secs(60)).is_empty());
        forgotten.note(&[]);
        assert!(forgotten.long_since(Duration::ZERO).is_empty());
    }
}
