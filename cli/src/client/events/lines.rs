//! Server-sent events: bytes to messages.

use std::time::Instant;

use futures_util::{StreamExt, stream::BoxStream};

use crate::client::ClientError;

type Body = BoxStream<'static, Result<Vec<u8>, ClientError>>;

/// No known server sends longer messages.
const MOST: usize = 1 << 20;

/// One message. Its data is empty if it has only an id.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) data: String,
}

/// Cuts bytes into messages.
pub(super) struct Lines {
    bytes: Body,
    rest: Vec<u8>,
    message: Message,
    heard_at: Instant,
}

impl Lines {
    pub(super) fn new(bytes: Body) -> Self {
        Self { bytes, rest: Vec::new(), message: Message::default(), heard_at: Instant::now() }
    }

    /// When the last bytes came, including comments.
    pub(super) fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// The next message. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Result<Message, ClientError>> {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                if let Some(message) = self.take(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])) {
                    return Some(Ok(message));
                }
            }
            let part = self.bytes.next().await?;
            self.heard_at = Instant::now();
            match part {
                Ok(part) if self.rest.len() + part.len() <= MOST => self.rest.extend(part),
                Ok(_) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Takes a line in; an empty one ends the message.
    fn take(&mut self, line: &str) -> Option<Message> {
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            return (message != Message::default()).then_some(message);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.message.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.message.name),
            "data" if self.message.data.is_empty() => value.clone_into(&mut self.message.data),
            "data" => self.message.data.extend(["\n", value]),
            // A comment, the time to wait, or a field that this version does not know.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    async fn messages(parts: &[&str]) -> Vec<Message> {
        let parts: Vec<_> = parts.iter().map(|part| Ok(part.as_bytes().to_vec())).collect();
        let mut lines = Lines::new(stream::iter(parts).boxed());
        let mut found = Vec::new();
        while let Some(message) = lines.next().await {
            found.push(message.expect("bytes"));
        }
        found
    }

    #[tokio::test]
    async fn messages_may_be_cut_anywhere() {
        let text =
            ":vitrina\nretry:1000\n\nevent: transition\ndata: {\"a\":\ndata: 1}\nid: 7\n\n:\n\nid: 8\n\ndata: lost";
        let whole = messages(&[text]).await;
        let one = Message { id: Some("7".into()), name: "transition".into(), data: "{\"a\":\n1}".into() };
        let two = Message { id: Some("8".into()), ..Message::default() };
        assert_eq!(whole, [one, two], "comments and an unfinished message say nothing");
        for cut in 1..text.len() {
            assert_eq!(messages(&[&text[..cut], &text[cut..]]).await, whole, "cut at {cut}");
        }
    }
}
