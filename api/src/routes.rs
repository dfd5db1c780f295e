//! Handlers, a file per resource. They are thin: read the request, call `shared`, show the result.

pub mod calls;
pub mod dead_letters;
pub mod events;
pub mod installation;
pub mod limits;
pub mod ops;
pub mod pipelines;
pub mod reports;
pub mod runs;
pub mod targets;
pub mod transforms;
pub mod workers;
