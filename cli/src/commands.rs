//! A file per command.

pub(crate) mod apply;
pub(crate) mod cinema;
pub(crate) mod command;
pub(crate) mod dead_letters;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod hooks;
pub(crate) mod ls;
pub(crate) mod migrate;
mod objects;
pub(crate) mod one_pipeline;
pub(crate) mod preview;
pub(crate) mod probe;
pub(crate) mod reconcile;
pub(crate) mod replay;
pub(crate) mod run;
mod run_summary;
pub(crate) mod runs;
pub(crate) mod show;
pub(crate) mod state;
pub(crate) mod steps;
pub(crate) mod targets;
pub(crate) mod up;
pub(crate) mod validate;
pub(crate) mod workers;
