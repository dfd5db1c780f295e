//! `vitrina limits`.

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use vitrina_shared::process::Failure;

use crate::{
    client::{Connection, Key, Limit, Limits},
    output::{self, BAD, Cell, Format, GOOD, counted, printable, table, thousands, time},
};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List limits, and what became of the keys that calls are made with
    #[command(after_help = "Example:\n  vitrina limits ls")]
    Ls(Options),
    /// Set a limit: so many calls in a period, over all workers
    ///
    /// Plans refer to it by its name. A changed limit holds at once.
    #[command(after_help = "Examples:
  vitrina limits set openai --tokens 10                        ten a second
  vitrina limits set openai --tokens 500 --period 1min --burst 20")]
    Set(SetOptions),
    /// Remove a limit that no plan names
    #[command(after_help = "Example:\n  vitrina limits rm openai")]
    Rm {
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        server: Connection,
    },
    /// Let the keys of a pool be tried again that rest, or that their service did not accept
    #[command(after_help = "Example:\n  vitrina limits forget-keys OPENAI    the keys of VITRINA_KEYS_OPENAI")]
    ForgetKeys {
        #[arg(value_name = "POOL")]
        pool: String,
        #[command(flatten)]
        server: Connection,
    },
}

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

#[derive(Debug, Args)]
pub struct SetOptions {
    #[arg(value_name = "NAME")]
    name: String,
    /// Calls in each period, 1 to 1,000,000
    #[arg(long, value_name = "N")]
    tokens: i32,
    /// The period: 100ms, 1s, 1min or 1h; at most a day
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = seconds)]
    period: f64,
    /// Calls that may be made at once after a rest
    #[arg(long, value_name = "N", default_value_t = 1)]
    burst: i32,
    #[command(flatten)]
    server: Connection,
}

/// A time with its unit.
fn seconds(text: &str) -> Result<f64, String> {
    let units = [("ms", 0.001), ("min", 60.0), ("s", 1.0), ("h", 3600.0)];
    let found = units.iter().find_map(|(unit, of)| Some((text.strip_suffix(unit)?.trim().parse::<f64>().ok()?, of)));
    let period = found.map(|(number, of)| number * of).filter(|period| (0.001..=86_400.0).contains(period));
    period.ok_or_else(|| "takes a time from 1ms to 24h, such as 100ms, 1s, 1min or 1h".to_owned())
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Ls(options) => list(options).await,
        Command::Set(options) => {
            let rate = (options.tokens, options.period, options.burst);
            let limit = options.server.client()?.set_limit(&options.name, rate).await?;
            output::line(format!("limit {} is {} from now on", printable(&limit.name), said(&limit)));
            Ok(())
        }
        Command::Rm { name, server } => {
            server.client()?.remove_limit(&name).await?;
            output::line(format!("there is no limit {} any more", printable(&name)));
            Ok(())
        }
        Command::ForgetKeys { pool, server } => {
            let keys = server.client()?.forget_keys(&pool).await?;
            output::line(format!("{} of {} may be used again", counted(keys, "key"), printable(&pool)));
            Ok(())
        }
    }
}

/// `10 calls in 1 s, up to 5 at once`.
fn said(limit: &Limit) -> String {
    let burst = if limit.burst > 1 { format!(", up to {} at once", thousands(limit.burst)) } else { String::new() };
    format!("{} in {}{burst}", counted(limit.tokens, "call"), period(limit.period_seconds))
}

fn period(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{} ms", seconds * 1000.0),
        1.0..60.0 => format!("{seconds} s"),
        60.0..3600.0 => format!("{} min", seconds / 60.0),
        _ => format!("{} h", seconds / 3600.0),
    }
}

async fn list(options: Options) -> Result<(), Failure> {
    let found = options.server.client()?.limits().await?;
    options.format.show(found, |Limits { items, keys }| {
        let now = Utc::now();
        let limits = match &items[..] {
            [] => "there is no limit; `vitrina limits set NAME --tokens 10` sets one".to_owned(),
            items => table(["limit", "rate", "state"], items.iter().map(|limit| limit_row(limit, now))),
        };
        if keys.is_empty() {
            return limits;
        }
        let keys = table(["keys", "fingerprint", "used (UTC)", "state"], keys.iter().map(|key| key_row(key, now)));
        format!("{limits}\n\n{keys}")
    })
}

fn limit_row(limit: &Limit, now: DateTime<Utc>) -> [Cell; 3] {
    let state = match (limit.rests_until.filter(|until| *until > now), limit.free_at.filter(|at| *at > now)) {
        (Some(until), _) => Cell::styled(format!("rests until {}: the service asked for it", time(until)), BAD),
        (None, Some(at)) => format!("used up until {}", time(at)).into(),
        (None, None) => Cell::styled("free", GOOD),
    };
    [(&limit.name).into(), said(limit).into(), state]
}

fn key_row(key: &Key, now: DateTime<Utc>) -> [Cell; 4] {
    let state = match (key.refused_at, key.rests_until.filter(|until| *until > now)) {
        (Some(at), _) => {
            let reason = key.refused_reason.as_deref().unwrap_or_default();
            Cell::styled(format!("refused {} ({reason})", time(at)), BAD)
        }
        (None, Some(until)) => format!("rests until {}", time(until)).into(),
        (None, None) => Cell::styled("ready", GOOD),
    };
    [(&key.pool).into(), (&key.fingerprint).into(), key.used_at.map(time).unwrap_or_default().into(), state]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_a_unit() {
        let read = ["100ms", "1s", "0.5s", "1min", "24h"].map(|text| seconds(text).map(period));
        assert_eq!(read, ["100 ms", "1 s", "500 ms", "1 min", "24 h"].map(|text| Ok(text.to_owned())));
        for wrong in ["1", "s", "0s", "25h", "1m", "-1s", "infs", "NaNs"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
