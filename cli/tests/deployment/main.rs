//! The files that deploy Vitrina keep in step with its code: what they start, set, probe and wait for exists.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod compose;
mod compose_scripts;
mod documents;
mod image;
mod kubernetes;
mod manifest;
mod probe;
mod secrets;
mod settings;
