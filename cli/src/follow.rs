//! Follows runs to their end: by events, which are quick, and by a slow poll, which is reliable.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::{
    bars::Bars,
    client::{Client, ClientError, Event, Events, Run},
};

/// The interval of the poll: the longest delay if every event is lost.
const POLL_EVERY: Duration = Duration::from_secs(10);
/// A worker takes a run within milliseconds. After this time we check whether a worker is alive.
const CHECK_WORKER_AFTER: Duration = Duration::from_secs(3);

/// Unfinished runs; each has the bar with the same index.
pub struct Follow<'a> {
    client: &'a Client,
    bars: &'a mut Bars,
    ids: Vec<String>,
    ended: Vec<Option<Run>>,
}

impl<'a> Follow<'a> {
    pub fn new(client: &'a Client, bars: &'a mut Bars, ids: Vec<String>) -> Self {
        let ended = vec![None; ids.len()];
        Self { client, bars, ids, ended }
    }

    /// Returns the runs as they ended. `events` were opened before the runs were requested, so that none is missed.
    pub async fn until_all_end(mut self, mut events: Events) -> Result<Vec<Run>, ClientError> {
        let mut poll = interval_at(Instant::now() + POLL_EVERY, POLL_EVERY);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut check_worker = std::pin::pin!(sleep(CHECK_WORKER_AFTER));
        let mut checked = false;
        self.read_unfinished().await?;
        while self.ended.iter().any(Option::is_none) {
            tokio::select! {
                event = events.next() => self.handle(event?).await?,
                _ = poll.tick() => self.read_unfinished().await?,
                () = &mut check_worker, if !checked => {
                    checked = true;
                    self.warn_without_worker().await?;
                }
            }
        }
        Ok(self.ended.into_iter().flatten().collect())
    }

    async fn handle(&mut self, event: Option<Event>) -> Result<(), ClientError> {
        match event {
            Some(Event::Progress(progress, _)) => {
                if let Some(index) = self.index(&progress.run_id.to_string()) {
                    self.bars.show_progress(index, &progress);
                }
            }
            Some(Event::Transition(transition, _)) => {
                if let Some(index) = transition.run_id.and_then(|run| self.index(&run)) {
                    self.read(index).await?;
                }
            }
            Some(Event::Lost(_)) => self.bars.show_lost(),
            Some(Event::Back) | None => self.read_unfinished().await?,
        }
        Ok(())
    }

    fn index(&self, run: &str) -> Option<usize> {
        self.ids.iter().position(|id| id == run).filter(|index| self.ended[*index].is_none())
    }

    async fn read_unfinished(&mut self) -> Result<(), ClientError> {
        for index in 0..self.ids.len() {
            if self.ended[index].is_none() {
                self.read(index).await?;
            }
        }
        Ok(())
    }

    async fn warn_without_worker(&mut self) -> Result<(), ClientError> {
        // An unreachable API is reported elsewhere.
        let Ok(alive) = self.client.workers().await else { return Ok(()) };
        let is_unattended = alive["items"].as_array().is_some_and(Vec::is_empty);
        for index in (0..self.ids.len()).filter(|_| is_unattended) {
            if self.ended[index].is_none() && self.client.run::<Run>(&self.ids[index]).await?.status == "QUEUED" {
                self.bars.show_no_worker(index);
            }
        }
        Ok(())
    }

    async fn read(&mut self, index: usize) -> Result<(), ClientError> {
        match self.client.run::<Run>(&self.ids[index]).await {
            Ok(run) if run.is_over() => {
                self.bars.show_end(index, &run);
                self.ended[index] = Some(run);
            }
            Ok(run) => self.bars.show_status(index, &run),
            // The stream of events notices this too, and decides when to give up.
            Err(error) if error.is_passing() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
