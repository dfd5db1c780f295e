//! A client of server-sent events that shows comments too.

use reqwest::{Response, StatusCode, header};
use serde_json::Value;

use super::{SOON, within};

/// One block of the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A line that clients ignore.
    Comment,
    /// A transition with its id.
    Transition(i64, Value),
    /// How far a run is.
    Progress(Value),
    /// Transitions that were removed before the stream came to them.
    Gap(Value),
}

/// An open stream.
pub struct Events {
    response: Response,
    text: String,
}

impl Events {
    /// Reads the stream that this answer carries.
    pub fn of(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next block; none when the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let event = parse(block);
                self.text = rest.to_owned();
                return Some(event);
            }
            let chunk = self.response.chunk().await.ok().flatten()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next transition.
    pub async fn transition(&mut self) -> (i64, Value) {
        within(SOON, async {
            loop {
                match self.next().await {
                    Some(Event::Transition(id, data)) => return (id, data),
                    Some(Event::Comment | Event::Progress(_) | Event::Gap(_)) => {}
                    None => panic!("the stream has ended"),
                }
            }
        })
        .await
    }

    /// The next progress.
    pub async fn progress(&mut self) -> Value {
        within(SOON, async {
            loop {
                match self.next().await {
                    Some(Event::Progress(data)) => return data,
                    Some(Event::Comment | Event::Transition(..) | Event::Gap(_)) => {}
                    None => panic!("the stream has ended"),
                }
            }
        })
        .await
    }

    /// The next `count` transitions.
    pub async fn transitions(&mut self, count: usize) -> Vec<(i64, Value)> {
        let mut all = Vec::new();
        while all.len() < count {
            all.push(self.transition().await);
        }
        all
    }
}

fn parse(block: &str) -> Event {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match field("event:") {
        Some("transition") => {
            let id = field("id:").unwrap().parse().unwrap();
            let data: Value = serde_json::from_str(field("data:").unwrap()).unwrap();
            assert_eq!(data["id"], id, "the event's id is the transition's");
            Event::Transition(id, data)
        }
        Some("progress") => {
            assert_eq!(field("id:"), None, "progress is not resumed");
            Event::Progress(serde_json::from_str(field("data:").unwrap()).unwrap())
        }
        Some("gap") => {
            assert_eq!(field("id:"), None, "a gap is announced again until a transition follows it");
            Event::Gap(serde_json::from_str(field("data:").unwrap()).unwrap())
        }
        Some(other) => panic!("there is no event `{other}`"),
        None => Event::Comment,
    }
}
