//! What jobs do: one file each.

pub mod execute_batch;
