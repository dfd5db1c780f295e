//! What the environment says, a struct per concern.
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
mod log;
mod secret;
mod source;
mod tokens;
mod worker;

pub use api::ApiConfig;
pub use database::{DatabaseConfig, DatabaseUrl, DatabaseUrlError, OptionalDatabaseConfig};
pub use dotenv::{DotenvError, load_dotenv};
pub use elasticsearch::{Credentials, ElasticsearchConfig, ElasticsearchUrl, ElasticsearchUrlError};
pub use env::{ConfigErrors, Env, FromEnv, Problem};
pub use log::{LogConfig, LogFormat};
pub use secret::Secret;
pub use source::SourceConfig;
pub use tokens::{Principal, Role, Tokens};
pub use worker::WorkerConfig;
