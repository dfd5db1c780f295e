//! Measures Vitrina beside bare SQL on the same server: `make bench` and `make bench-api`.
//!
//! Everything is compared within one run, because only ratios mean something on a machine with other load.
//! Reading order: `settings` (what is asked for), `stage` (a filled database and real services on it), then a file per
//! part of the measurement, and `report` (samples in, medians and ratios out).

mod api;
mod bare;
mod chain;
mod client;
mod elasticsearch;
mod films;
mod loads;
mod memory;
mod neighbours;
mod ratings;
mod reconcile;
mod report;
mod scrape;
mod services;
mod settings;
mod stage;
mod steps;
mod wakeups;

use std::process::ExitCode;

use clap::Parser;

use crate::settings::{Arguments, Measure, Part, Settings};

/// A benchmark ends at its first error, whatever that is.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.measure {
        Measure::Load(settings) => load(settings).await,
        Measure::Api(settings) => api::measure(&settings).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(&format!("failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// All parts, one after the other, and one table at the end.
async fn load(settings: Settings) -> Outcome<()> {
    let mut report = report::Report::create(&settings.setup.out)?;
    let mut stage = stage::Stage::set(&settings).await?;
    for part in &settings.parts {
        report::say(&format!("measuring {part:?}, load average {}", report::load_average()));
        match part {
            Part::Loads => loads::measure(&mut stage, &settings, &mut report).await?,
            Part::Ratings => ratings::measure(&mut stage, &settings, &mut report).await?,
            Part::Wakeups => wakeups::measure(&mut stage, &settings, &mut report).await?,
            Part::Chain => chain::measure(&mut stage, &settings, &mut report).await?,
            Part::Reconcile => reconcile::measure(&mut stage, &settings, &mut report).await?,
            Part::Scrape => scrape::measure(&mut stage, &settings, &mut report).await?,
            Part::Neighbours => neighbours::measure(&mut stage, &settings, &mut report).await?,
            Part::Elasticsearch => elasticsearch::measure(&mut stage, &settings, &mut report).await?,
            Part::Steps => steps::measure(&mut stage, &settings, &mut report).await?,
            Part::Memory => memory::measure(&mut stage, &mut report).await?,
        }
        // The parts write the same marts, by queries that exclude each other.
        stage.execute(&["update etl.etl_pipelines set enabled = false"]).await?;
    }
    report.finish()
}
