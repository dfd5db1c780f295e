//! The `.env` file of the working directory.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The prefixes of settings that are read from the file. A file in the working directory must not choose proxies, trusted
/// certificates, or libraries that are loaded into programs that we start.
const OURS: &[&str] = &["VITRINA_", "DATABASE_URL", "ELASTICSEARCH_URL", "OTEL_", "PG", "NO_COLOR", "RUST_BACKTRACE"];

/// The names of variables that came from the file.
static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Why the `.env` file was not read. Names the place, never the content: the file holds secrets.
#[derive(Debug, thiserror::Error)]
pub enum DotenvError {
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "{} line {line} is not of the form NAME=value (put a value with spaces or special characters into quotes)",
        path.display()
    )]
    Line {
        path: PathBuf,
        /// The number of the wrong line, from 1.
        line: usize,
    },
}

/// Whether a variable came from the file. A directory's file is less to be trusted than what the user has set.
pub fn is_from_dotenv(name: &str) -> bool {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
}

/// Takes the settings of `./.env`, if there is one, into this process; those already set stay as they are.
///
/// Call it first in `main`, before other threads may read the environment. Returns whether there was a file.
pub fn load_dotenv() -> Result<bool, DotenvError> {
    load(Path::new(".env"))
}

fn load(path: &Path) -> Result<bool, DotenvError> {
    let unreadable = |source| DotenvError::Unreadable { path: path.to_owned(), source };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unreadable(error)),
    };
    check(&text).map_err(|line| DotenvError::Line { path: path.to_owned(), line })?;
    let text = text.trim_start_matches('\u{feff}');
    let pairs: Vec<_> = dotenvy::from_read_iter(text.as_bytes()).flatten().collect();
    let (ours, others): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(name, _)| is_ours(name));
    let new = ours.iter().map(|(name, _)| name).filter(|name| std::env::var_os(name).is_none()).cloned();
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
    let written: String = ours.iter().map(written).collect();
    let text = if others.is_empty() { text } else { written.as_str() };
    dotenvy::from_read(text.as_bytes()).map_err(|error| unreadable(io::Error::other(error)))?;
    Ok(true)
}

fn is_ours(name: &str) -> bool {
    OURS.iter().any(|beginning| name.starts_with(beginning))
}

/// A line of the file, whatever the value contains.
fn written((name, value): &(String, String)) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
    format!("{name}=\"{value}\"\n")
}

/// Finds the first wrong line, before any variable is taken.
fn check(text: &str) -> Result<(), usize> {
    let text = text.trim_start_matches('\u{feff}');
    for item in dotenvy::from_read_iter(text.as_bytes()) {
        if let Err(error) = item {
            return Err(line_number(text, &error));
        }
    }
    Ok(())
}

fn line_number(text: &str, error: &dotenvy::Error) -> usize {
    let dotenvy::Error::LineParse(wrong, _) = error else {
        return 1;
    };
    let wrong = wrong.lines().next().unwrap_or_default().trim();
    text.lines().position(|line| line.trim() == wrong).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vitrina-dotenv-{name}-{}", std::process::id()));
        std::fs::write(&path, text).expect("a file in the temporary directory");
        path
    }

    #[test]
    fn a_missing_file_is_no_error() {
        assert!(matches!(load(Path::new("/nonexistent/.env")), Ok(false)));
    }

    #[test]
    fn variables_are_taken_unless_they_are_set_already() {
        let path = file("good", "\u{feff}# settings\nVITRINA_TEST_DOTENV=\"a\nb\"\nPATH=/nowhere\n");
        assert!(load(&path).expect("a good file"));
        std::fs::remove_file(path).expect("the file goes");
        assert_eq!(std::env::var("VITRINA_TEST_DOTENV").as_deref(), Ok("a\nb"));
        assert_ne!(std::env::var("PATH").as_deref(), Ok("/nowhere"));
        assert!(is_from_dotenv("VITRINA_TEST_DOTENV") && !is_from_dotenv("PATH"));
    }

    #[test]
    fn only_settings_of_ours_are_taken_and_it_is_known_which() {
        let value = r#"a "b" \'c' ${PATH} $d #e"#;
        let quoted = r#""a \"b\" \\'c' \${PATH} \$d #e""#;
        let text =
            format!("HTTPS_PROXY=http://h:1\nLD_PRELOAD=/x\nVITRINA_TEST_DOTENV_OURS={quoted}\nVITRINA_TEST_EMPTY=\n");
        let path = file("ours", &text);
        assert!(load(&path).expect("a good file"));
        std::fs::remove_file(path).expect("the file goes");
        assert_eq!(std::env::var("VITRINA_TEST_DOTENV_OURS").as_deref(), Ok(value));
        assert_eq!(std::env::var("VITRINA_TEST_EMPTY").as_deref(), Ok(""));
        assert!(std::env::var_os("LD_PRELOAD").is_none());
        assert!(is_from_dotenv("VITRINA_TEST_DOTENV_OURS") && !is_from_dotenv("LD_PRELOAD") && !is_from_dotenv("PATH"));
    }

    #[test]
    fn a_wrong_line_is_named_by_number_and_its_text_is_not_shown() {
        for (text, line) in [("A=1\n\nB 2hidden\n", 3), ("A=1\nB=\"hidden\nC=3\n", 2), ("A=x hidden\n", 1)] {
            let path = file(&format!("wrong-{line}"), text);
            let sentence = load(&path).expect_err(text).to_string();
            std::fs::remove_file(&path).expect("the file goes");
            assert!(sentence.starts_with(&format!("{} line {line} is not", path.display())), "{sentence}");
            assert!(!sentence.contains("hidden"), "{sentence}");
        }
    }

    #[test]
    fn a_wrong_line_keeps_the_good_ones_from_being_taken() {
        let path = file("half", "VITRINA_TEST_DOTENV_HALF=1\nnonsense\n");
        assert!(load(&path).is_err());
        std::fs::remove_file(path).expect("the file goes");
        assert!(std::env::var_os("VITRINA_TEST_DOTENV_HALF").is_none());
    }
}
