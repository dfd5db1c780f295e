//! The calls of a block of rows: what is known of each, what is sent, and what the rows get.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;
use vitrina_shared::{
    domain::{
        ErrorClass,
        transform::{Extracted, RowDocument, http::Request},
    },
    store::calls::{self, CallState, Caller, KnownCall},
};

use super::{
    NAME, Service,
    call::{Call, Standing},
    measured,
    send::{self, Polled, Sending, Sent},
};
use crate::step::{Block, BlockRow, Processed, Rejection, StepContext, StepError, within_block};

/// How long a block waits for answers with its transaction open. Then its batch is given back, and the next attempt finds them.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is outstanding for less than this is waited for.
const SHORT: Duration = Duration::from_millis(500);
/// When a batch whose answers are under way is tried again.
const SOON: Duration = Duration::from_millis(200);

/// A call of which no request can be made, and why.
type Impossible = (Vec<u8>, String);

/// A block on its way through the step.
pub struct Asking<'a> {
    service: Arc<Service>,
    context: &'a StepContext,
    rows: Vec<Result<BlockRow, Rejection>>,
    /// By the key that a call is remembered by.
    calls: BTreeMap<Vec<u8>, Call>,
    /// How many calls were answered before this run asked.
    saved: u64,
    waits_for: Option<String>,
    /// What the rows get, in bytes.
    answer_bytes: usize,
}

impl<'a> Asking<'a> {
    pub fn of(service: Arc<Service>, context: &'a StepContext, block: Block) -> Self {
        measured::show_series(&context.name);
        let mut asking = Self {
            service,
            context,
            rows: Vec::new(),
            calls: BTreeMap::new(),
            saved: 0,
            waits_for: None,
            answer_bytes: 0,
        };
        for row in block {
            let added = asking.add(&row.document);
            asking.rows.push(match added {
                Ok(()) => Ok(row),
                Err(reason) => Err(row.reject(reason)),
            });
        }
        asking
    }

    /// Notes which call the next row needs.
    fn add(&mut self, row: &RowDocument) -> Result<(), String> {
        let step = &self.service.step;
        let input = match step.rows_per_call {
            0 | 1 => step.templates.for_row(row)?.digest(),
            _ => step.templates.digest_of(row)?,
        };
        let key = match step.entity.is_empty() {
            true => input,
            false => step.templates.entity_of(&step.entity, row),
        };
        let place = self.rows.len();
        let new = || Call { input: input.to_vec(), rows: Vec::new(), standing: Standing::Due(None) };
        let call = self.calls.entry(key.to_vec()).or_insert_with(new);
        if call.input != input {
            return Err("another row of the same entity asks for something else".to_owned());
        }
        call.rows.push(place);
        Ok(())
    }

    /// Asks until every call has an answer, or gives the batch back where that takes longer.
    pub async fn run(mut self) -> Result<Processed, StepError> {
        self.look_up(true).await?;
        // From here on: what is asked again and again for the answers that are there must not use up the time for new ones.
        let until = Instant::now() + PATIENCE;
        let mut is_first = true;
        loop {
            if !is_first {
                self.look_up(false).await?;
            }
            is_first = false;
            self.waits_for = None;
            let due = self.due();
            let rests = self.calls.values().filter_map(Call::rests).min();
            if due.is_empty() && rests.is_none() {
                return Ok(self.finish());
            }
            let is_over = Instant::now() >= until || self.context.cancelled.is_cancelled();
            if due.is_empty() || is_over {
                let rests = rests.unwrap_or(SOON);
                if rests > SHORT || is_over {
                    return Err(self.outstanding(rests));
                }
                sleep(rests.max(SOON)).await;
                continue;
            }
            if let Some(wait) = self.send_due(due, until).await? {
                if wait > SHORT || Instant::now() + wait > until {
                    return Err(self.outstanding(wait));
                }
                self.note_wait(wait);
                sleep(wait).await;
            }
        }
    }

    /// Finds out what is known of the calls that have no answer yet.
    async fn look_up(&mut self, is_first: bool) -> Result<(), StepError> {
        let open = self.calls.iter().filter(|(_, call)| !call.is_settled()).map(|(key, _)| key.clone());
        let keys: Vec<Vec<u8>> = open.collect();
        for key in &keys {
            if let Some(call) = self.calls.get_mut(key) {
                call.standing = Standing::Due(None);
            }
        }
        let mut connection = send::connect(&self.service.db).await?;
        let caller = Caller { pipeline: self.context.pipeline, step: NAME };
        let mut found = calls::find(&mut connection, caller, &keys);
        while let Some(known) = found.next().await {
            let known = known.map_err(send::away)?;
            let (service, run) = (&self.service, self.context.id);
            // Reading long answers takes time that others need too.
            tokio::task::yield_now().await;
            if let Some(call) = self.calls.get_mut(&known.key) {
                let is_of_run = known.run == run;
                call.learn(service, known, run);
                self.answer_bytes += call.bytes();
                within_block(self.answer_bytes)?;
                if is_first && !is_of_run && call.is_settled() {
                    self.saved += 1;
                }
            }
        }
        Ok(())
    }

    /// What is sent now: calls of one request together.
    fn due(&mut self) -> Vec<Sending> {
        let service = self.service.clone();
        let (mut begun, mut fresh) = (HashMap::<Uuid, Vec<(&Vec<u8>, &Call, &KnownCall)>>::new(), Vec::new());
        for (key, call) in &self.calls {
            match &call.standing {
                Standing::Due(Some(known)) if known.input == call.input => {
                    begun.entry(known.idempotency_key).or_default().push((key, call, known));
                }
                Standing::Due(_) => fresh.push((key, call)),
                Standing::Answered(_) | Standing::Refused(_) | Standing::Rests(_) => {}
            }
        }
        let mut requests = Vec::new();
        for (id, members) in begun {
            match members.as_slice() {
                [(key, call, known)] if known.state == CallState::Submitted => {
                    requests.push(self.poll(key, call, known))
                }
                members if members.iter().all(|(_, _, known)| usize::try_from(known.together) == Ok(members.len())) => {
                    let calls: Vec<_> = members.iter().map(|(key, call, _)| (*key, *call)).collect();
                    requests.push(self.request(id, &calls));
                }
                // The others of its request are in no row of the block: it is another request now.
                members => fresh.extend(members.iter().map(|(key, call, _)| (*key, *call))),
            }
        }
        let (alone, together): (Vec<_>, Vec<_>) = fresh.into_iter().partition(|(_, call)| call.is_alone());
        for calls in together.chunks(service.step.rows_per_call.max(1)).chain(alone.chunks(1)) {
            match self.request(Uuid::new_v4(), calls) {
                // No request can be made of one of its rows.
                Err(_) if calls.len() > 1 => {
                    requests.extend(calls.iter().map(|call| self.request(Uuid::new_v4(), std::slice::from_ref(call))));
                }
                request => requests.push(request),
            }
        }
        let (requests, impossible): (Vec<_>, Vec<_>) = requests.into_iter().partition(Result::is_ok);
        for (key, reason) in impossible.into_iter().filter_map(Result::err) {
            if let Some(call) = self.calls.get_mut(&key) {
                call.standing = Standing::Refused(reason);
            }
        }
        requests.into_iter().filter_map(Result::ok).collect()
    }

    /// The request for these calls, or why none can be made of the first one.
    fn request(&self, id: Uuid, calls: &[(&Vec<u8>, &Call)]) -> Result<Sending, Impossible> {
        let impossible = |reason: String| (calls.first().map(|(key, _)| (*key).clone()).unwrap_or_default(), reason);
        let mut rows = calls.iter().filter_map(|(_, call)| self.row(call));
        let templates = &self.service.step.templates;
        let request = match self.service.step.rows_per_call {
            0 | 1 => rows.next().map_or_else(|| Err("there is no row".to_owned()), |row| templates.for_row(row)),
            _ => templates.for_rows(rows),
        };
        Ok(self.sending(id, calls, request.map_err(impossible)?, None))
    }

    fn poll(&self, key: &Vec<u8>, call: &Call, known: &KnownCall) -> Result<Sending, Impossible> {
        let impossible = |reason: String| (key.clone(), reason);
        let asked = self.service.step.poll.as_ref().zip(known.external_id.as_ref()).zip(self.row(call));
        let ((poll, id), row) = asked.ok_or_else(|| impossible("the service gave it no id".to_owned()))?;
        let request = poll.request(id, row).map_err(impossible)?;
        let polled = Polled { key_fingerprint: known.key_fingerprint.clone(), is_overdue: known.is_overdue };
        Ok(self.sending(known.idempotency_key, &[(key, call)], request, Some(polled)))
    }

    fn sending(&self, id: Uuid, calls: &[(&Vec<u8>, &Call)], request: Request, polls: Option<Polled>) -> Sending {
        Sending {
            pipeline: self.context.pipeline,
            name: self.context.name.clone(),
            counts: self.context.counts.clone(),
            lanes: 1,
            run: self.context.id,
            keys: calls.iter().map(|(key, _)| (*key).clone()).collect(),
            inputs: calls.iter().map(|(_, call)| call.input.clone()).collect(),
            idempotency_key: id,
            request,
            polls,
        }
    }

    /// A row that a call is made for. All of them ask for the same.
    fn row(&self, call: &Call) -> Option<&RowDocument> {
        let row = self.rows.get(*call.rows.first()?)?.as_ref().ok()?;
        Some(&row.document)
    }

    /// Sends requests side by side until none is left or time is up. Returns how long none can be sent, if that is so.
    async fn send_due(&mut self, due: Vec<Sending>, until: Instant) -> Result<Option<Duration>, StepError> {
        let stop = self.context.cancelled.child_token();
        let _stops = stop.clone().drop_guard();
        let lanes = u32::try_from(due.len().min(self.service.step.concurrency)).unwrap_or(u32::MAX);
        let mut waiting = due.into_iter().map(|sending| Sending { lanes, ..sending });
        let mut under_way = FuturesUnordered::new();
        let (mut not_before, mut failed) = (None::<Duration>, None);
        loop {
            while under_way.len() < self.service.step.concurrency && not_before.is_none() && failed.is_none() {
                if Instant::now() >= until {
                    break;
                }
                let Some(sending) = waiting.next() else { break };
                // A task of its own: a request that is on its way is noted though the batch is given up.
                under_way.push(tokio::spawn(send::send_call(self.service.clone(), sending, stop.clone())));
            }
            // What is under way when time is up goes on, and the next attempt finds its answer.
            let Ok(Some(sent)) = timeout_at(until, under_way.next()).await else { break };
            match sent {
                Ok(Ok(Sent::Called)) => self.context.counts.note_calls(1, 0),
                Ok(Ok(Sent::Noted | Sent::Left)) => {}
                Ok(Ok(Sent::NotBefore(wait, what))) => {
                    not_before = Some(not_before.map_or(wait, |before| before.min(wait)));
                    self.waits_for = Some(what);
                }
                Ok(Err(error)) => failed = Some(error),
                Err(ended) => failed = Some(StepError::new(ErrorClass::Transient, ended.to_string())),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(not_before),
        }
    }

    fn note_wait(&self, wait: Duration) {
        if let Some(what) = &self.waits_for {
            self.context.counts.note_wait(wait, what);
            measured::observe_wait(&self.context.name, wait);
        }
    }

    /// Gives the batch back until answers may be there.
    fn outstanding(&self, wait: Duration) -> StepError {
        self.note_wait(wait);
        let open = self.calls.values().filter(|call| !call.is_settled()).count();
        let reason = self.waits_for.as_ref().map(|what| format!(", held back by `{what}`")).unwrap_or_default();
        StepError::awaits(wait.max(SOON), format!("{open} answers are outstanding{reason}"))
    }

    /// Gives every row its columns, or the reason why it is rejected.
    fn finish(mut self) -> Processed {
        self.context.counts.note_calls(0, self.saved);
        let columns = &self.service.step.columns;
        for call in self.calls.into_values() {
            for place in call.rows {
                let Some(row) = self.rows.get_mut(place) else { continue };
                let reason = match (&call.standing, &mut *row) {
                    (Standing::Answered(values), Ok(row)) => set(&mut row.document, columns, values).err(),
                    (Standing::Refused(reason), Ok(_)) => Some(reason.clone()),
                    (Standing::Due(_) | Standing::Rests(_), Ok(_)) => Some("has no answer".to_owned()),
                    (_, Err(_)) => None,
                };
                if let Some(reason) = reason {
                    reject(row, reason);
                }
            }
        }
        let mut processed = Processed::default();
        for row in self.rows {
            match row {
                Ok(row) => processed.rows.push(row),
                Err(rejection) => processed.rejected.push(rejection),
            }
        }
        processed
    }
}

fn reject(row: &mut Result<BlockRow, Rejection>, reason: String) {
    if let Ok(found) = row {
        *row = Err(found.rejection(reason));
    }
}

fn set(row: &mut RowDocument, columns: &[Extracted], values: &[String]) -> Result<(), String> {
    for (column, value) in columns.iter().zip(values) {
        row.set_json(&column.name, value.clone())?;
    }
    Ok(())
}
