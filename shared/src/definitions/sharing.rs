//! Several pipelines on one target.
//!
//! Two incremental pipelines may fill different rows of one mart. A full one removes every row that its own query does not
//! return, also those of the other pipeline, which has read them and would not write them again.

use sqlx::PgConnection;

use crate::{
    domain::{Mode, PipelineDraft, PipelineId, Problem},
    store::pipelines,
};

/// What is wrong with a draft because another enabled pipeline writes its target: one of the two is full, and they do not
/// read the same. `itself` is the pipeline that the draft changes, or else the one with its name.
pub async fn sharing_problem(
    connection: &mut PgConnection,
    draft: &PipelineDraft,
    itself: Option<PipelineId>,
) -> sqlx::Result<Option<Problem>> {
    if !draft.enabled {
        return Ok(None);
    }
    let (target, field) = draft.final_target();
    let others = pipelines::sharing(connection, target).await?;
    let other = others.iter().find(|other| {
        let same = itself.map_or(other.draft.name == draft.name, |id| other.id == id);
        let full = draft.mode == Mode::Full || other.draft.mode == Mode::Full;
        !same && full && other.draft.enabled && !other.draft.reads_alike(draft)
    });
    Ok(other.map(|other| {
        let name = &other.draft.name;
        let (full, loser) = match draft.mode {
            Mode::Full => ("this pipeline", format!("`{name}`")),
            Mode::Incremental => ("it", "this pipeline".to_owned()),
        };
        Problem::new(
            field,
            format!(
                "pipeline `{name}` writes `{target}` too, by another query, and {full} is full: its runs would remove the \
                 rows of {loser}. Use a target of its own, disable one of them, or, to remove what is gone from an \
                 incremental pipeline's source, run that with `--full`"
            ),
        )
    }))
}
