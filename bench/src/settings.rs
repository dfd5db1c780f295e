//! What is asked for, by options or by the variables of `make bench`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measures Vitrina beside bare SQL. Run it with `make bench` or `make bench-api`.
#[derive(Debug, Parser)]
#[command(name = "vitrina-bench")]
pub struct Arguments {
    /// What to measure.
    #[command(subcommand)]
    pub measure: Measure,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum Measure {
    /// Loads, wake-ups, chains and memory of a worker
    Load(Settings),
    /// Throughput of the REST API, with wrk
    Api(ApiSettings),
}

/// A server to measure on, and the program to measure.
#[derive(Debug, Clone, Args)]
pub struct Setup {
    /// A throwaway server, as its superuser
    #[arg(long, env = "VITRINA_TEST_DATABASE_URL", value_name = "URL")]
    pub database_url: String,
    /// The program `vitrina` [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Where results and the services' logs go
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct Settings {
    #[command(flatten)]
    pub setup: Setup,
    /// Rows of content.film_work
    #[arg(long, env = "FILMS", value_name = "N", default_value_t = 1_000_000)]
    pub films: u32,
    /// Rows of ugc.ratings
    #[arg(long, env = "RATINGS", value_name = "N", default_value_t = 5_000_000)]
    pub ratings: u32,
    /// How often each load is measured; the median counts
    #[arg(long, env = "REPEATS", value_name = "N", default_value_t = 3)]
    pub repeats: u32,
    /// Spaced requests whose wake-up is measured
    #[arg(long, env = "WAKEUPS", value_name = "N", default_value_t = 500)]
    pub wakeups: u32,
    /// A throwaway node of Elasticsearch, for the part `elasticsearch`
    #[arg(long, env = "VITRINA_TEST_ELASTICSEARCH_URL", value_name = "URL")]
    pub elasticsearch_url: Option<String>,
    /// What to measure; `elasticsearch` and `steps` are more
    #[arg(
        long,
        env = "PARTS",
        value_delimiter = ',',
        default_value = "loads,ratings,wakeups,chain,neighbours,memory,reconcile,scrape"
    )]
    pub parts: Vec<Part>,
}

#[derive(Debug, Args)]
pub struct ApiSettings {
    #[command(flatten)]
    pub setup: Setup,
    /// Connections of the client, and of the pool that is compared with
    #[arg(long, env = "CONNECTIONS", value_name = "N", default_value_t = 16)]
    pub connections: u32,
    /// How long each measurement takes
    #[arg(long, env = "SECONDS_EACH", value_name = "N", default_value_t = 10)]
    pub seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// First loads, repeated loads and loads of changes, beside bare SQL.
    Loads,
    /// `film_rating_agg` with one per cent of the ratings changed.
    Ratings,
    /// From a request to the worker, one by one and in a burst.
    Wakeups,
    /// Batches of one row, one after the other.
    Chain,
    /// Comparing a mart with its source, and repairing what differs.
    Reconcile,
    /// Prometheus asking an API with 500 pipelines, and what recording costs a batch.
    Scrape,
    /// A load beside a pipeline that fails at every batch.
    Neighbours,
    /// Films into an index, beside a bare bulk loop.
    Elasticsearch,
    /// Films through steps in Rust and Python, beside a plain loop in Python.
    Steps,
    /// What the worker holds in memory after all that, and with rows of a megabyte.
    Memory,
}
