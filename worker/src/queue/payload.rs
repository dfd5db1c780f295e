//! Payloads as the queue stores them.

use apalis_core::backend::codec::Codec;
use serde_json::Value;

/// Reads a payload as JSON. What is none becomes `null`: an error here would end the worker, and the next one that takes
/// the job, while the handler takes a job that it cannot read out of the queue.
#[derive(Debug, Clone)]
pub(super) struct Payload;

impl Codec<Value> for Payload {
    type Error = serde_json::Error;
    type Compact = Vec<u8>;

    fn encode(&self, value: &Value) -> Result<Self::Compact, Self::Error> {
        serde_json::to_vec(value)
    }

    fn decode(&self, bytes: &Self::Compact) -> Result<Value, Self::Error> {
        Ok(serde_json::from_slice(bytes).unwrap_or_default())
    }
}
