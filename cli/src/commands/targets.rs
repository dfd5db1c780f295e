//! `vitrina targets`.

use clap::Args;
use serde_json::{Value, json};
use vitrina_shared::process::Failure;

use super::objects;
use crate::{
    client::{Connection, Target},
    output::{Format, printable, time},
};

#[derive(Debug, Args)]
pub struct Options {
    /// Take this target off the list; its table or index stays
    #[arg(long, value_name = "TARGET")]
    remove: Option<String>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    if let Some(target) = &options.remove {
        options.server.client()?.forget_target(target).await?;
        return options.format.show(json!({ "removed": target }), |_: Value| {
            format!("no pipeline may write {} any more; what is in it stays", printable(target))
        });
    }
    let found = options.server.client()?.targets().await?;
    let none = "nothing is allowed yet; write `targets:` into a file and `vitrina apply` it";
    objects::print_list(options.format, found, none, ["target", "key", "allowed (UTC)"], |target: &Target| {
        [(&target.target).into(), target.key.join(", ").into(), time(target.created_at).into()]
    })
}
