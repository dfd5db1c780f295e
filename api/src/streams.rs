//! Limits on event streams: a total, and a share of it for each token, so that one token cannot use all of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{ApiError, ApiResult};

/// A token may have this part of all streams.
const SHARE: usize = 4;

#[derive(Debug)]
pub struct Streams {
    all: Arc<Semaphore>,
    share: usize,
    /// Per token name, so the map is bounded by the deployment's tokens.
    own: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
}

/// A permit for one stream, returned on drop.
#[derive(Debug)]
pub struct Room {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Streams {
    /// Allows `most` streams. Without tokens there is no share per token.
    pub fn new(most: usize, shared: bool) -> Self {
        let share = if shared { most.div_ceil(SHARE) } else { most };
        Self { all: Arc::new(Semaphore::new(most)), share, own: Mutex::default() }
    }

    pub fn take(&self, name: &Arc<str>) -> ApiResult<Room> {
        let own = {
            let mut all = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(name.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.share))).clone()
        };
        let all = || self.all.clone().try_acquire_owned().map_err(|_| ApiError::TooMany("all event streams are taken"));
        match own.try_acquire_owned() {
            Ok(own) => Ok(Room { _own: own, _all: all()? }),
            // Without tokens the share is the total.
            Err(_) if self.all.available_permits() == 0 => Err(ApiError::TooMany("all event streams are taken")),
            Err(_) => Err(ApiError::TooMany("this token has all event streams that one may have")),
        }
    }
}
