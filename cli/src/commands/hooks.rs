//! `vitrina hooks`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use sqlx::{ConnectOptions, PgConnection};
use vitrina_shared::{
    config::{Env, OptionalDatabaseConfig},
    database, definitions,
    process::Failure,
    store::{self, hooks::ListedFunction},
};

use super::{migrate, objects};
use crate::output::{self, BAD, Cell, Format, GOOD};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the functions that hooks may call, and whether they can be called
    #[command(after_help = "Example:\n  vitrina hooks ls")]
    Ls {
        #[command(flatten)]
        format: Format,
        #[command(flatten)]
        place: Place,
    },
    /// Let hooks call functions, as they are now
    ///
    /// A function has one argument, of type jsonb. Execute on it is granted to the role vitrina_hook, under which it is called.
    /// One that was dropped and created anew, or has another owner, must be allowed again.
    #[command(after_help = "Example:\n  vitrina hooks allow shop.refund shop.notify")]
    Allow(Functions),
    /// Let hooks no longer call functions: runs of pipelines that name them fail
    #[command(after_help = "Example:\n  vitrina hooks revoke shop.refund")]
    Revoke(Functions),
}

#[derive(Debug, Args)]
pub struct Functions {
    /// The functions, each with its schema: shop.refund
    #[arg(value_name = "FUNCTION", required = true)]
    names: Vec<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
pub struct Place {
    /// Where the embedded PostgreSQL runs, if DATABASE_URL is not set
    #[arg(long, value_name = "DIR", default_value = ".vitrina")]
    data_dir: PathBuf,
}

impl Place {
    async fn connect(&self) -> Result<PgConnection, Failure> {
        let database: OptionalDatabaseConfig = Env::from_process().read()?;
        let url = migrate::owners(&database, &self.data_dir)?.url;
        Ok(database::session(url.connect_options(), "vitrina-hooks").connect().await?)
    }
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Ls { format, place } => list(format, &place).await,
        Command::Allow(functions) => allow(functions).await,
        Command::Revoke(functions) => revoke(functions).await,
    }
}

async fn list(format: Format, place: &Place) -> Result<(), Failure> {
    let found = store::hooks::list(&mut place.connect().await?).await?;
    let none = "hooks may call no function; `vitrina hooks allow shop.refund` lets them call that one";
    let columns = ["function", "state", "added by", "added (UTC)"];
    objects::print_list(format, json!({ "items": found }), none, columns, |one: &ListedFunction| {
        let state = match &one.problem {
            Some(problem) => Cell::styled(problem, BAD),
            None => Cell::styled("good", GOOD),
        };
        [(&one.name).into(), state, (&one.added_by).into(), output::time(one.added_at).into()]
    })
}

async fn allow(Functions { names, place }: Functions) -> Result<(), Failure> {
    let mut connection = place.connect().await?;
    for name in names {
        let executes_as = definitions::allow_function(&mut connection, &name).await?;
        output::line(format!(
            "hooks may call {name}: execute is granted to vitrina_hook, and it executes with the rights of {executes_as}"
        ));
    }
    Ok(())
}

async fn revoke(Functions { names, place }: Functions) -> Result<(), Failure> {
    let mut connection = place.connect().await?;
    for name in names {
        let left = definitions::revoke_function(&mut connection, &name).await?;
        output::line(format!("hooks may no longer call {name}"));
        if let Some(statements) = left {
            output::note(format!(
                "this account could not revoke what vitrina_hook was granted; the function's owner does it with: {statements}"
            ));
        }
    }
    Ok(())
}
