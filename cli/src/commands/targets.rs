//! `vitrina targets`.

use clap::Args;
use vitrina_shared::process::Failure;

use crate::{
    client::{Connection, List, Target},
    output::{Format, Table, time},
};

/// Options of `targets`.
#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(super) async fn run(options: Options) -> Result<(), Failure> {
    let found = options.server.client()?.targets().await?;
    options.format.show(found, |list: List<Target>| {
        if list.items.is_empty() {
            return "nothing is allowed yet; write `targets:` into a file and `vitrina apply` it".to_owned();
        }
        let mut table = Table::new(&["target", "key", "allowed (UTC)"]);
        for target in &list.items {
            table.row([(&target.target).into(), target.key.join(", ").into(), time(target.created_at).into()]);
        }
        table.render()
    })
}
