//! A collector of traces: it takes what OTLP over HTTP sends, and keeps the spans.

use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::{collector::trace::v1::ExportTraceServiceRequest, trace::v1::Span};
use prost::Message;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream},
    net::{TcpListener, TcpStream},
};

/// What was sent so far, by the service that sent it.
type Spans = Arc<Mutex<Vec<(String, Span)>>>;

pub struct Collector {
    pub endpoint: String,
    spans: Spans,
}

impl Collector {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let spans = Spans::default();
        let kept = spans.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, kept.clone()));
            }
        });
        Self { endpoint, spans }
    }

    /// The spans of one trace, with the services that sent them.
    pub fn trace(&self, id: &str) -> Vec<(String, Span)> {
        let spans = self.spans.lock().unwrap();
        spans.iter().filter(|(_, span)| hex(&span.trace_id) == id).cloned().collect()
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Answers one request after the other.
async fn serve(client: TcpStream, spans: Spans) -> Option<()> {
    let mut client = BufStream::new(client);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if client.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            head.push(line.to_ascii_lowercase());
        }
        assert!(head[0].starts_with("post /v1/traces "), "{head:?}");
        let length = head.iter().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())?;
        let mut body = vec![0; length];
        client.read_exact(&mut body).await.ok()?;
        keep(&spans, &body);
        client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.ok()?;
        client.flush().await.ok()?;
    }
}

fn keep(spans: &Spans, body: &[u8]) {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    for from in request.resource_spans {
        let attributes = from.resource.unwrap_or_default().attributes;
        let name = attributes.into_iter().find(|attribute| attribute.key == "service.name").unwrap();
        let service = format!("{:?}", name.value.unwrap().value.unwrap());
        let sent = from.scope_spans.into_iter().flat_map(|scope| scope.spans);
        spans.lock().unwrap().extend(sent.map(|span| (service.clone(), span)));
    }
}
