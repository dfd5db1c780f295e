//! How our programs begin and end.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Anything that ends a program, as a sentence for its user.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Cancels `stop` on SIGTERM or Ctrl-C; a second signal ends the process at once.
pub fn stop_on_signal(stop: CancellationToken) {
    tokio::spawn(async move {
        wait_for_signal().await;
        tracing::info!("stopping; a second signal stops at once");
        stop.cancel();
        wait_for_signal().await;
        std::process::exit(130);
    });
}

async fn wait_for_signal() {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Turns a program's result into its exit code, and an error into a sentence on standard error.
#[expect(clippy::print_stderr, reason = "logging may be what failed")]
pub fn report(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
