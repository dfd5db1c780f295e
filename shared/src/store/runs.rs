//! `etl.etl_runs` and `etl.etl_run_ranges`, by what happens to a run: found, taken up, walked in ranges and batches, removed. It
//! is requested, begun and ended together with a change of its pipeline's status (`store/status.rs`).

mod batch;
mod begin;
mod delivery;
mod find;
mod ranges;
mod retention;
mod steps;

pub use batch::{BatchCall, BatchOutcome, NextPage, add_rejected, add_removed, add_written, next_page, run_batch};
pub(crate) use batch::{add_to_error, note_failure};
pub(crate) use begin::note_walk;
pub use begin::{Anew, Debts, OpenRun, Start, WalkedColumn, open, set_total};
pub use delivery::{is_delivered_to, part_from_emptied};
pub(crate) use find::remember_key;
pub use find::{RunPosition, Sum, Writer, find, find_active, find_by_key, inputs, list, sum, unfinished, writer_of};
pub use ranges::{Range, cut_at, is_walked, next_batch, open_ranges, upper};
pub(crate) use ranges::{cut, keep, leave, set_job, stranded, withdraw_jobs};
pub use retention::prune;
pub use steps::{add_steps, steps};
