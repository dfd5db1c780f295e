//! One process at a time: a lock that the system releases with the process that holds it, however that ends.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};

use super::error::{EmbeddedPostgresError, EmbeddedResult, files};
use super::home::ServerFiles;

/// Holds the lock as long as it lives.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

impl Lock {
    /// Takes the lock and writes our process id, or returns the holder.
    pub(super) fn take(home: &ServerFiles) -> EmbeddedResult<Self> {
        let path = home.directory.join("vitrina.lock");
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(files("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = holder_noted_in(&mut file);
                return Err(EmbeddedPostgresError::InUse { data_dir: home.data_dir.clone(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(files("lock", &path)(error)),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(files("write", &path))?;
        Ok(Self(file))
    }
}

fn holder_noted_in(file: &mut File) -> String {
    let mut noted = String::new();
    match file.read_to_string(&mut noted) {
        Ok(_) if !noted.trim().is_empty() => format!("process {}", noted.trim()),
        Ok(_) | Err(_) => "another process".to_owned(),
    }
}
