//! The command line: what can be typed, and which command does it.

use std::io::Write;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use vitrina_shared::process::Failure;

use crate::commands::{
    apply, calls, cinema, command, dead_letters, demo, doctor, events, hooks, limits, ls, migrate,
    one_pipeline::OnePipeline, preview, probe, reconcile, replay, run, runs, show, state, steps, targets, up, validate,
    workers,
};

/// Keeps analytic marts fresh: PostgreSQL in, PostgreSQL and Elasticsearch out.
#[derive(Debug, Parser)]
#[command(name = "vitrina", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "From nothing to filled marts: vitrina demo
Everything in one process:    vitrina up

Exit codes: 0 done, 1 failed, 2 wrong usage.")]
pub struct Arguments {
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
    #[command(after_help = "Examples:
  vitrina demo
  vitrina demo --films 1000000 --ratings 5000000
  vitrina demo --keep --addr 127.0.0.1:8080    then, elsewhere: vitrina ls")]
    Demo(demo::Options),
    /// Run the API and workers in one process, until Ctrl-C
    ///
    /// Uses the database of DATABASE_URL, or one of its own in --data-dir. Migrates it first.
    #[command(after_help = "Examples:
  vitrina up
  vitrina up --workers 2 --addr 127.0.0.1:9000 --data-dir /var/tmp/cinema")]
    Up(up::Options),
    /// Run the API
    Api,
    /// Run a worker
    Worker,
    /// Apply migrations to the database of DATABASE_URL, or to the one that `vitrina up` runs in --data-dir, and exit
    Migrate(migrate::Options),
    /// Fill a database with a generated online cinema
    ///
    /// Creates the schemas content and ugc with films, genres, people and ratings, in the database of DATABASE_URL, or
    /// else in the one of --data-dir, where `vitrina up` may be running. Running it again adds what is missing up to
    /// the asked size.
    #[command(after_help = "Examples:
  vitrina cinema
  vitrina cinema --films 100000 --ratings 1000000")]
    Cinema(cinema::Options),
    /// Ask a service whether it is well: 0 if the address answers 200, for health checks of containers
    Probe(probe::Options),

    /// Create or change pipelines from a file, and show what changes
    ///
    /// All problems of all pipelines are reported before anything is written. Applying a file twice changes nothing the
    /// second time. What the file leaves out has its default, but for `enabled`, which stays as it is. Pipelines that are
    /// not in the file stay.
    #[command(after_help = "Examples:
  vitrina apply -f pipelines.yaml --dry-run    show what would change
  vitrina apply -f pipelines.yaml
  generate | vitrina apply -f -
  vitrina apply --schema > pipeline.schema.json

A file:
  pipelines:
    - name: genre_dim
      mode: full
      target_table: analytics.genre_dim
      source_query: select id as genre_id, name, description, modified from content.genre")]
    Apply(apply::Options),
    /// List all problems of a pipeline, or of the pipelines in a file
    #[command(after_help = "Examples:
  vitrina validate film_dim
  vitrina validate -f pipelines.yaml")]
    Validate(validate::Options),
    /// List pipelines
    #[command(after_help = "Examples:
  vitrina ls
  vitrina ls --status FAILED
  vitrina ls --json | jq -r '.items[].name'")]
    Ls(ls::Options),
    /// Show a pipeline: its configuration, status and last run; or a run, by its id
    #[command(
        visible_alias = "status",
        after_help = "Examples:
  vitrina show film_dim
  vitrina show 01a1e344-bb8b-7168-8340-74248f121dfa"
    )]
    Show(OnePipeline),
    /// List the runs of a pipeline, newest first
    #[command(after_help = "Examples:\n  vitrina runs film_dim\n  vitrina runs film_dim --limit 100 --json")]
    Runs(runs::Options),
    /// Show how far a pipeline is written
    #[command(after_help = "Example:\n  vitrina state film_dim")]
    State(OnePipeline),
    /// List live workers
    #[command(after_help = "Example:\n  vitrina workers")]
    Workers(workers::Options),
    /// The steps that plans are made of
    #[command(subcommand)]
    Steps(steps::Command),
    /// List what pipelines may write, or take one off the list
    #[command(after_help = "Examples:\n  vitrina targets\n  vitrina targets --remove analytics.film_titles")]
    Targets(targets::Options),
    /// The functions of the database that hooks of pipelines may call
    ///
    /// With the account that runs `vitrina migrate`: in the database of DATABASE_URL, or else in the one of --data-dir.
    #[command(subcommand)]
    Hooks(hooks::Command),
    /// Limits of calls to services, and the keys that these are made with
    #[command(subcommand)]
    Limits(limits::Command),
    /// Calls to services that are remembered, so that they are not made twice
    #[command(subcommand)]
    Calls(calls::Command),

    /// Run a pipeline, or resume a paused one
    ///
    /// With --wait it shows how far the run is, and ends when the run does: with 1 unless it succeeded. Ctrl-C ends the
    /// waiting and leaves the run alone.
    #[command(after_help = "Examples:
  vitrina run film_dim --wait
  vitrina run film_dim --full --wait           read everything, and remove what is gone from the source
  vitrina run film_dim --idempotency-key nightly-$(date +%F)")]
    Run(run::Options),
    /// Pause a pipeline after its current batch
    #[command(after_help = "Example:\n  vitrina pause film_dim    later: vitrina run film_dim")]
    Pause(OnePipeline),
    /// End a pipeline's unfinished run
    ///
    /// What was written stays, and so does the checkpoint.
    #[command(after_help = "Example:\n  vitrina cancel film_dim")]
    Cancel(OnePipeline),
    /// Forget a pipeline's checkpoint: its next run begins at the beginning
    #[command(after_help = "Example:\n  vitrina reset film_dim")]
    Reset(OnePipeline),
    /// Delete a pipeline with its runs and checkpoint; what it wrote stays
    #[command(after_help = "Example:\n  vitrina delete film_dim")]
    Delete(OnePipeline),
    /// Repeat an earlier run, with its configuration and from where it began
    #[command(after_help = "Example:\n  vitrina again 01a1e344-bb8b-7168-8340-74248f121dfa --wait")]
    Again(run::AgainOptions),

    /// Show rows as they would be written, and write nothing
    #[command(after_help = "Example:\n  vitrina preview film_dim --rows 5")]
    Preview(preview::Options),
    /// Compare a mart with its source
    ///
    /// Ends with 1 if they differ.
    #[command(after_help = "Examples:
  vitrina reconcile film_dim                   numbers of rows, and the range of a column
  vitrina reconcile film_dim --depth keys      and which keys are missing or extra
  vitrina reconcile film_dim --depth rows      and every value
  vitrina reconcile film_dim --depth rows --repair")]
    Reconcile(reconcile::Options),
    /// List rows that could not be written
    #[command(after_help = "Example:\n  vitrina dead-letters film_dim")]
    DeadLetters(dead_letters::Options),
    /// Try rows again that could not be written
    ///
    /// Each as its source has it now. Ends with 1 if some are refused again.
    #[command(after_help = "Examples:\n  vitrina replay film_dim\n  vitrina replay film_dim 17 18")]
    Replay(replay::Options),
    /// Show the log of status changes
    #[command(after_help = "Examples:
  vitrina events                  the newest
  vitrina events film_dim -f      and what happens from now on, until Ctrl-C
  vitrina events -f --json | jq .")]
    Events(events::Options),
    /// Check database, rights, API, workers and Elasticsearch, and say how to fix what is wrong
    ///
    /// Looks at the database of DATABASE_URL, or else at the one of --data-dir. Ends with 1 if something is wrong.
    #[command(after_help = "Examples:
  vitrina doctor
  DATABASE_URL=postgres://vitrina_app:secret@db/cinema vitrina doctor --url https://vitrina.example.org")]
    Doctor(doctor::Options),
    /// Print a script that completes commands in a shell
    #[command(after_help = "Examples:
  vitrina completions bash > ~/.local/share/bash-completion/completions/vitrina
  vitrina completions zsh > ~/.zfunc/_vitrina
  vitrina completions fish > ~/.config/fish/completions/vitrina.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Arguments {
    pub async fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Demo(options) => demo::run(options).await,
            Command::Up(options) => up::run(options).await,
            Command::Api => vitrina_api::run_service().await,
            Command::Worker => vitrina_worker::run_service().await,
            Command::Migrate(options) => migrate::run(options).await,
            Command::Cinema(options) => cinema::run(options).await,
            Command::Probe(options) => probe::run(options).await,
            Command::Apply(options) => apply::run(options).await,
            Command::Validate(options) => validate::run(options).await,
            Command::Ls(options) => ls::run(options).await,
            Command::Show(options) => show::run(options).await,
            Command::Runs(options) => runs::run(options).await,
            Command::State(options) => state::run(options).await,
            Command::Workers(options) => workers::run(options).await,
            Command::Steps(command) => steps::run(command).await,
            Command::Targets(options) => targets::run(options).await,
            Command::Hooks(command) => hooks::run(command).await,
            Command::Limits(command) => limits::run(command).await,
            Command::Calls(command) => calls::run(command).await,
            Command::Run(options) => run::run(options).await,
            Command::Pause(options) => command::run(options, "pause").await,
            Command::Cancel(options) => command::run(options, "cancel").await,
            Command::Reset(options) => command::run(options, "reset").await,
            Command::Delete(options) => command::delete(options).await,
            Command::Again(options) => run::again(options).await,
            Command::Preview(options) => preview::run(options).await,
            Command::Reconcile(options) => reconcile::run(options).await,
            Command::DeadLetters(options) => dead_letters::run(options).await,
            Command::Replay(options) => replay::run(options).await,
            Command::Events(options) => events::run(options).await,
            Command::Doctor(options) => doctor::run(options).await,
            Command::Completions { shell } => print_completions(shell),
        }
    }
}

fn print_completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "vitrina", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}
