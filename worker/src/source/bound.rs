//! The bound of a source whose rows become visible in the order of their keys.

use vitrina_shared::{
    domain::{Checkpoint, Position},
    store::runs::{OpenRun, Start},
};

use super::{Bound, Walk};

/// Reads up to this key. Rows of one key may come one after the other: those of the checkpoint's own are read again.
pub fn up_to(greatest: Option<String>, walk: &Walk, run: &OpenRun) -> Start {
    if walk.settles_by == Bound::None {
        return Start::default();
    }
    let checkpoint = run.checkpoint_from.as_ref().filter(|_| !walk.starts_over);
    let after = checkpoint.map(|checkpoint| Position(vec![Some(checkpoint.key.clone()), None]));
    let leaves = greatest.clone().filter(|_| walk.leaves_settled()).map(|key| Checkpoint { key, id: None });
    Start { upper: greatest, after, leaves, ..Start::default() }
}
