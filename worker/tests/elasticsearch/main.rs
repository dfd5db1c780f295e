//! The Elasticsearch sink on a real node, and behind a proxy that does what a healthy node never would.
//!
//! `scripts/with-elasticsearch cargo test -p vitrina-worker --test elasticsearch` starts the node.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod faults;
mod indexes;
mod proxy;
mod rebuilds;
mod support;
mod values;
mod writing;
