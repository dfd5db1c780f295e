//! Limits on concurrent requests, and on the time of each.

use std::{sync::Arc, time::Duration};

use salvo::{Depot, FlowCtrl, Handler, Request, Response, Writer, async_trait};
use tokio::sync::Semaphore;

use crate::problem::ApiError;

/// Refuses requests beyond a number at once: queueing them would only end in time-outs.
pub struct InFlight(Arc<Semaphore>);

impl InFlight {
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }
}

#[async_trait]
impl Handler for InFlight {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        let Ok(_room) = self.0.try_acquire() else {
            ApiError::TooMany("the API has as many requests as it takes at once").write(req, depot, res).await;
            ctrl.skip_rest();
            return;
        };
        ctrl.call_next(req, depot, res).await;
    }
}

/// Ends requests that take too long. Their transactions are rolled back.
pub struct Timeout(pub Duration);

#[async_trait]
impl Handler for Timeout {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        if tokio::time::timeout(self.0, ctrl.call_next(req, depot, res)).await.is_err() {
            ApiError::TimedOut(self.0.as_secs()).write(req, depot, res).await;
            ctrl.skip_rest();
        }
    }
}
