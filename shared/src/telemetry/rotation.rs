//! A log file that does not grow for ever: past its size it is set aside as `vitrina.log.1`, the one before that as
//! `.2`, and so on; the oldest is removed.
//!
//! A line is written whole into one file. Several processes may share a file: the process that finds it too large sets it
//! aside, and the others follow when their own count is past the limit.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that is written to by one line at a time.
#[derive(Debug)]
pub(super) struct RotatingFile {
    path: PathBuf,
    max_bytes: u64,
    keep: u32,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// How large the file is, as far as this process knows.
    bytes: u64,
}

impl RotatingFile {
    /// Opens the file to append to it, and makes its directory.
    pub(super) fn open(path: &Path, max_bytes: u64, keep: u32) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let open = Mutex::new(Open::at(path)?);
        Ok(Self { path: path.to_owned(), max_bytes, keep, open })
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.current().file.sync_all()
    }

    /// A line is whole or not there: a panic while it is written spoils nothing.
    fn current(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_line(&self, line: &[u8]) -> io::Result<()> {
        let mut open = self.current();
        let bytes = line.len() as u64;
        if open.bytes > 0 && open.bytes + bytes > self.max_bytes {
            // A log that cannot be set aside goes on growing: better than none.
            let _ = self.rotate(&mut open);
        }
        open.bytes += bytes;
        open.file.write_all(line)
    }

    fn rotate(&self, open: &mut Open) -> io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|there| is_same(&there, open)) {
            for number in (1..self.keep).rev() {
                let _ = fs::rename(self.numbered(number), self.numbered(number + 1));
            }
            if self.keep > 0 {
                fs::rename(&self.path, self.numbered(1))?;
            } else {
                fs::remove_file(&self.path)?;
            }
        }
        *open = Open::at(&self.path)?;
        Ok(())
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        name.into()
    }
}

impl Open {
    fn at(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }
}

/// Whether the file at the path is the one that we write to: another process may have set ours aside.
#[cfg(unix)]
fn is_same(there: &Metadata, open: &Open) -> bool {
    use std::os::unix::fs::MetadataExt;
    open.file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn is_same(_there: &Metadata, _open: &Open) -> bool {
    true
}

impl Write for &RotatingFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_line(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct LogDirectory(PathBuf);

    impl LogDirectory {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("vitrina-rotation-{name}-{}", std::process::id())))
        }

        fn log(&self) -> PathBuf {
            self.0.join("deep/vitrina.log")
        }

        /// What the files hold, the current one first.
        fn held(&self) -> Vec<String> {
            let log = self.log();
            let numbered = (1..10).map(|number| format!("{}.{number}", log.display()));
            let all = std::iter::once(log.display().to_string()).chain(numbered);
            all.map_while(|path| fs::read_to_string(path).ok()).collect()
        }
    }

    impl Drop for LogDirectory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write(mut file: &RotatingFile, line: &str) {
        file.write_all(line.as_bytes()).expect("a line");
    }

    #[test]
    fn a_full_file_is_set_aside_and_the_oldest_goes() {
        let place = LogDirectory::new("full");
        let file = RotatingFile::open(&place.log(), 10, 2).expect("a file");
        for line in ["one\n", "two\n", "three\n", "four\n", "five\n", "six\n", "seven\n"] {
            write(&file, line);
        }
        assert_eq!(place.held(), ["six\nseven\n", "four\nfive\n", "three\n"].map(str::to_owned));
    }

    #[test]
    fn a_restart_goes_on_with_the_file_that_is_there() {
        let place = LogDirectory::new("restart");
        for line in ["one\n", "two\n", "three\n"] {
            write(&RotatingFile::open(&place.log(), 10, 1).expect("a file"), line);
        }
        assert_eq!(place.held(), ["three\n", "one\ntwo\n"].map(str::to_owned));
    }

    #[test]
    fn a_line_that_is_longer_than_a_file_is_written_whole() {
        let place = LogDirectory::new("long");
        let file = RotatingFile::open(&place.log(), 10, 3).expect("a file");
        for line in ["a line of its own\n", "short\n"] {
            write(&file, line);
        }
        assert_eq!(place.held(), ["short\n", "a line of its own\n"].map(str::to_owned));
    }

    #[test]
    fn a_process_follows_when_another_has_set_their_file_aside() {
        let place = LogDirectory::new("shared");
        let [first, second] = [(); 2].map(|()| RotatingFile::open(&place.log(), 10, 5).expect("a file"));
        for line in ["one\n", "two\n"] {
            write(&first, line);
            write(&second, line);
        }
        write(&first, "three\n");
        write(&second, "four\n");
        let held = place.held();
        let lines: Vec<&str> = held.iter().flat_map(|text| text.lines()).collect();
        assert_eq!(lines.len(), 6, "no line is lost: {held:?}");
        assert!(held.len() >= 2 && held[0].lines().all(|line| line == "three" || line == "four"), "{held:?}");
    }
}
