//! A service on this machine that a test scripts: what it answers, when, and what it was asked.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub at: Instant,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
    pub after: Duration,
    /// Whether the connection is closed instead.
    pub closes: bool,
}

impl Answer {
    pub fn of(status: u16, body: impl ToString) -> Self {
        Self { status, body: body.to_string(), ..Self::default() }
    }

    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }
}

type Script = dyn Fn(&Asked, usize) -> Answer + Send + Sync;

pub struct Service {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Service {
    /// Answers every request by the script, which gets the number of those before it too.
    pub async fn start(script: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let (script, noted): (Arc<Script>, _) = (Arc::new(script), asked.clone());
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, noted) = (script.clone(), noted.clone());
                tokio::spawn(async move {
                    let _gone = serve(stream, &*script, &noted).await;
                });
            }
        });
        Self { address, asked, task }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.asked.lock().unwrap().clear();
    }
}

async fn serve(mut stream: TcpStream, script: &Script, noted: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let Some(asked) = read(&mut stream, &mut bytes).await? else { return Ok(()) };
        let before = {
            let mut noted = noted.lock().unwrap();
            noted.push(asked.clone());
            noted.len() - 1
        };
        let answer = script(&asked, before);
        tokio::time::sleep(answer.after).await;
        if answer.closes {
            return Ok(());
        }
        let mut head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n", answer.status, answer.body.len());
        answer.headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        stream.write_all(format!("{head}\r\n{}", answer.body).as_bytes()).await?;
    }
}

/// The next request of a connection; none at its end.
async fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> std::io::Result<Option<Asked>> {
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut lines = head.lines();
            let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
            let header =
                |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
            let headers: Vec<_> = lines.filter_map(header).collect();
            let length = headers
                .iter()
                .find(|(name, _)| name == "content-length")
                .map_or(0, |(_, value)| value.parse().unwrap());
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
                bytes.drain(..end + 4 + length);
                return Ok(Some(Asked { at: Instant::now(), path, headers, body }));
            }
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}
