//! A call of a block: what is known of it, and what follows.

use std::time::Duration;

use uuid::Uuid;
use vitrina_shared::store::calls::{CallState, KnownCall};

use super::Service;

/// When a call is looked at again that another attempt has sent.
const LOOKS_AGAIN: Duration = Duration::from_secs(1);

/// A call and the rows that need its answer.
#[derive(Debug)]
pub struct Call {
    pub input: Vec<u8>,
    /// Places in the block.
    pub rows: Vec<usize>,
    pub standing: Standing,
}

#[derive(Debug)]
pub enum Standing {
    /// The values of the step's columns, as JSON.
    Answered(Vec<String>),
    /// Why its rows are rejected.
    Refused(String),
    /// To be sent now; what is known of an earlier attempt.
    Due(Option<KnownCall>),
    /// To be looked at again after this time.
    Rests(Duration),
}

impl Call {
    pub fn is_settled(&self) -> bool {
        matches!(self.standing, Standing::Answered(_) | Standing::Refused(_))
    }

    pub fn bytes(&self) -> usize {
        match &self.standing {
            Standing::Answered(values) => values.iter().map(String::len).sum::<usize>() * self.rows.len(),
            Standing::Refused(_) | Standing::Due(_) | Standing::Rests(_) => 0,
        }
    }

    pub fn rests(&self) -> Option<Duration> {
        match self.standing {
            Standing::Rests(rests) => Some(rests),
            Standing::Answered(_) | Standing::Refused(_) | Standing::Due(_) => None,
        }
    }

    /// Whether the service refused it together with others.
    pub fn is_alone(&self) -> bool {
        matches!(&self.standing, Standing::Due(Some(known)) if known.together == 1 && known.state == CallState::Waiting)
    }

    /// Takes in what is known of it. What another input of its entity was answered with says nothing.
    pub fn learn(&mut self, service: &Service, known: KnownCall, run: Uuid) {
        let is_same = known.input == self.input;
        let rests = !known.rests.is_zero() && !known.is_overdue;
        let refused = || Standing::Refused(known.error.clone().unwrap_or_else(|| "was refused".to_owned()));
        self.standing = match known.state {
            // Its answer may come at any moment.
            CallState::Sending if rests => Standing::Rests(known.rests.min(LOOKS_AGAIN)),
            _ if !is_same => Standing::Due(None),
            CallState::Waiting | CallState::Submitted if rests => Standing::Rests(known.rests),
            CallState::Done => {
                let answer = known.answer.as_deref().unwrap_or("null");
                let values =
                    service.step.columns.iter().map(|column| column.read(answer)).collect::<Result<Vec<_>, _>>();
                values.map_or_else(Standing::Refused, Standing::Answered)
            }
            CallState::Refused => refused(),
            CallState::Failed if known.run == run => refused(),
            // Also what an earlier run gave up is sent with the same idempotency key: it may have been paid for.
            CallState::Sending | CallState::Submitted | CallState::Waiting | CallState::Failed => {
                Standing::Due(Some(known))
            }
        };
    }
}
