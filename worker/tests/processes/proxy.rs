//! A proxy in front of PostgreSQL that loses connections without telling anybody: neither side is closed, nothing passes.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp},
    sync::Notify,
    task::AbortHandle,
};

/// A proxy that goes with the test.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    task: AbortHandle,
}

struct State {
    server: SocketAddr,
    links: Mutex<Vec<Arc<Link>>>,
    refuses: AtomicBool,
    /// Clients of this name get no answer.
    unheard: Mutex<Option<String>>,
    delay_ms: AtomicU64,
}

/// A connection through the proxy.
#[derive(Default)]
struct Link {
    /// What the client calls itself.
    name: OnceLock<String>,
    frozen: AtomicBool,
    cut: Notify,
    /// How often the client said something after it had heard something.
    turns: AtomicU64,
    heard: AtomicBool,
}

impl Proxy {
    /// Starts a proxy in front of the server of this address.
    pub async fn start(url: &str) -> Self {
        let server = url.split('@').nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (links, refuses, delay_ms) = (Mutex::default(), AtomicBool::new(false), AtomicU64::new(0));
        let state = Arc::new(State { server, links, refuses, unheard: Mutex::default(), delay_ms });
        let task = tokio::spawn(accept(listener, state.clone())).abort_handle();
        Self { port, state, task }
    }

    /// The address of the server, through the proxy.
    pub fn url(&self, url: &str) -> String {
        url.replace(&self.state.server.to_string(), &format!("127.0.0.1:{}", self.port))
    }

    /// Loses the connections of clients with one of these names, or all. Those that are opened later pass.
    pub fn freeze(&self, names: Option<&[&str]>) -> usize {
        let links = self.state.links.lock().unwrap();
        let lost = links.iter().filter(|link| {
            names.is_none_or(|names| link.name.get().is_some_and(|name| names.contains(&name.as_str())))
        });
        lost.map(|link| link.frozen.store(true, Ordering::SeqCst)).count()
    }

    /// Loses the connections of clients with this name, and those that they open later, until another name is given.
    pub fn unheard(&self, name: Option<&str>) {
        *self.state.unheard.lock().unwrap() = name.map(str::to_owned);
        if let Some(name) = name {
            self.freeze(Some(&[name]));
        }
    }

    /// Closes the connections of clients with one of these names.
    pub fn cut(&self, names: &[&str]) -> usize {
        let links = self.state.links.lock().unwrap();
        let named = links.iter().filter(|link| link.name.get().is_some_and(|name| names.contains(&name.as_str())));
        named.map(|link| link.cut.notify_one()).count()
    }

    /// Takes no new connections, or takes them again.
    pub fn refuse(&self, refuses: bool) {
        self.state.refuses.store(refuses, Ordering::SeqCst);
    }

    /// Lets everything take so long on its way, in either direction.
    pub fn delay(&self, delay: Duration) {
        self.state.delay_ms.store(u64::try_from(delay.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// How many connections clients of this name have opened.
    pub fn opened(&self, name: &str) -> usize {
        let links = self.state.links.lock().unwrap();
        links.iter().filter(|link| link.name.get().is_some_and(|found| found == name)).count()
    }

    /// How often clients whose name begins so have waited for an answer.
    pub fn round_trips(&self, name: &str) -> u64 {
        let links = self.state.links.lock().unwrap();
        let named = links.iter().filter(|link| link.name.get().is_some_and(|found| found.starts_with(name)));
        named.map(|link| link.turns.load(Ordering::SeqCst)).sum()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    // The connections go with the proxy.
    let mut pumps = tokio::task::JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if state.refuses.load(Ordering::SeqCst) {
            continue;
        }
        let Ok(server) = TcpStream::connect(state.server).await else { continue };
        client.set_nodelay(true).unwrap();
        server.set_nodelay(true).unwrap();
        let link = Arc::new(Link::default());
        state.links.lock().unwrap().push(link.clone());
        pumps.spawn(pump(client, server, link, state.clone()));
    }
}

async fn pump(client: TcpStream, server: TcpStream, link: Arc<Link>, state: Arc<State>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // Either end ends both, as a connection does.
    tokio::select! {
        () = forward(from_client, to_server, &link, &state, true) => {}
        () = forward(from_server, to_client, &link, &state, false) => {}
        () = link.cut.notified() => {}
    }
}

async fn forward(
    mut from: tcp::OwnedReadHalf,
    mut to: tcp::OwnedWriteHalf,
    link: &Link,
    state: &State,
    from_client: bool,
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        let delay = state.delay_ms.load(Ordering::SeqCst);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        if link.frozen.load(Ordering::SeqCst) {
            // Not even an end passes.
            std::future::pending::<()>().await;
        }
        if read == 0 {
            return;
        }
        if from_client {
            learn_name(link, &buffer[..read]);
            if state.unheard.lock().unwrap().as_ref().is_some_and(|name| link.name.get() == Some(name)) {
                link.frozen.store(true, Ordering::SeqCst);
                continue;
            }
            if link.heard.swap(false, Ordering::SeqCst) {
                link.turns.fetch_add(1, Ordering::SeqCst);
            }
        } else {
            link.heard.store(true, Ordering::SeqCst);
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// A client says its name when it begins.
fn learn_name(link: &Link, bytes: &[u8]) {
    const KEY: &[u8] = b"application_name\0";
    if link.name.get().is_some() {
        return;
    }
    if let Some(at) = bytes.windows(KEY.len()).position(|window| window == KEY) {
        let value = bytes[at + KEY.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
        let _ = link.name.set(String::from_utf8_lossy(value).into_owned());
    }
}
