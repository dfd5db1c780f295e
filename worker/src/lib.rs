//! The data plane: executes batches, and knows nothing of the API.
//!
//! Reading order: [`Worker`] starts everything; `queue` takes jobs from PostgreSQL the moment they are committed;
//! `jobs` is what jobs do, and decides about retries; `run` is a batch from job to commit, with `plan` (what to read and write),
//! `source` and `sink` (the doors to where rows come from and go to), `sink::postgres::pushdown` (a page as one statement), `run::stream` and `step`
//! (rows that pass through the worker); `report` is what reports find out; `session` and `in_hand` are how users' queries are executed
//! and let go of; `maintenance` keeps the tables in order.

mod clock;
pub mod elasticsearch;
mod elsewhere;
mod environment;
mod error;
mod in_hand;
mod jobs;
mod maintenance;
mod metrics_server;
mod mutex;
mod plan;
mod queue;
mod rejected;
mod report;
mod report_slots;
pub mod row_id;
mod run;
mod service;
mod session;
pub mod sink;
pub mod source;
pub mod step;
mod worker;

pub use error::BatchError;
pub use metrics_server::MetricsServerError;
pub use service::run as run_service;
pub use vitrina_shared::config::DRAIN;
pub use worker::Worker;
