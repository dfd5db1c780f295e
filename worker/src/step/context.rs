//! What a step reaches the world through.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use vitrina_shared::domain::PipelineId;

/// Everything that a step may use besides its rows and options.
#[derive(Debug, Clone)]
pub struct StepContext {
    /// The pipeline whose rows they are.
    pub pipeline: PipelineId,
    /// The run or report that executes the step.
    pub id: Uuid,
    /// The request that the run or report was made for.
    pub correlation_id: String,
    /// Cancelled when the run or report is given up. The step's future is dropped then; whatever it has started must end too.
    pub cancelled: CancellationToken,
    /// When the server cuts the page off, and the step with it.
    pub deadline: Instant,
}
