//! Small files that are either whole or absent, and the end of a long one.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use uuid::Uuid;

use super::error::{EmbeddedResult, files};

/// A directory with this file in it is a cluster.
pub(super) const CONTROL_FILE: &str = "global/pg_control";

const QUOTED_LINES: usize = 15;
const QUOTED_BYTES: u64 = 16 * 1024;

pub(super) fn is_cluster(directory: &Path) -> bool {
    directory.join(CONTROL_FILE).exists()
}

/// Writes a file that only we can read. A crash leaves the old content or the new one, never a part.
pub(super) fn write_whole(path: &Path, content: &str) -> EmbeddedResult<()> {
    let draft = path.with_added_extension("draft");
    let write = || {
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(files("write", path))
}

/// Reads a password, `None` where there is none yet.
pub(super) fn read_password(path: &Path) -> EmbeddedResult<Option<String>> {
    match fs::read_to_string(path) {
        Ok(password) => Ok(Some(password.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(files("read", path)(error)),
    }
}

/// Reads a password or makes one up: random, and safe in a URL.
pub(super) fn read_or_create_password(path: &Path) -> EmbeddedResult<String> {
    if let Some(password) = read_password(path)? {
        return Ok(password);
    }
    let password = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    write_whole(path, &password)?;
    Ok(password)
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(directory: &Path) -> EmbeddedResult<()> {
    File::open(directory).and_then(|opened| opened.sync_all()).map_err(files("sync", directory))
}

/// The last lines of what was written to a log after its first `start` bytes.
pub(super) fn tail(log: &Path, start: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let near_end = file.metadata()?.len().saturating_sub(QUOTED_BYTES);
        file.seek(SeekFrom::Start(start.max(near_end)))?;
        let mut bytes = Vec::new();
        file.take(QUOTED_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    last_lines(&read().unwrap_or_default())
}

pub(super) fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}
