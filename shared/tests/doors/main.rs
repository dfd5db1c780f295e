//! What a query may do, tried with a corpus of queries: all layers of the guard together, and each one switched off in turn.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod corpus;
mod differential;
mod functions;
mod layers;
mod marks;
mod owners;
mod scene;
mod settings;
