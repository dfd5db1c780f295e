//! A terminal that does not echo Ctrl-C.
//!
//! The `^C` would stand where a bar is drawn and push it to the next line, where it is drawn once more.

use std::io::{IsTerminal, stdin};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// As long as it lives, control keys work and are not shown. Does nothing where there is no terminal.
pub struct QuietKeys(Option<Termios>);

impl QuietKeys {
    /// Takes the terminal as it is, to be given back so.
    pub fn hold() -> Self {
        let before = stdin().is_terminal().then(|| tcgetattr(stdin()).ok()).flatten();
        if let Some(mut quiet) = before.clone() {
            quiet.local_modes.remove(LocalModes::ECHOCTL);
            // Only looks suffer if it does not work.
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
