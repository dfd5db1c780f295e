//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Keeps analytic marts fresh: PostgreSQL in, PostgreSQL and Elasticsearch out.
#[derive(Debug, Parser)]
#[command(name = "vitrina", version, propagate_version = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// From nothing to filled marts: database, cinema, pipelines, runs, and a check of every row
    ///
    /// Uses the database of DATABASE_URL, or one of its own in --data-dir. Ends with 0 only if every mart equals its
    /// source.
    Demo(DemoArguments),
    /// Run the API and workers in one process, until Ctrl-C
    ///
    /// Uses the database of DATABASE_URL, or one of its own in --data-dir. Migrates it first.
    Up(UpArguments),
    /// Run the API
    Api,
    /// Run a worker
    Worker,
    /// Apply migrations to the database of DATABASE_URL and exit
    Migrate,
    /// Fill the database of DATABASE_URL with a generated online cinema
    ///
    /// Creates the schemas content and ugc with films, genres, people and ratings. Running it again adds what is
    /// missing up to the asked size.
    Cinema(CinemaArguments),
    /// Ask a service whether it is well: 0 if the address answers 200, for health checks of containers
    Probe(ProbeArguments),
}

/// Options of `up`.
#[derive(Debug, Args)]
pub struct UpArguments {
    /// Where the API listens [default: VITRINA_ADDR or 127.0.0.1:8080]
    #[arg(long, value_name = "HOST:PORT")]
    pub addr: Option<String>,
    /// Workers in this process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub workers: u16,
    /// Where the embedded PostgreSQL lives
    #[arg(long, value_name = "DIR", default_value = ".vitrina")]
    pub data_dir: PathBuf,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// How many films there should be
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub films: u32,
    /// How many ratings there should be
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub ratings: u32,
    /// Print one line of JSON at the end instead of text
    #[arg(long)]
    pub json: bool,
    /// Stay up afterwards, until Ctrl-C
    #[arg(long)]
    pub keep: bool,
    /// Where the API listens [default: VITRINA_ADDR, or a free port of 127.0.0.1]
    #[arg(long, value_name = "HOST:PORT")]
    pub addr: Option<String>,
    /// Where the embedded PostgreSQL lives
    #[arg(long, value_name = "DIR", default_value = ".vitrina")]
    pub data_dir: PathBuf,
}

/// Options of `cinema`.
#[derive(Debug, Args)]
pub struct CinemaArguments {
    /// How many films there should be
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub films: u32,
    /// How many ratings there should be
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub ratings: u32,
}

/// Options of `probe`.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// What to ask, for instance http://127.0.0.1:8080/ready
    pub url: String,
}
