//! The `vitrina` command: everything in one process for a newcomer, a service each for an operator, a client for both.
//!
//! `arguments` says what can be typed and which command does it; `commands` has a file per command. `client` is the REST API as commands see it,
//! `output` what they show, `follow` and `bars` the progress of a run. [`embedded_postgres`] is the server for users
//! without one, `home` that or the user's own, `services` the API and workers on it; [`cinema`] is the demo's data.

pub mod arguments;
mod bars;
pub mod cinema;
mod client;
mod commands;
pub mod embedded_postgres;
mod follow;
mod home;
mod output;
mod pipeline_file;
mod services;
