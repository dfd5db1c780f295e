//! Client commands as a person types them: the real program against a real API and worker.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod apply;
mod calls;
mod doctor;
mod encrypted;
mod hooks;
mod mistakes;
mod reading;
mod rights;
mod run;
mod support;
