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
            eprintln!("error: {}", printable(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// Text from elsewhere without characters that would steer the terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if steers_a_terminal(c) { '\u{fffd}' } else { c }).collect()
}

/// Whether a terminal does something else with a character than show it: controls, and what turns the direction of writing.
/// New lines and tabs are shown.
pub fn steers_a_terminal(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\tc\nd\re\u{9b}f\u{202e}"), "a\u{fffd}[2Jb\tc\nd\u{fffd}e\u{fffd}f\u{fffd}");
    }
}
