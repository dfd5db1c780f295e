//! What must hold of a plan's transforms, given what the reader returns and where the rows go.

use super::TargetPlace;
use crate::domain::{
    FullStrategy, Mode, PipelineDraft, Problem, SourceColumn,
    transform::{self, Configured},
};

/// The columns before the first transform and after each, up to one that cannot work, and why. Steps that are wrong by themselves
/// are passed over.
pub(super) fn stages(
    steps: &[(usize, Configured)],
    columns: &[SourceColumn],
) -> (Vec<Vec<SourceColumn>>, Option<Problem>) {
    let mut stages = vec![columns.to_vec()];
    for (place, step) in steps {
        let mut columns = stages.last().cloned().unwrap_or_default();
        if let Err(message) = step.declared().columns(&mut columns) {
            return (stages, Some(Problem::new(format!("tasks[{place}].options"), message)));
        }
        stages.push(columns);
    }
    (stages, None)
}

/// The step that changes a column of the target's key. Pages are walked, and stale rows found, by the reader's key. Of steps
/// behind one that cannot work it is known what they touch by their own words.
pub(super) fn touched_keys(
    steps: &[(usize, Configured)],
    stages: &[Vec<SourceColumn>],
    key: &[String],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, (place, step)) in steps.iter().enumerate() {
        let columns = stages.get(at).zip(stages.get(at + 1));
        let (arriving, leaving) = columns.map_or_else(Default::default, |(from, to)| (from.as_slice(), to.as_slice()));
        let touched = transform::touched(step.declared(), arriving, leaving);
        problems.extend(touched.iter().filter(|name| key.contains(name)).map(|name| {
            let message =
                format!("`{name}` is part of the target's key, which a transform must leave as the query gives it");
            Problem::new(format!("tasks[{place}].options"), message)
        }));
    }
    problems
}

/// What does not go together with a step that drops rows. A row that is dropped now may be in the target from an earlier run:
/// only a full run that builds beside the target leaves it out.
pub(super) fn dropped_rows(
    steps: &[(usize, Configured)],
    draft: &PipelineDraft,
    target: &TargetPlace,
) -> Option<Problem> {
    let (place, _) = steps.iter().find(|(_, step)| step.declared().drops_rows())?;
    let name = &draft.tasks[*place].body;
    let options = &draft.options;
    let (field, message) = match (draft.mode, target) {
        (Mode::Incremental, _) => (
            format!("tasks[{place}].body"),
            format!(
                "`{name}` drops rows, and an incremental run leaves what an earlier one has written of them: use mode `full`"
            ),
        ),
        (Mode::Full, TargetPlace::Mart(..)) if options.full_strategy == Some(FullStrategy::Merge) => (
            "options.full_strategy".to_owned(),
            format!("`{name}` drops rows, which `merge` leaves in the mart: leave the option out or choose `swap`"),
        ),
        (Mode::Full, TargetPlace::Mart(..)) if options.rejects_allowed().is_some() => (
            "options.on_row_error".to_owned(),
            format!("`{name}` drops rows, so the mart is swapped, and a swap takes all rows or none: use `fail`"),
        ),
        (Mode::Full, TargetPlace::Mart(..) | TargetPlace::External(..)) => return None,
    };
    Some(Problem::new(field, message))
}
