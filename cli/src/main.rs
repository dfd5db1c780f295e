//! `vitrina`.

use std::process::ExitCode;

use clap::Parser;
use vitrina::{arguments::Arguments, commands};
use vitrina_shared::process;

#[tokio::main]
async fn main() -> ExitCode {
    process::report(commands::run(Arguments::parse()).await)
}
