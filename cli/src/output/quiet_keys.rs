//! A terminal that does not echo Ctrl-C.
//!
//! The `^C` would be printed into a bar and push it to the next line, where it would be drawn again.

use std::io::{IsTerminal, stdin};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// As long as it lives, control keys work and are not shown. Does nothing where there is no terminal.
pub struct QuietKeys(Option<Termios>);

impl QuietKeys {
    /// Keeps the terminal's settings, to restore them on drop.
    pub fn hold() -> Self {
        let before = stdin().is_terminal().then(|| tcgetattr(stdin()).ok()).flatten();
        if let Some(mut quiet) = before.clone() {
            quiet.local_modes.remove(LocalModes::ECHOCTL);
            // A failure affects only the looks.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &quiet);
        }
        Self(before)
    }
}

impl Drop for QuietKeys {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}
