//! How much the rejected rows of one batch may take: they are kept in memory until it commits.

pub const MOST_REJECTED_BYTES: usize = 64 << 20;

/// Why a batch fails whose rejected rows take too much. `what` begins the sentence: who refuses them.
pub fn too_much_rejected(what: &str) -> String {
    let most = MOST_REJECTED_BYTES >> 20;
    format!("{what} rows of one batch that have more than {most} MiB together: lower batch_size, or mend the rows")
}
