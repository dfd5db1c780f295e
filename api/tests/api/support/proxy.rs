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
}

impl Proxy {
    /// Stands before the server of this address.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (up, state) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, server, state.clone()));
            }
        });
        Self { addr, up }
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Ends all connections and every new one at once.
    pub fn cut(&self) {
        self.up.send_replace(false);
    }

    /// Forwards again.
    pub fn restore(&self) {
        self.up.send_replace(true);
    }
}

async fn forward(mut client: TcpStream, server: SocketAddr, mut up: watch::Receiver<bool>) {
    if !*up.borrow() {
        return;
    }
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = up.wait_for(|up| !up) => {}
    }
}
