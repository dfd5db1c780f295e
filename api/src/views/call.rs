//! Calls to services, their limits and keys.

use chrono::{DateTime, Utc};
use salvo::oapi::ToSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use vitrina_shared::store::{
    calls::{CallState, ListedCall},
    limits::Limit,
    pool_keys::PoolKey,
};

use super::{OneOf, Values};

/// What a limit is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitInput {
    /// Calls in each period, over all workers.
    #[salvo(schema(minimum = 1, maximum = 1_000_000))]
    pub tokens: i32,
    /// The period.
    #[serde(default = "one_second")]
    #[salvo(schema(required = false, minimum = 0.001, maximum = 86400))]
    pub period_seconds: f64,
    /// Calls that may be made at once after a rest.
    #[serde(default = "one")]
    #[salvo(schema(required = false, minimum = 1, maximum = 1_000_000))]
    pub burst: i32,
}

fn one_second() -> f64 {
    1.0
}

fn one() -> i32 {
    1
}

/// All limits, and the keys that calls were made with.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Limits"))]
pub struct LimitsView {
    /// The limits, by name.
    pub items: Vec<LimitView>,
    /// The keys, by pool.
    pub keys: Vec<KeyView>,
}

/// A limit of calls, shared by all workers.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Limit"))]
pub struct LimitView {
    /// The name that plans refer to.
    pub name: String,
    /// Calls in each period.
    pub tokens: i32,
    /// The period.
    pub period_seconds: f64,
    /// Calls that may be made at once after a rest.
    pub burst: i32,
    /// When the next call may be made; in the past where that is now, null before the first call.
    pub free_at: Option<DateTime<Utc>>,
    /// The service asked for a pause until then.
    pub rests_until: Option<DateTime<Utc>>,
}

impl From<Limit> for LimitView {
    fn from(limit: Limit) -> Self {
        let Limit { name, tokens, period_seconds, burst, free_at, rests_until } = limit;
        Self { name, tokens, period_seconds, burst, free_at, rests_until }
    }
}

/// What became of a key.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Key"))]
pub struct KeyView {
    /// The keys of the worker's variable `VITRINA_KEYS_<pool>`.
    pub pool: String,
    /// The beginning of a digest of the key.
    pub fingerprint: String,
    /// When a call was last made with it.
    pub used_at: Option<DateTime<Utc>>,
    /// The service asked for a pause until then.
    pub rests_until: Option<DateTime<Utc>>,
    /// When the service did not accept it: it is not used any more.
    pub refused_at: Option<DateTime<Utc>>,
    /// The status of that answer.
    pub refused_reason: Option<String>,
}

impl From<PoolKey> for KeyView {
    fn from(key: PoolKey) -> Self {
        let PoolKey { pool, fingerprint, used_at, rests_until, refused_at, refused_reason } = key;
        Self { pool, fingerprint, used_at, rests_until, refused_at, refused_reason }
    }
}

/// A call to a service that is remembered.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Call"))]
pub struct CallView {
    /// The pipeline's name.
    pub pipeline: String,
    /// The step of its plan.
    pub step: String,
    /// How far it is.
    pub state: OneOf<CallState>,
    /// The run or report that made it last.
    pub run_id: Uuid,
    /// The service's name for it, where it is polled; null for viewers, unless they see values.
    pub external_id: Option<String>,
    /// The status of the last answer.
    pub status: Option<i16>,
    /// Why it has no good answer, in the service's words; null for viewers as `external_id` is.
    pub error: Option<String>,
    /// Attempts of that run that failed, and the last one.
    pub attempts: i32,
    /// The fingerprint of the key that it was made with.
    pub key_fingerprint: Option<String>,
    /// When it was first made.
    pub created_at: DateTime<Utc>,
    /// When it was last made.
    pub sent_at: Option<DateTime<Utc>>,
    /// When it is made or polled again.
    pub next_look_at: Option<DateTime<Utc>>,
    /// When its answer came.
    pub answered_at: Option<DateTime<Utc>>,
}

impl CallView {
    pub fn new(call: ListedCall, values: Values) -> Self {
        Self {
            pipeline: call.pipeline,
            step: call.step,
            state: call.state.into(),
            run_id: call.run,
            external_id: call.external_id.and_then(|id| values.row(id)),
            status: call.status,
            error: call.error.and_then(|error| values.row(error)),
            attempts: call.attempts,
            key_fingerprint: call.key_fingerprint,
            created_at: call.created_at,
            sent_at: call.sent_at,
            next_look_at: call.next_look_at,
            answered_at: call.answered_at,
        }
    }
}

/// How many were forgotten.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Forgotten"))]
pub struct ForgottenView {
    /// Their number.
    pub forgotten: u64,
}
