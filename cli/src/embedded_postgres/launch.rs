//! Getting the server to run: adopting one that was left running, or starting one on a free port.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tracing::{info, warn};

use super::error::{EmbeddedPostgresError, EmbeddedResult};
use super::files::{tail, write_whole};
use super::home::ServerFiles;
use super::installation::Installation;
use super::postmaster::{GLANCE, Postmaster};

/// Long, since after a crash a server replays its log first, and must not be interrupted in that.
const READY_WITHIN: Duration = Duration::from_secs(300);
const NEWS_EVERY: Duration = Duration::from_secs(5);
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(500);

/// Returns a server that accepts connections, and its port.
pub(super) async fn adopt_or_start(
    home: &ServerFiles,
    installation: &Installation,
) -> EmbeddedResult<(Postmaster, u16)> {
    let (postmaster, port) = match adopt(home).await? {
        Some(adopted) => adopted,
        None => start(home, installation).await?,
    };
    write_whole(&home.port(), &port.to_string())?;
    Ok((postmaster, port))
}

/// `None` if no server was left running, or if it was about to end.
async fn adopt(home: &ServerFiles) -> EmbeddedResult<Option<(Postmaster, u16)>> {
    let Some(mut postmaster) = Postmaster::left_running(&home.cluster()) else {
        return Ok(None);
    };
    let port = ready(&mut postmaster, home).await?;
    if let Some(port) = port {
        info!(port, "adopted the postgresql that an earlier vitrina left running");
    }
    Ok(port.map(|port| (postmaster, port)))
}

async fn start(home: &ServerFiles, installation: &Installation) -> EmbeddedResult<(Postmaster, u16)> {
    let mut wanted = preferred_port(home)?;
    let mut said = String::new();
    for _ in 0..ATTEMPTS {
        let log_start = fs::metadata(home.log()).map_or(0, |log| log.len());
        let mut postmaster = Postmaster::spawn(home, installation, wanted)?;
        if let Some(port) = ready(&mut postmaster, home).await? {
            return Ok((postmaster, port));
        }
        said = tail(&home.log(), log_start);
        if said.contains("Address already in use") {
            // Another process took the port after we had found it free.
            wanted = any_free_port()?;
        } else if said.contains("is still in use") {
            // The main process was killed, but other processes of the same server still work.
            sleep(PAUSE).await;
        } else {
            break;
        }
        warn!(port = wanted, "trying again to start postgresql");
    }
    Err(EmbeddedPostgresError::Ended { log: home.log(), tail: said })
}

/// Waits until the server accepts connections and returns its port, or `None` if it ended instead.
async fn ready(postmaster: &mut Postmaster, home: &ServerFiles) -> EmbeddedResult<Option<u16>> {
    let asked = Instant::now();
    let mut news_due = NEWS_EVERY;
    while postmaster.is_alive() {
        if let Some(port) = postmaster.ready_port() {
            return Ok(Some(port));
        }
        if asked.elapsed() > READY_WITHIN {
            let (seconds, log) = (READY_WITHIN.as_secs(), home.log());
            return Err(EmbeddedPostgresError::NotReady { seconds, tail: tail(&log, 0), log });
        }
        if asked.elapsed() > news_due {
            news_due += NEWS_EVERY;
            info!(log = %home.log().display(), "waiting for postgresql to get ready");
        }
        sleep(GLANCE).await;
    }
    Ok(None)
}

/// The port of the last start, so that noted addresses keep working, or another one if that is in use.
fn preferred_port(home: &ServerFiles) -> EmbeddedResult<u16> {
    let last = fs::read_to_string(home.port()).ok().and_then(|text| text.trim().parse().ok());
    match last {
        Some(port) if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() => Ok(port),
        Some(_) | None => any_free_port(),
    }
}

fn any_free_port() -> EmbeddedResult<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|source| EmbeddedPostgresError::Port { source })
}
