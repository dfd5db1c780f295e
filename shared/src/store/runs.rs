//! `etl.etl_runs` and `etl.etl_run_ranges`, by what happens to a run: found, requested, begun, walked in ranges and batches,
//! ended, removed.

mod batch;
mod begin;
mod delivery;
mod end;
mod find;
mod ranges;
mod request;
mod retention;

pub use batch::{BatchCall, BatchOutcome, NextPage, add_rejected, add_removed, add_written, execute_batch, next_page};
pub use begin::{Anew, Debts, OpenRun, Start, WalkedColumn, open, set_total};
pub(crate) use begin::{begin, note_walk};
pub use delivery::{is_delivered_to, part_from_emptied};
pub(crate) use end::{end, fail, note_failure, pause};
pub use find::{PageEnd, Sum, Writer, find, find_active, find_by_key, inputs, list, sum, unfinished, writer_of};
pub use ranges::{Range, is_walked, next_batch, open_ranges, upper};
pub(crate) use ranges::{set_job, withdraw_jobs};
pub use request::{NewJob, NewRun, insert};
pub(crate) use request::{remember_key, request, requeue};
pub use retention::prune;
