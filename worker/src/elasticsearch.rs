//! Marts as search indexes: the sink for targets `es:<index>`.
//!
//! Reading order: `document` (a row and its version), `mapping` (what an index looks like), `client`, `nodes` and
//! `server` (the other side), `bulk` (writing a stream of documents, durably), `physical` and `index` (what stands behind a
//! name), `rebuild` (a full run), `removal` (what runs leave behind), `contents` (what is there).
//! `sweeper` goes through the indexes of all targets and removes what is not needed any more, `error` says what a failure means for
//! the caller.

mod bulk;
mod client;
mod contents;
mod document;
mod error;
mod index;
mod mapping;
mod nodes;
mod patience;
mod physical;
mod rebuild;
mod removal;
mod server;
mod sweeper;

pub use bulk::{Action, BulkEndpoint, BulkWriter, Written};
pub use client::{Answer, Client};
pub use contents::IndexContents;
pub use document::{Document, number_above, version};
pub use error::SinkError;
pub use index::{Index, Ready};
pub use mapping::mappings;
pub use physical::Physical;
pub use server::Server;
pub use sweeper::{GRACE, Swept, indexes, sweep};
