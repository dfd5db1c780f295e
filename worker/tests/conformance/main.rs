//! One suite that every sink passes on its real server: `suite` says what must hold, a [`suite::Bench`] makes one sink comparable.
//!
//! `scripts/with-elasticsearch scripts/with-postgres cargo test -p vitrina-worker --test conformance` starts both servers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod indexes;
mod marts;
mod memory;
#[allow(dead_code, reason = "shared with the tests of Elasticsearch, which use other parts of it")]
#[path = "../elasticsearch/proxy.rs"]
mod proxy;
mod suite;
#[allow(dead_code, unused_imports, reason = "shared with the tests of Elasticsearch, which use other parts of it")]
#[path = "../elasticsearch/support.rs"]
mod support;
#[allow(dead_code, reason = "shared with the tests of the engine, which use other parts of it")]
#[path = "../engine/support.rs"]
mod world;
