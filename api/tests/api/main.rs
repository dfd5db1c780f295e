//! The API as its clients see it: a real server, a real database, HTTP in between.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod auth;
mod bounds;
mod browsers;
mod calls;
mod changes;
mod dead_letters;
mod errors;
mod events;
mod gaps;
mod hooks;
mod lists;
mod metrics;
mod openapi;
mod pipelines;
mod python_steps;
mod reports;
mod runs;
mod service;
mod silence;
mod stream_limits;
mod support;
mod targets;
mod validation;
mod viewers;
