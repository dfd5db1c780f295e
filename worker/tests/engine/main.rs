//! The engine on a real database: workers within this process, source and mart compared row by row.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod bounds;
mod call_limits;
mod calls;
mod calls_refused;
mod changed_marts;
mod control;
mod emptied_marts;
mod errors;
mod every_type;
mod full_mode;
mod full_runs;
mod hooks;
mod interleavings;
mod keys;
mod late_clock;
mod late_commits;
mod late_horizon;
mod late_keys;
mod modes;
mod names;
mod null_keys;
mod one_target;
mod other_source;
mod python;
mod python_processes;
mod python_values;
mod ranges;
mod reconcile;
mod recovery;
mod refused_marts;
mod removal;
mod repair;
mod replay;
mod reports;
mod retention;
mod retyped_keys;
mod rust_steps;
mod samples;
#[allow(dead_code, reason = "shared with the tests of Elasticsearch, which use other parts of it")]
mod scripted;
mod service;
mod step_versions;
mod steps;
mod storm;
mod streams;
mod summary;
#[allow(dead_code, reason = "shared with the tests of processes, which use other parts of it")]
mod support;
mod swap;
mod types;
mod unique_values;
mod upgrades;
