//! The `vitrina` command: everything in one process for a newcomer, a service each for an operator.
//!
//! `arguments` says what can be typed; `commands` has a file per command. [`embedded_postgres`] is the server for
//! whoever has none at hand, `home` that or the user's own, `services` the API and workers on it; [`cinema`] is the
//! demo's data and `reconcile` its check.

pub mod arguments;
pub mod cinema;
pub mod commands;
pub mod embedded_postgres;
mod home;
mod reconcile;
mod services;
