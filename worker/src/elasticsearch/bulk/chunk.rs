//! The documents of one bulk request, and its body.

use std::{io::Write, ops::Range};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use super::{Action, Document};

/// A chunk in the making. The body is built as documents come, so that each is in memory once.
#[derive(Debug, Default)]
pub struct ChunkBuilder {
    body: Vec<u8>,
    items: Vec<BulkLine>,
}

#[derive(Debug)]
pub struct Chunk {
    body: Bytes,
    items: Vec<BulkLine>,
}

/// Where a document is in the body.
#[derive(Debug, Clone)]
struct BulkLine {
    id: String,
    version: Option<i64>,
    whole: Range<usize>,
    row: Range<usize>,
}

impl ChunkBuilder {
    pub fn add(&mut self, action: Action, document: Document) {
        let start = self.body.len();
        self.write_head(action, &document);
        let (before, body, after) = match action {
            Action::Upsert => ("{\"doc\":", document.body.as_str(), ",\"doc_as_upsert\":true}\n"),
            Action::Replace => ("", document.body.as_str(), "\n"),
            Action::Delete => ("", "", ""),
        };
        self.body.extend_from_slice(before.as_bytes());
        let row = self.body.len()..self.body.len() + body.len();
        self.body.extend_from_slice(body.as_bytes());
        // A line feed ends a line. In JSON it can only be white space, as which `json` columns have them.
        for byte in &mut self.body[row.clone()] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        self.body.extend_from_slice(after.as_bytes());
        let whole = start..self.body.len();
        self.items.push(BulkLine { id: document.id, version: document.version, whole, row });
    }

    fn write_head(&mut self, action: Action, document: &Document) {
        self.body.extend_from_slice(match action {
            Action::Upsert => b"{\"update\":{\"_id\":".as_slice(),
            Action::Replace => b"{\"index\":{\"_id\":",
            Action::Delete => b"{\"delete\":{\"_id\":",
        });
        // A vector takes everything that is written to it.
        let _ = serde_json::to_writer(&mut self.body, &document.id);
        let _ = match (action, document.version) {
            (Action::Upsert, _) => self.body.write_all(b",\"retry_on_conflict\":3"),
            (Action::Replace | Action::Delete, Some(version)) => {
                write!(self.body, ",\"version\":{version},\"version_type\":\"external_gte\"")
            }
            (Action::Replace | Action::Delete, None) => Ok(()),
        };
        self.body.extend_from_slice(b"}}\n");
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.body.len()
    }

    pub fn seal(self) -> Chunk {
        Chunk { body: self.body.into(), items: self.items }
    }
}

impl Chunk {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn body(&self) -> Bytes {
        self.body.clone()
    }

    /// The documents at these places, as a chunk of their own.
    pub fn only(&self, places: impl IntoIterator<Item = usize>) -> Self {
        let mut part = ChunkBuilder::default();
        for item in places.into_iter().filter_map(|place| self.items.get(place)) {
            let moved = part.body.len();
            part.body.extend_from_slice(&self.body[item.whole.clone()]);
            let shift =
                |range: &Range<usize>| range.start - item.whole.start + moved..range.end - item.whole.start + moved;
            let (whole, row) = (shift(&item.whole), shift(&item.row));
            part.items.push(BulkLine { id: item.id.clone(), version: item.version, whole, row });
        }
        part.seal()
    }

    pub fn halves(&self) -> [Self; 2] {
        let middle = self.len() / 2;
        [self.only(0..middle), self.only(middle..self.len())]
    }

    pub fn document(&self, place: usize) -> Option<Document> {
        let item = self.items.get(place)?;
        let body = String::from_utf8_lossy(&self.body[item.row.clone()]).into_owned();
        Some(Document { id: item.id.clone(), version: item.version, body })
    }
}

/// Compresses as fast as it goes: the network is the slower part, the processor has other work.
pub fn compress(body: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: &str, version: Option<i64>, body: &str) -> Document {
        Document { id: id.to_owned(), version, body: body.to_owned() }
    }

    fn text(chunk: &Chunk) -> String {
        String::from_utf8(chunk.body().to_vec()).expect("JSON is UTF-8")
    }

    #[test]
    fn each_action_has_its_lines() {
        let mut builder = ChunkBuilder::default();
        builder.add(Action::Upsert, document("a\"b", None, "{\"x\":1}"));
        builder.add(Action::Replace, document("c", Some(7), "{\"x\":2}"));
        builder.add(Action::Delete, document("d", None, "{}"));
        let expected = "{\"update\":{\"_id\":\"a\\\"b\",\"retry_on_conflict\":3}}\n{\"doc\":{\"x\":1},\"doc_as_upsert\":true}\n\
             {\"index\":{\"_id\":\"c\",\"version\":7,\"version_type\":\"external_gte\"}}\n{\"x\":2}\n\
             {\"delete\":{\"_id\":\"d\"}}\n";
        assert_eq!(text(&builder.seal()), expected);
    }

    #[test]
    fn a_part_has_the_same_lines_and_documents() {
        let mut builder = ChunkBuilder::default();
        let documents: Vec<_> = (0..5).map(|n| document(&n.to_string(), Some(n), &format!("{{\"n\":{n}}}"))).collect();
        documents.iter().for_each(|document| builder.add(Action::Replace, document.clone()));
        let chunk = builder.seal();
        let part = chunk.only([1, 4]).only([1]);
        let mut same = ChunkBuilder::default();
        same.add(Action::Replace, documents[4].clone());
        assert_eq!(text(&part), text(&same.seal()));
        assert_eq!(part.document(0).as_ref(), Some(&documents[4]));
        let [first, second] = chunk.halves();
        assert_eq!((first.len(), second.len()), (2, 3));
        assert_eq!(format!("{}{}", text(&first), text(&second)), text(&chunk));
    }

    #[test]
    fn a_line_feed_within_a_row_does_not_end_its_line() {
        let mut builder = ChunkBuilder::default();
        builder.add(Action::Replace, document("a", None, "{\"j\":{\n\"x\":\r\n1}}"));
        assert_eq!(text(&builder.seal()).lines().count(), 2);
    }
}
