//! What an answer means for a call: its state from now on, and the part of the answer for each of its inputs.

use std::time::Duration;

use serde_json::value::RawValue;
use vitrina_shared::{
    domain::transform::http::{Class, Http, Poll, classify},
    store::calls::{CallState, Outcome},
};

use super::client::Reply;

/// How often a call is sent in one run before it is given up.
const MOST_ATTEMPTS: i32 = 3;
/// How long a call rests whose service asks for a pause and does not say how long.
const PAUSE: Duration = Duration::from_secs(5);

/// What becomes of the calls of one request.
#[derive(Debug)]
pub struct Meaning {
    pub outcome: Outcome,
    /// An answer for each input, if there is one.
    pub answers: Option<Vec<String>>,
    /// What else the class says: of the key, the limit, or the whole run.
    pub class: Option<Class>,
    /// How long the service wants to be left alone.
    pub pause: Option<Duration>,
}

fn outcome(state: CallState, status: Option<u16>) -> Outcome {
    Outcome {
        state,
        status: status.and_then(|status| i16::try_from(status).ok()),
        external_id: None,
        error: None,
        next_look: None,
        deadline: None,
        is_attempt: true,
        parts: false,
    }
}

impl Meaning {
    fn of(outcome: Outcome) -> Self {
        Self { outcome, answers: None, class: None, pause: None }
    }

    /// The service did not answer well: tried again, until it was tried often enough.
    pub fn failed(words: String, status: Option<u16>, attempt: i32) -> Self {
        let is_last = attempt >= MOST_ATTEMPTS;
        let state = if is_last { CallState::Failed } else { CallState::Waiting };
        let next_look = (!is_last).then(|| Duration::from_secs(1 << (attempt - 1).clamp(0, 10)));
        Self::of(Outcome { error: Some(words), next_look, ..outcome(state, status) })
    }
}

/// What an answer to a request for so many inputs means.
pub fn of_request(step: &Http, inputs: usize, reply: &Reply, attempt: i32) -> Meaning {
    if let Some(class) = classify(&step.classes, reply.status, &reply.body) {
        return of_class(step, class, inputs, reply, attempt);
    }
    let status = Some(reply.status);
    let unreadable = |what: &str| Meaning::failed(format!("{what}: {}", reply.words()), status, attempt);
    let Some(document) = document(&reply.body) else { return unreadable("the answer is no JSON") };
    if let Some(poll) = &step.poll {
        let Some(id) = poll.id_in(document) else { return unreadable("the answer has no id") };
        let outcome = outcome(CallState::Submitted, status);
        let next_look = Some(Duration::from_secs(poll.every_seconds.into()));
        let deadline = Some(Duration::from_secs(poll.deadline_seconds.into()));
        return Meaning::of(Outcome { external_id: Some(id), next_look, deadline, ..outcome });
    }
    let answers = match step.rows_per_call {
        0 | 1 => Some(vec![document.to_owned()]),
        _ => list(step.answers_in(document)).filter(|answers| answers.len() == inputs),
    };
    match answers {
        Some(answers) => Meaning { answers: Some(answers), ..Meaning::of(outcome(CallState::Done, status)) },
        None => unreadable(&format!("the answer has no list of {inputs} elements")),
    }
}

fn of_class(step: &Http, class: Class, inputs: usize, reply: &Reply, attempt: i32) -> Meaning {
    let (status, error) = (Some(reply.status), Some(reply.words()));
    let waits = |next_look| Outcome {
        error: error.clone(),
        next_look,
        is_attempt: false,
        ..outcome(CallState::Waiting, status)
    };
    let meaning = match class {
        Class::Temporary => Meaning::failed(reply.words(), status, attempt),
        // With keys it is the key that rests.
        Class::RateLimited if step.keys.is_some() => Meaning::of(waits(None)),
        Class::RateLimited => Meaning::of(waits(reply.retry_after.or(Some(PAUSE)))),
        Class::Quota | Class::Unauthorized | Class::Redirected => Meaning::of(waits(None)),
        // One of several inputs is at fault: which one is found by asking for each alone.
        Class::Refused if inputs > 1 => Meaning::of(Outcome { parts: true, ..waits(None) }),
        Class::Refused => Meaning::of(Outcome { error, ..outcome(CallState::Refused, status) }),
    };
    Meaning { class: Some(class), pause: reply.retry_after, ..meaning }
}

/// What an answer means that was asked for by the service's id.
pub fn of_poll(step: &Http, poll: &Poll, reply: &Reply) -> Meaning {
    let status = Some(reply.status);
    let again = || Outcome { status: outcome(CallState::Submitted, status).status, ..poll_again(poll).outcome };
    match classify(&step.classes, reply.status, &reply.body) {
        Some(Class::Refused) => {
            return Meaning::of(Outcome { error: Some(reply.words()), ..outcome(CallState::Failed, status) });
        }
        Some(class) => {
            let next_look = again().next_look.max(reply.retry_after);
            let meaning = Meaning::of(Outcome { next_look, ..again() });
            return Meaning { class: Some(class), pause: reply.retry_after, ..meaning };
        }
        None => {}
    }
    let Some(document) = document(&reply.body) else { return Meaning::of(again()) };
    match poll.state_in(document) {
        Some(state) if poll.done.contains(&state) => {
            Meaning { answers: Some(vec![document.to_owned()]), ..Meaning::of(outcome(CallState::Done, status)) }
        }
        Some(state) if poll.failed.contains(&state) => {
            Meaning::of(Outcome { error: Some(reply.words()), ..outcome(CallState::Refused, status) })
        }
        Some(_) | None => Meaning::of(again()),
    }
}

/// The service gave no answer about a call that it works on.
pub fn poll_again(poll: &Poll) -> Meaning {
    let next_look = Some(Duration::from_secs(poll.every_seconds.into()));
    Meaning::of(Outcome { next_look, ..outcome(CallState::Submitted, None) })
}

/// The service has worked on a call for longer than it may.
pub fn overdue(poll: &Poll) -> Meaning {
    let error = format!("the service has no result after {} seconds (poll.deadline_seconds)", poll.deadline_seconds);
    Meaning::of(Outcome { error: Some(error), ..outcome(CallState::Failed, None) })
}

/// The JSON of an answer; NULL where it is empty.
fn document(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?.trim();
    if text.is_empty() {
        return Some("null");
    }
    serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get)
}

fn list(document: Option<&str>) -> Option<Vec<String>> {
    let items: Vec<&RawValue> = serde_json::from_str(document?).ok()?;
    Some(items.into_iter().map(|item| item.get().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn step(changes: &Value) -> Http {
        let mut options = json!({"url": "https://a.example/", "columns": {"new": {"path": "/a", "type": "text"}}});
        for (name, value) in changes.as_object().expect("changes") {
            options[name] = value.clone();
        }
        Http::of(options.as_object().expect("options")).expect("a step")
    }

    fn reply(status: u16, body: &str) -> Reply {
        Reply { status, retry_after: None, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn a_call_is_done_tried_again_thrice_or_refused() {
        let step = step(&json!({}));
        let found = |status, body, attempt| of_request(&step, 1, &reply(status, body), attempt).outcome.state;
        assert_eq!(found(200, r#"{"a":1}"#, 1), CallState::Done);
        assert_eq!(found(204, "", 1), CallState::Done);
        assert_eq!(found(200, "<html>", 1), CallState::Waiting);
        assert_eq!(found(200, "<html>", 3), CallState::Failed);
        assert_eq!(found(503, "", 2), CallState::Waiting);
        assert_eq!(found(503, "", 3), CallState::Failed);
        assert_eq!(found(422, "", 1), CallState::Refused);
        let limited = of_request(&step, 1, &reply(429, ""), 3);
        assert_eq!((limited.outcome.state, limited.outcome.is_attempt), (CallState::Waiting, false));
        assert_eq!(of_request(&step, 1, &reply(402, ""), 1).class, Some(Class::Quota));
    }

    #[test]
    fn an_answer_for_several_inputs_has_as_many_parts_and_a_refusal_is_of_one_of_them() {
        let step = step(&json!({
            "rows_per_call": 5, "input": ["id"], "answers_at": "/items", "body": "{{ rows | tojson }}",
        }));
        let parts = of_request(&step, 2, &reply(200, r#"{"items": [{"a": 1.50}, null]}"#), 1);
        assert_eq!(parts.answers, Some(vec![r#"{"a": 1.50}"#.to_owned(), "null".to_owned()]));
        let short = of_request(&step, 2, &reply(200, r#"{"items": [1]}"#), 1);
        assert_eq!((short.outcome.state, short.answers), (CallState::Waiting, None));
        let refused = of_request(&step, 2, &reply(400, "bad"), 1).outcome;
        assert_eq!((refused.state, refused.parts, refused.is_attempt), (CallState::Waiting, true, false));
        assert_eq!(of_request(&step, 1, &reply(400, "bad"), 1).outcome.state, CallState::Refused);
    }

    #[test]
    fn a_submitted_call_is_polled_until_it_is_done_failed_or_overdue() {
        let step = step(&json!({"poll": {
            "id": "/id", "url": "https://a.example/{{ id }}", "state": "/s", "done": ["ok"], "failed": ["no"], "every_seconds": 7,
        }}));
        let submitted = of_request(&step, 1, &reply(202, r#"{"id": 7}"#), 1).outcome;
        assert_eq!((submitted.state, submitted.external_id.as_deref()), (CallState::Submitted, Some("7")));
        assert_eq!(of_request(&step, 1, &reply(202, "{}"), 1).outcome.state, CallState::Waiting);
        let poll = step.poll.as_ref().expect("a poll");
        let polled = |status, body| of_poll(&step, poll, &reply(status, body)).outcome;
        assert_eq!(polled(200, r#"{"s":"ok"}"#).state, CallState::Done);
        assert_eq!(polled(200, r#"{"s":"no"}"#).state, CallState::Refused);
        assert_eq!(polled(200, r#"{"s":"on its way"}"#).next_look, Some(Duration::from_secs(7)));
        assert_eq!(polled(500, "").state, CallState::Submitted);
        assert_eq!(polled(200, "rubbish").state, CallState::Submitted);
        assert_eq!(polled(404, "").state, CallState::Failed);
        assert_eq!(overdue(poll).outcome.state, CallState::Failed);
    }
}
