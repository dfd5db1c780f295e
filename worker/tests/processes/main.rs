//! Real worker processes that are killed, stopped and revived, and a server that is restarted under them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod calls;
mod cluster;
mod costs;
mod crashes;
mod hooks;
mod lost_commits;
mod memory;
mod prepared;
mod proxy;
mod python;
mod restarts;
mod service;
mod silence;
#[allow(dead_code, reason = "shared with the tests of the engine, which use other parts of it")]
#[path = "../engine/support.rs"]
mod support;
mod worker_process;
