//! A network between the API and its database that can be cut.

use std::net::SocketAddr;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Forwards to the test server until it is cut.
pub struct Proxy {
    addr: SocketAddr,
    up: watch::Sender<bool>,
    frozen: watch::Sender<u32>,
}

impl Proxy {
    /// Stands before the server of this address.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (up, state) = watch::channel(true);
        let frozen = watch::Sender::new(0);
        let freezes = frozen.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, server, state.clone(), freezes.subscribe()));
            }
        });
        Self { addr, up, frozen }
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Ends all connections and every new one at once.
    pub fn cut(&self) {
        self.up.send_replace(false);
    }

    /// Makes all connections silent: nothing passes, and neither side is closed. New ones pass.
    pub fn freeze(&self) {
        self.frozen.send_modify(|times| *times += 1);
    }

    /// Forwards again.
    pub fn restore(&self) {
        self.up.send_replace(true);
    }
}

async fn forward(
    mut client: TcpStream,
    server: SocketAddr,
    mut up: watch::Receiver<bool>,
    mut frozen: watch::Receiver<u32>,
) {
    if !*up.borrow() {
        return;
    }
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        () = async { drop(up.wait_for(|up| !up).await) } => {}
        _ = frozen.changed() => std::future::pending().await,
    }
}
