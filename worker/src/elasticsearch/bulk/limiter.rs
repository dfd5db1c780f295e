//! How many requests are under way: as many as allowed, fewer while the server is short of breath.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::mutex::unpoisoned;

/// Bounds the requests to one index. Halves the bound when the server asks for less, and comes back one by one.
#[derive(Debug)]
pub struct Limiter {
    most: f64,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    bound: f64,
    under_way: f64,
}

#[derive(Debug)]
pub struct Permit(Arc<Limiter>);

impl Limiter {
    pub fn new(most: usize) -> Self {
        let most = u32::try_from(most.max(1)).map_or(f64::from(u32::MAX), f64::from);
        Self { most, state: Mutex::new(State { bound: most, under_way: 0.0 }), freed: Notify::new() }
    }

    pub async fn acquire(self: &Arc<Self>) -> Permit {
        loop {
            let freed = self.freed.notified();
            {
                let mut state = unpoisoned(&self.state);
                if state.under_way < state.bound.floor() {
                    state.under_way += 1.0;
                    return Permit(self.clone());
                }
            }
            freed.await;
        }
    }

    /// The server took a request well.
    pub fn eased(&self) {
        let mut state = unpoisoned(&self.state);
        state.bound = (state.bound + 1.0 / state.bound).min(self.most);
        drop(state);
        self.freed.notify_one();
    }

    /// The server asked for less.
    pub fn pressed(&self) {
        let mut state = unpoisoned(&self.state);
        state.bound = (state.bound / 2.0).max(1.0);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        unpoisoned(&self.0.state).under_way -= 1.0;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn free(limiter: &Arc<Limiter>) -> usize {
        let mut held = Vec::new();
        while let Some(permit) = limiter.acquire().now_or_never() {
            held.push(permit);
        }
        held.len()
    }

    #[test]
    fn the_bound_halves_under_pressure_and_comes_back() {
        let limiter = Arc::new(Limiter::new(8));
        assert_eq!(free(&limiter), 8);
        limiter.pressed();
        assert_eq!(free(&limiter), 4);
        (0..10).for_each(|_| limiter.pressed());
        assert_eq!(free(&limiter), 1);
        (0..100).for_each(|_| limiter.eased());
        assert_eq!(free(&limiter), 8);
    }

    #[tokio::test]
    async fn a_permit_that_is_given_back_lets_the_next_one_go() {
        let limiter = Arc::new(Limiter::new(1));
        let held = limiter.acquire().await;
        let mut waiting = Box::pin(limiter.acquire());
        assert!((&mut waiting).now_or_never().is_none());
        drop(held);
        let _next = waiting.await;
    }
}
