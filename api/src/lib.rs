//! The control plane: writes what should happen, shows what did, and executes nothing.
//!
//! Read `router` first: it is the table of all routes. A request passes `middleware` (request id, other websites, limits, roles), a
//! handler of `routes` that is thin, `vitrina_shared::lifecycle` or `definitions` which does the work in one
//! transaction, and comes back as a `views` struct or a `problem`.

mod app;
mod deployment;
mod input;
mod middleware;
mod openapi;
mod problem;
mod router;
mod routes;
mod server;
mod service;
mod streams;
mod turns;
mod views;

pub use app::App;
pub use router::document as openapi_document;
pub use server::{DRAIN, ServeError, Server};
pub use service::run as run_service;

/// The wire format of a pipeline's parts, which the command line writes too.
pub mod wire {
    pub use crate::views::{OneOf, OptionsInput, PipelineInput, TaskInput};
}
