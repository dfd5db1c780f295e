//! `vitrina`.

use std::process::ExitCode;

use clap::Parser;
use vitrina::arguments::Arguments;
use vitrina_shared::{
    config,
    process::{self, Failure},
};

fn main() -> ExitCode {
    // Before there are threads that could read the environment, and after what needs none of it: `--help`.
    let arguments = Arguments::parse();
    process::report(config::load_dotenv().map_err(Failure::from).and_then(|_| run(arguments)))
}

#[tokio::main]
async fn run(arguments: Arguments) -> Result<(), Failure> {
    // On the heap: the largest command's future is large.
    Box::pin(arguments.run()).await
}
