//! `vitrina completions`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;
use vitrina_shared::process::Failure;

use crate::arguments::Arguments;

pub(super) fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "vitrina", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}
