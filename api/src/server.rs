//! The listening server: bound first, so that a taken port is an error at start and not later.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use salvo::{
    Listener, Server as SalvoServer,
    conn::{Acceptor, TcpListener, tcp::TcpAcceptor},
    fuse::FuseConfig,
};
use tokio::time::timeout;
use vitrina_shared::{metrics, rights, store::backends::Reason};

use crate::{app::App, router};

/// How long requests in flight may take to finish when the process stops.
pub const DRAIN: Duration = Duration::from_secs(5);
/// How long connections may take to close after that.
const LAST_MOMENT: Duration = Duration::from_secs(2);
/// Headers a request may have, and the bytes they may take together.
const MAX_HEADERS: usize = 64;
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// Why the API could not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Most often another program has the port.
    #[error("cannot listen on {addr}: {reason}; choose another address with VITRINA_ADDR or --addr")]
    Bind { addr: SocketAddr, reason: String },
    #[error("the server ended: {0}")]
    Serve(#[from] std::io::Error),
}

/// An API that has its port.
pub struct Server {
    acceptor: TcpAcceptor,
    app: Arc<App>,
}

impl Server {
    /// Takes the configured address.
    pub async fn bind(app: App) -> Result<Self, ServeError> {
        let addr = app.config.addr;
        let acceptor = TcpListener::new(addr)
            .try_bind()
            .await
            .map_err(|error| ServeError::Bind { addr, reason: error.to_string() })?;
        Ok(Self { acceptor, app: Arc::new(app) })
    }

    /// The address it listens on, with the port that the system chose where 0 was asked for.
    pub fn addr(&self) -> SocketAddr {
        let listening = self.acceptor.holdings().first().and_then(|holding| holding.local_addr.clone().into_std());
        listening.unwrap_or(self.app.config.addr)
    }

    /// Serves until the application's stop token is cancelled, then lets requests in flight finish.
    pub async fn run(self) -> Result<(), ServeError> {
        metrics::recorder();
        // Prometheus counts an increase only from a value that it has scraped before.
        for reason in Reason::ALL {
            ::metrics::counter!(metrics::CANCELLED_STATEMENTS, "reason" => reason.as_str()).increment(0);
        }
        let addr = self.addr();
        let service = router::service(&self.app);
        let mut server = SalvoServer::new(self.acceptor).fuse_config(FuseConfig::default());
        server.http1_mut().max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD_BYTES);
        let (handle, stop) = (server.handle(), self.app.stop.clone());
        tokio::spawn(async move {
            stop.cancelled().await;
            handle.stop_graceful(DRAIN);
        });
        tracing::info!(%addr, "api listening");
        rights::warn_when_connected(self.app.db(), self.app.stop.clone());
        let (db, stop) = (self.app.db.clone(), self.app.stop.clone());
        tokio::spawn(async move { db.replace_when_stuck(&stop).await });
        server.try_serve(service).await?;
        // A silent connection would delay the close for ever.
        let closed = async {
            self.app.db().close().await;
            self.app.describing.close().await;
        };
        let _ = timeout(LAST_MOMENT, closed).await;
        tracing::info!("api stopped");
        Ok(())
    }
}
