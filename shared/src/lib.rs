//! What the API and the workers share: the domain, the database and the rules between them.
//!
//! Reading order, which is also the only direction in which modules may import:
//!
//! 1. [`domain`]: pure types and decisions, no I/O;
//! 2. [`sql`]: quoting, literals, upserts and binary COPY, as text;
//! 3. [`store`]: SQL and nothing else, a file per table;
//! 4. [`guard`]: what a source query may say;
//! 5. [`validation`]: everything that must hold of a pipeline before it is stored;
//! 6. [`jobs`]: how work enters the queue;
//! 7. [`lifecycle`]: the only code that changes a status;
//! 8. [`definitions`]: creating, changing and removing pipelines, allowing targets and hooks;
//! 9. [`reports`]: what clients want to know and workers find out;
//! 10. [`notify`]: LISTEN with reconnect; [`progress`]: how far a run is, announced;
//! 11. [`rights`]: whether a service may do more than it needs, said at its start.
//!
//! [`config`], [`telemetry`], [`metrics`], [`database`], [`migrate`] and [`process`] are what a process needs to start
//! and know no more of these than the domain; [`local_request`] is what it answers without a token, and [`tls`] why a server
//! cannot be trusted; [`nearest`] finds the name that was meant.

pub mod config;
pub mod database;
pub mod definitions;
pub mod domain;
pub mod guard;
pub mod jobs;
pub mod lifecycle;
pub mod local_request;
pub mod metrics;
pub mod migrate;
pub mod nearest;
pub mod notify;
pub mod process;
pub mod progress;
pub mod reports;
pub mod rights;
pub mod sql;
pub mod store;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tls;
pub mod validation;

pub use migrate::MIGRATOR;
