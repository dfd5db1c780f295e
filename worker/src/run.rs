//! A run in a worker's hands.
//!
//! `begin` (is the run still wanted, what does it read) → `batch` (batch after batch, each one statement, or a `stream` where
//! rows pass through the worker) → `finish` (what the pipeline's status becomes).

mod advice;
mod batch;
mod begin;
mod finish;
mod hooks;
mod prefetch;
mod progress;
mod steps;
mod stream;

pub use begin::execute;
