//! Follows runs to their end: by events, which are quick, and by a slow poll, which is reliable.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::{
    bars::Bars,
    client::{Client, ClientError, Event, Events, Run},
};

/// The interval of the poll: the longest delay if every event is lost.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A worker takes a run within milliseconds. After this time we check whether a worker is alive.
const WONDER_AFTER: Duration = Duration::from_secs(3);

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
        let mut net = interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
        net.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut wonder = std::pin::pin!(sleep(WONDER_AFTER));
        let mut wondered = false;
        self.look_at_all().await?;
        while self.ended.iter().any(Option::is_none) {
            tokio::select! {
                event = events.next() => self.take(event?).await?,
                _ = net.tick() => self.look_at_all().await?,
                () = &mut wonder, if !wondered => {
                    wondered = true;
                    self.look_for_workers().await?;
                }
            }
        }
        Ok(self.ended.into_iter().flatten().collect())
    }

    async fn take(&mut self, event: Option<Event>) -> Result<(), ClientError> {
        match event {
            Some(Event::Progress(progress, _)) => {
                if let Some(place) = self.place(&progress.run_id) {
                    self.bars.progress(place, &progress);
                }
            }
            Some(Event::Transition(transition, _)) => {
                if let Some(place) = transition.run_id.and_then(|run| self.place(&run)) {
                    self.look(place).await?;
                }
            }
            Some(Event::Lost(_)) => self.bars.lost(),
            Some(Event::Back) | None => self.look_at_all().await?,
        }
        Ok(())
    }

    fn place(&self, run: &str) -> Option<usize> {
        self.ids.iter().position(|id| id == run).filter(|place| self.ended[*place].is_none())
    }

    async fn look_at_all(&mut self) -> Result<(), ClientError> {
        for place in 0..self.ids.len() {
            if self.ended[place].is_none() {
                self.look(place).await?;
            }
        }
        Ok(())
    }

    /// Warns if a run waits and no worker is alive.
    async fn look_for_workers(&mut self) -> Result<(), ClientError> {
        // An unreachable API is reported elsewhere.
        let Ok(alive) = self.client.workers().await else { return Ok(()) };
        let nobody = alive["items"].as_array().is_some_and(Vec::is_empty);
        for place in (0..self.ids.len()).filter(|_| nobody) {
            if self.ended[place].is_none() && self.client.run::<Run>(&self.ids[place]).await?.status == "QUEUED" {
                self.bars.alone(place);
            }
        }
        Ok(())
    }

    async fn look(&mut self, place: usize) -> Result<(), ClientError> {
        match self.client.run::<Run>(&self.ids[place]).await {
            Ok(run) if run.is_over() => {
                self.bars.end(place, &run);
                self.ended[place] = Some(run);
            }
            Ok(run) => self.bars.stand(place, &run),
            // The stream of events notices this too, and decides when to give up.
            Err(error) if error.is_passing() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
