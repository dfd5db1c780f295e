//! The runs and reports that this worker is at work on, and how it lets go of one whose statement does not come back.
//!
//! A statement is cancelled first, and nearly always ends then. PostgreSQL does not look for interrupts everywhere, so
//! one that has not ended [`PATIENCE`] later is given up: its session on the server is terminated, the job gets its slot back,
//! and the sessions of the work close their connections instead of returning them to their pools (`session`).
//!
//! Work says when it waits for the server ([`Waits`]). If it does for long, and the server is not at work on it, the
//! connection fell silent (`maintenance::silence`): the work is given up too, and tried again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::mutex::unpoisoned;

/// How long a statement may take to end after it was cancelled.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The work in a worker's hands, by the id of the run or report.
#[derive(Debug, Default)]
pub struct InHand(Mutex<HashMap<Uuid, Work>>);

#[derive(Debug, Default)]
struct Work {
    jobs: usize,
    unwanted_since: Option<Instant>,
    given_up: CancellationToken,
    waits: Waits,
    /// The counter of its waits when the last check suspected that its connection is silent.
    suspected_at: Option<u64>,
    /// Whether it was given up because its connection fell silent.
    silent: bool,
}

impl InHand {
    /// Notes that a job works on a run or report until what is returned is dropped.
    pub fn take_up(&self, id: Uuid) -> WorkGuard<'_> {
        let mut works = unpoisoned(&self.0);
        let work = works.entry(id).or_default();
        work.jobs += 1;
        WorkGuard { in_hand: self, id, given_up: work.given_up.clone() }
    }

    /// The handle of registered work. For other work it is one that is never cancelled and never checked.
    pub fn handle(&self, id: Uuid) -> WorkHandle {
        let works = unpoisoned(&self.0);
        let (given_up, waits) =
            works.get(&id).map(|work| (work.given_up.clone(), work.waits.clone())).unwrap_or_default();
        WorkHandle { id, given_up, waits }
    }

    pub fn waits(&self, id: Uuid) -> Waits {
        self.handle(id).waits
    }

    pub fn ids(&self) -> Vec<Uuid> {
        unpoisoned(&self.0).keys().copied().collect()
    }

    /// Notes which of it is not wanted any more. Returns what has been unwanted for long enough to be given up.
    pub fn note_unwanted(&self, ids: &[Uuid]) -> Vec<Uuid> {
        let mut overdue = Vec::new();
        for (id, work) in unpoisoned(&self.0).iter_mut() {
            if !ids.contains(id) {
                // A pause was withdrawn.
                work.unwanted_since = None;
                continue;
            }
            let since = work.unwanted_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= PATIENCE && !work.given_up.is_cancelled() {
                overdue.push(*id);
            }
        }
        overdue
    }

    pub fn give_up(&self, id: Uuid) {
        if let Some(work) = unpoisoned(&self.0).get(&id) {
            work.given_up.cancel();
        }
    }

    /// What has been waiting for the server for longer than `quiet` without hearing anything.
    pub fn waiting(&self, quiet: Duration) -> Vec<Uuid> {
        let works = unpoisoned(&self.0);
        let waiting = works.iter().filter(|(_, work)| work.waits.since(quiet).is_some());
        waiting.filter(|(_, work)| !work.given_up.is_cancelled()).map(|(id, _)| *id).collect()
    }

    /// Marks work that waits for the server while the server does nothing for it. Returns the work that was marked by the check
    /// before, too, and has received nothing since.
    pub fn note_silent(&self, ids: &[Uuid], quiet: Duration) -> Vec<Uuid> {
        let mut silent = Vec::new();
        for (id, work) in unpoisoned(&self.0).iter_mut() {
            let now_at = work.waits.since(quiet).filter(|_| ids.contains(id));
            if now_at.is_some() && now_at == work.suspected_at {
                silent.push(*id);
            }
            work.suspected_at = now_at;
        }
        silent
    }

    /// Gives work up whose connection fell silent, if it is still that work and has heard nothing since. Whether it did.
    pub fn give_up_silent(&self, id: Uuid) -> bool {
        let mut works = unpoisoned(&self.0);
        let is_same =
            |work: &&mut Work| work.suspected_at.is_some_and(|at| work.waits.since(Duration::ZERO) == Some(at));
        let Some(work) = works.get_mut(&id).filter(is_same).filter(|work| !work.given_up.is_cancelled()) else {
            return false;
        };
        work.silent = true;
        work.given_up.cancel();
        true
    }

    pub fn give_all_up(&self) {
        unpoisoned(&self.0).values().for_each(|work| work.given_up.cancel());
    }
}

/// What the work on a run or report is done with.
#[derive(Debug, Clone)]
pub struct WorkHandle {
    pub id: Uuid,
    pub given_up: CancellationToken,
    pub waits: Waits,
}

/// A job's hold on a run or report.
#[derive(Debug)]
pub struct WorkGuard<'a> {
    in_hand: &'a InHand,
    id: Uuid,
    given_up: CancellationToken,
}

impl WorkGuard<'_> {
    /// Waits until the work is given up. Whether that is because its connection fell silent.
    pub async fn given_up(&self) -> bool {
        self.given_up.cancelled().await;
        unpoisoned(&self.in_hand.0).get(&self.id).is_some_and(|work| work.silent)
    }
}

impl Drop for WorkGuard<'_> {
    fn drop(&mut self) {
        let mut works = unpoisoned(&self.in_hand.0);
        if let Some(work) = works.get_mut(&self.id) {
            work.jobs -= 1;
            if work.jobs == 0 {
                works.remove(&self.id);
            }
        }
    }
}

/// Where the work on a run or report says that it waits for the server.
#[derive(Debug, Clone, Default)]
pub struct Waits(Arc<Mutex<WaitState>>);

#[derive(Debug, Default)]
struct WaitState {
    /// Statements that are waited for.
    waiting: usize,
    /// Grows whenever something begins, ends or is heard.
    moves: u64,
    last_move: Option<Instant>,
}

impl Waits {
    /// Notes that the server is waited for until what is returned is dropped.
    pub fn begin(&self) -> Waiting {
        self.note(1);
        Waiting { waits: self.clone(), undo: -1 }
    }

    /// Where it stands, if it has been waiting for longer than `quiet` without hearing anything.
    fn since(&self, quiet: Duration) -> Option<u64> {
        let state = unpoisoned(&self.0);
        let waits = state.waiting > 0 && state.last_move.is_some_and(|at| at.elapsed() >= quiet);
        waits.then_some(state.moves)
    }

    fn note(&self, change: isize) {
        let mut state = unpoisoned(&self.0);
        state.waiting = state.waiting.saturating_add_signed(change);
        state.moves += 1;
        state.last_move = Some(Instant::now());
    }
}

/// A wait for the server, or a pause of one, until it is dropped.
#[derive(Debug)]
pub struct Waiting {
    waits: Waits,
    undo: isize,
}

impl Waiting {
    pub fn heard(&self) {
        self.waits.note(0);
    }

    /// Notes that the worker is at work itself, and the server not waited for, until what is returned is dropped.
    pub fn rest(&self) -> Self {
        self.waits.note(-1);
        Self { waits: self.waits.clone(), undo: 1 }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.waits.note(self.undo);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_in_hand_until_its_last_job_lets_go() {
        let (in_hand, id) = (InHand::default(), Uuid::now_v7());
        let one = in_hand.take_up(id);
        let two = in_hand.take_up(id);
        drop(one);
        assert_eq!(in_hand.ids(), [id]);
        drop(two);
        assert!(in_hand.ids().is_empty());
    }

    #[test]
    fn what_is_unwanted_is_not_given_up_at_once_and_what_comes_after_it_is_not_at_all() {
        let (in_hand, id) = (InHand::default(), Uuid::now_v7());
        let held = in_hand.take_up(id);
        assert!(in_hand.note_unwanted(&[id]).is_empty());
        assert!(!in_hand.handle(id).given_up.is_cancelled());
        in_hand.give_all_up();
        assert!(in_hand.handle(id).given_up.is_cancelled());
        drop(held);
        let _again = in_hand.take_up(id);
        assert!(!in_hand.handle(id).given_up.is_cancelled());
    }

    #[tokio::test]
    async fn silent_work_is_found_at_the_second_look_unless_it_heard_something() {
        let (in_hand, id) = (InHand::default(), Uuid::now_v7());
        let held = in_hand.take_up(id);
        assert!(in_hand.waiting(Duration::ZERO).is_empty(), "it waits for nothing");
        let waiting = in_hand.waits(id).begin();
        assert_eq!(in_hand.waiting(Duration::ZERO), [id]);
        let resting = waiting.rest();
        assert!(in_hand.waiting(Duration::ZERO).is_empty(), "it is at work itself");
        drop(resting);
        assert_eq!(in_hand.waiting(Duration::ZERO), [id]);
        assert!(in_hand.note_silent(&[id], Duration::ZERO).is_empty(), "the first look");
        waiting.heard();
        assert!(in_hand.note_silent(&[id], Duration::ZERO).is_empty(), "it heard something");
        assert!(in_hand.note_silent(&[], Duration::ZERO).is_empty(), "the server is at work on it");
        assert!(in_hand.note_silent(&[id], Duration::ZERO).is_empty());
        assert_eq!(in_hand.note_silent(&[id], Duration::ZERO), [id]);
        waiting.heard();
        assert!(!in_hand.give_up_silent(id), "it heard something in the last moment");
        in_hand.note_silent(&[id], Duration::ZERO);
        assert_eq!(in_hand.note_silent(&[id], Duration::ZERO), [id]);
        assert!(in_hand.give_up_silent(id));
        assert!(held.given_up().await, "because of the silence");
        drop((waiting, held));
        let _successor = in_hand.take_up(id);
        assert!(!in_hand.give_up_silent(id), "it was about work that has ended");
    }
}
