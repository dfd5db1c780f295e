//! When work waits for the server.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::mutex::unpoisoned;

/// Where the work on a run or report says that it waits for the server.
#[derive(Debug, Clone, Default)]
pub struct Waits(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
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
    pub(super) fn since(&self, quiet: Duration) -> Option<u64> {
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
    /// Notes that the server was heard.
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
