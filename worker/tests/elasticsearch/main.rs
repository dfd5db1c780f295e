//! The Elasticsearch sink on a real node, and behind a proxy that does what a healthy node never would.
//!
//! `scripts/with-elasticsearch scripts/with-postgres cargo test -p vitrina-worker --test elasticsearch` starts both
//! servers. `VITRINA_TEST_FILMS` makes the marts larger.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod binding;
mod connection;
mod disasters;
mod every_type;
mod faults;
mod films;
mod full_runs;
mod gate;
mod hooks;
mod indexes;
mod late;
mod letters;
mod node;
mod pipelines;
mod proxy;
mod rebuilds;
mod reconcile;
mod refusals;
mod removal;
#[allow(dead_code, reason = "shared with the tests of the engine, which use other parts of it")]
#[path = "../engine/samples.rs"]
mod samples;
#[allow(dead_code, reason = "shared with the tests of the engine, which use other parts of it")]
#[path = "../engine/scripted.rs"]
mod scripted;
mod steps;
#[allow(dead_code, reason = "shared with the tests of the engine, which use other parts of it")]
#[path = "../engine/storm.rs"]
mod storm;
mod support;
mod values;
mod versions;
#[allow(dead_code, reason = "shared with the tests of processes, which use other parts of it")]
#[path = "../processes/worker_process.rs"]
mod worker_process;
#[allow(dead_code, reason = "shared with the tests of the engine, which use other parts of it")]
#[path = "../engine/support.rs"]
mod world;
mod writing;
