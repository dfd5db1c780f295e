//! Settings from the environment, a struct per concern.
//!
//! A program names the structs it needs and reads them at once; if anything is wrong it learns of every wrong
//! variable together, by name and with what the variable takes:
//!
//! ```no_run
//! # use vitrina_shared::config::{self, ApiConfig, ConfigErrors, DatabaseConfig, Env, LogConfig};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! config::load_dotenv()?;
//! let (log, database, api): (LogConfig, DatabaseConfig, ApiConfig) = Env::from_process().read()?;
//! # Ok(())
//! # }
//! ```
//!
//! A variable that is empty counts as unset. Secrets never appear in `Debug`, `Display` or an error.

mod api;
mod database;
mod dotenv;
mod elasticsearch;
mod env;
mod keys;
mod log;
mod metrics_token;
mod python;
mod secret;
mod source;
mod tokens;
mod unknown;
mod worker;

use crate::process::printable;

pub use api::ApiConfig;
pub use database::{DatabaseConfig, DatabaseUrl, DatabaseUrlError, OptionalDatabaseConfig};
pub use dotenv::{DotenvError, is_from_dotenv};
pub use elasticsearch::{Credentials, ElasticsearchConfig, ElasticsearchUrl, ElasticsearchUrlError};
pub use env::{ConfigErrors, Env, FromEnv, SettingProblem};
pub use keys::{Keys, fingerprint};
pub use log::{LogConfig, LogFormat};
pub use metrics_token::MetricsToken;
pub use python::PythonConfig;
pub use secret::Secret;
pub use source::SourceConfig;
pub use tokens::{Principal, Role, Tokens, bearer};
pub use worker::{DRAIN, Retention, WorkerConfig};

/// All settings of all programs.
type Everything = (OptionalDatabaseConfig, ApiConfig, WorkerConfig, LogConfig, SourceConfig);

/// Takes the settings of `./.env` into this process, and warns of variables that only look like settings.
///
/// Call it first in `main`, before other threads may read the environment.
#[expect(clippy::print_stderr, reason = "logging is not set up yet")]
pub fn load_dotenv() -> Result<(), DotenvError> {
    dotenv::load_dotenv()?;
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    unknown::sentences(names).iter().for_each(|sentence| eprintln!("warning: {}", printable(sentence)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `.env.sample` that set a variable, uncommented, but for those that only show a form.
    fn sample() -> Vec<(String, String)> {
        let lines = include_str!("../../.env.sample").lines();
        let settings = lines.filter_map(|line| line.strip_prefix('#')).filter(|line| !line.starts_with(' '));
        let text = settings.filter(|line| !line.contains("SECRET") && !line.contains("PASSWORD")).collect::<Vec<_>>();
        let pairs = dotenvy::from_read_iter(std::io::Cursor::new(text.join("\n")));
        pairs.map(|pair| pair.expect("NAME=value")).collect()
    }

    #[test]
    fn the_sample_shows_the_defaults() {
        let sampled: Everything = Env::from_pairs(sample()).read().expect("the sample is right");
        let default: Everything = Env::from_pairs::<&str, &str>([]).read().expect("the defaults are right");
        assert_eq!(format!("{sampled:?}"), format!("{default:?}"));
    }

    #[test]
    fn the_sample_names_every_variable() {
        let text = include_str!("../../.env.sample");
        for name in unknown::settings() {
            assert!(text.lines().any(|line| line.starts_with(&format!("#{name}="))), "{name}");
        }
    }
}
