//! The operator's code as this worker has imported it, which takes as long as the modules need.
//!
//! A worker begins to import when it first lives, and takes jobs meanwhile. What was imported outlasts a life, while the directory has
//! the same code.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use vitrina_shared::config::PythonConfig;

use super::{loaded::Loaded, pool::Pool};

#[derive(Debug)]
pub struct Interpreter {
    config: PythonConfig,
    processes: usize,
    pool: Mutex<Option<Arc<Pool>>>,
    stop: CancellationToken,
}

impl Interpreter {
    /// One with so many processes side by side, until the worker stops.
    pub fn new(config: PythonConfig, processes: usize, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self { config, processes, pool: Mutex::default(), stop })
    }

    /// Whether there is a directory to import.
    pub fn is_wanted(&self) -> bool {
        self.config.path.is_some()
    }

    /// The processes with the code as it is in the directory now; none where there is none, or it cannot be started.
    ///
    /// In a task of its own: a life that ends meanwhile takes nothing away from the next one.
    pub(super) async fn pool(self: &Arc<Self>) -> Option<Arc<Pool>> {
        let (own, stop) = (self.clone(), self.stop.clone());
        let started = tokio::spawn(async move {
            tokio::select! {
                pool = own.keep_or_start() => pool,
                () = stop.cancelled() => None,
            }
        });
        started.await.ok().flatten()
    }

    async fn keep_or_start(&self) -> Option<Arc<Pool>> {
        let path = self.config.path.as_ref()?;
        let mut kept = self.pool.lock().await;
        if let Some(pool) = kept.as_ref()
            && pool.is_current().await
        {
            return Some(pool.clone());
        }
        *kept = match Loaded::start_first(&self.config, path).await {
            Ok(first) => Some(Arc::new(Pool::new(self.config.clone(), path.clone(), self.processes, first))),
            Err(error) => {
                tracing::error!(path = %path.display(), error = %error, "this worker has no steps in Python");
                None
            }
        };
        kept.clone()
    }
}
