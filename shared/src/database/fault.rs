//! What an error of the database means: the API and the workers act on the same list.

use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The database is away or refuses sessions; the statement was not wrong.
    Away,
    /// This process has no memory left. The database is well.
    OutOfMemory,
    /// The server takes no writes, or the statement's transaction may not write.
    ReadOnly,
    /// The server ended the statement, by a time-out or a cancellation.
    Interrupted,
    Locked,
    /// A text has characters that the server cannot store.
    Unstorable,
    Other,
}

impl Fault {
    /// Reads the error's kind and, where the server spoke, its SQLSTATE.
    pub fn of(error: &sqlx::Error) -> Self {
        use sqlx::Error::{Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed};

        if let Some(code) = error.as_database_error().and_then(|error| error.code()) {
            return Self::of_code(&code);
        }
        if matches!(error, Io(error) if error.kind() == io::ErrorKind::OutOfMemory) {
            return Self::OutOfMemory;
        }
        let away = matches!(error, Io(_) | PoolTimedOut | PoolClosed | WorkerCrashed | Protocol(_) | Tls(_));
        if away { Self::Away } else { Self::Other }
    }

    fn of_code(code: &str) -> Self {
        match code {
            "25006" => Self::ReadOnly,
            "57014" => Self::Interrupted,
            "55P03" => Self::Locked,
            "22021" | "22P05" => Self::Unstorable,
            // Too many connections.
            "53300" => Self::Away,
            // 08 connection, 57P0x shutdown and crash, 28 wrong account
            _ if ["08", "57P0", "28"].iter().any(|class| code.starts_with(class)) => Self::Away,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_codes_have_their_faults() {
        for (code, fault) in [
            ("08006", Fault::Away),
            ("57P01", Fault::Away),
            ("53300", Fault::Away),
            ("28P01", Fault::Away),
            ("25006", Fault::ReadOnly),
            ("57014", Fault::Interrupted),
            ("55P03", Fault::Locked),
            ("22021", Fault::Unstorable),
            ("53200", Fault::Other),
            ("42703", Fault::Other),
        ] {
            assert_eq!(Fault::of_code(code), fault, "{code}");
        }
    }

    #[test]
    fn a_process_without_memory_does_not_blame_the_database() {
        let no_memory = io::Error::from(io::ErrorKind::OutOfMemory);
        assert_eq!(Fault::of(&sqlx::Error::Io(no_memory)), Fault::OutOfMemory);
        assert_eq!(Fault::of(&sqlx::Error::Io(io::ErrorKind::ConnectionReset.into())), Fault::Away);
        assert_eq!(Fault::of(&sqlx::Error::PoolTimedOut), Fault::Away);
        assert_eq!(Fault::of(&sqlx::Error::RowNotFound), Fault::Other);
    }
}
