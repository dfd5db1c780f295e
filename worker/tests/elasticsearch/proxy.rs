//! A proxy in front of the node that does on demand what a healthy node never would.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinHandle,
};

/// What becomes of a bulk request.
pub enum Fault {
    /// It goes through.
    None,
    /// The items at these places get this status and do not reach the node.
    Items(u16, Vec<usize>),
    /// It is answered with this status and does not reach the node.
    Status(u16, Option<u64>),
    /// It goes through, and half of the answer comes back.
    HalfAnAnswer,
    /// It goes through, and nothing comes back.
    NoAnswer,
    /// The connection ends in the middle of its body.
    Cut,
    /// It goes through after a while.
    Slow(Duration),
    /// It goes through once there is a permit.
    Held(Arc<Semaphore>),
}

/// A bulk request as the proxy sees it.
pub struct Seen {
    /// How many came before.
    pub number: usize,
    /// How many documents it has; not known before all of it was read.
    pub items: usize,
}

type Script = dyn Fn(&Seen) -> Fault + Send + Sync;

/// A proxy on a port of its own, for as long as it lives.
pub struct Proxy {
    pub url: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    node: String,
    script: Box<Script>,
    bulks: AtomicUsize,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl Proxy {
    /// Starts a proxy that asks `script` about every bulk request.
    pub async fn start(node: &str, script: impl Fn(&Seen) -> Fault + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            node: node.to_owned(),
            script: Box::new(script),
            bulks: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let serving = state.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = serving.clone();
                tokio::spawn(async move { state.serve(stream).await });
            }
        });
        Self { url, state, task }
    }

    /// The most bulk requests that were under way at once.
    pub fn most_at_once(&self) -> usize {
        self.state.most.load(Ordering::SeqCst)
    }

    /// How many bulk requests are under way.
    pub fn under_way(&self) -> usize {
        self.state.under_way.load(Ordering::SeqCst)
    }

    /// How many bulk requests came.
    pub fn bulks(&self) -> usize {
        self.state.bulks.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A request, whole or up to its body.
pub struct Request {
    pub method: String,
    pub path: String,
    pub content_type: String,
    pub authorization: Option<String>,
    pub body: Vec<u8>,
}

impl State {
    /// Serves a connection until either side ends it.
    async fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some((mut request, length)) = head(&mut stream).await {
            let is_bulk = request.path.contains("_bulk");
            if is_bulk {
                let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(now, Ordering::SeqCst);
            }
            let answered = self.answer(&mut stream, &mut request, length, is_bulk).await;
            if is_bulk {
                self.under_way.fetch_sub(1, Ordering::SeqCst);
            }
            if answered.is_none() {
                return;
            }
        }
    }

    /// Nothing where the connection is to end.
    async fn answer(
        &self,
        stream: &mut BufReader<TcpStream>,
        request: &mut Request,
        length: usize,
        is_bulk: bool,
    ) -> Option<()> {
        request.body.resize(length, 0);
        let half = length / 2;
        stream.read_exact(&mut request.body[..half]).await.ok()?;
        let number = if is_bulk { self.bulks.fetch_add(1, Ordering::SeqCst) } else { 0 };
        let cut = is_bulk && matches!((self.script)(&Seen { number, items: usize::MAX }), Fault::Cut);
        if cut {
            return None;
        }
        stream.read_exact(&mut request.body[half..]).await.ok()?;
        let items = request.body.iter().filter(|byte| **byte == b'\n').count() / 2;
        let fault = if is_bulk { (self.script)(&Seen { number, items }) } else { Fault::None };
        match fault {
            Fault::None => reply(stream, self.forward(request).await?, None).await,
            Fault::Cut => None,
            Fault::Items(status, places) => reply(stream, self.without(request, status, &places).await?, None).await,
            Fault::Status(status, retry_after) => {
                let body =
                    json!({"error": {"type": "es_rejected_execution_exception", "reason": "no room"}}).to_string();
                reply(stream, (status, body.into_bytes()), retry_after).await
            }
            Fault::HalfAnAnswer => {
                let (status, body) = self.forward(request).await?;
                let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all(head.as_bytes()).await.ok()?;
                stream.write_all(&body[..body.len() / 2]).await.ok()?;
                None
            }
            Fault::NoAnswer => {
                self.forward(request).await?;
                None
            }
            Fault::Slow(pause) => {
                tokio::time::sleep(pause).await;
                reply(stream, self.forward(request).await?, None).await
            }
            Fault::Held(permits) => {
                permits.acquire().await.ok()?.forget();
                reply(stream, self.forward(request).await?, None).await
            }
        }
    }

    async fn forward(&self, request: &Request) -> Option<(u16, Vec<u8>)> {
        forward(&self.node, request).await
    }

    /// Forwards the request without some of its items, and answers these itself.
    async fn without(&self, request: &Request, status: u16, places: &[usize]) -> Option<(u16, Vec<u8>)> {
        let lines: Vec<&[u8]> = request.body.split_inclusive(|byte| *byte == b'\n').collect();
        let pairs: Vec<&[&[u8]]> = lines.chunks(2).collect();
        let passed: Vec<u8> = pairs
            .iter()
            .enumerate()
            .filter(|(place, _)| !places.contains(place))
            .flat_map(|(_, pair)| pair.concat())
            .collect();
        let refused = json!({"index": {"status": status, "error": {"type": "es_rejected_execution_exception"}}});
        let mut answered: Value = json!({"errors": true, "items": []});
        if !passed.is_empty() {
            let part = Request {
                method: request.method.clone(),
                path: request.path.clone(),
                content_type: request.content_type.clone(),
                authorization: None,
                body: passed,
            };
            answered = serde_json::from_slice(&self.forward(&part).await?.1).ok()?;
        }
        let mut rest = answered["items"].as_array()?.clone().into_iter();
        let items: Option<Vec<Value>> = (0..pairs.len())
            .map(|place| if places.contains(&place) { Some(refused.clone()) } else { rest.next() })
            .collect();
        Some((200, json!({"errors": true, "items": items?}).to_string().into_bytes()))
    }
}

/// Passes a request on, without who sent it.
pub async fn forward(node: &str, request: &Request) -> Option<(u16, Vec<u8>)> {
    let method = request.method.parse().ok()?;
    let sent = reqwest::Client::new()
        .request(method, format!("{node}{}", request.path))
        .header("content-type", &request.content_type)
        .body(request.body.clone());
    let response = sent.send().await.ok()?;
    Some((response.status().as_u16(), response.bytes().await.ok()?.to_vec()))
}

/// Reads a request up to its body; nothing where the connection ended.
pub async fn head(stream: &mut BufReader<impl AsyncRead + Unpin>) -> Option<(Request, usize)> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut content_type, mut authorization) = (0, String::from("application/json"), None);
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.ok()?;
        let Some((name, value)) = header.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "content-type" => value.trim().clone_into(&mut content_type),
            "authorization" => authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    Some((Request { method, path, content_type, authorization, body: Vec::new() }, length))
}

/// Answers a request.
pub async fn reply(
    stream: &mut BufReader<impl AsyncRead + AsyncWrite + Unpin>,
    (status, body): (u16, Vec<u8>),
    retry_after: Option<u64>,
) -> Option<()> {
    let retry = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n{retry}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(&body).await.ok()?;
    stream.flush().await.ok()
}
