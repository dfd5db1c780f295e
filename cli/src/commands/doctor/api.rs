//! The API, as a client sees it, and the workers that it knows.

use super::check::{Check, Findings};
use crate::client::{Client, ClientError, Connection};

const NAME: &str = "api";

pub(super) async fn examine(server: &Connection, findings: &mut Findings) {
    let (client, address) = match (server.client(), server.address()) {
        (Ok(client), Ok(address)) => (client, address.to_string()),
        (Err(error), _) | (_, Err(error)) => return findings.add(Check::wrong(NAME, error.to_string(), "correct it")),
    };
    match client.ready().await {
        Ok(_) => findings.add(Check::good(NAME, format!("ready at {address}"))),
        Err(error) => return findings.add(unwell(&address, &error)),
    }
    workers(&client, findings).await;
}

fn unwell(address: &str, error: &ClientError) -> Check {
    if let ClientError::Unreachable { reason, .. } = error {
        let fix = "start it with `vitrina up` or `vitrina api`, or give --url";
        return Check::wrong(NAME, format!("no API answers at {address}: {reason}"), fix);
    }
    let fix = if let ClientError::Refused(problem) = error {
        if problem.is("not-migrated") { "run `vitrina migrate`" } else { "see whether its database runs, and its log" }
    } else {
        "check --url or VITRINA_URL"
    };
    Check::wrong(NAME, error.to_string(), fix)
}

async fn workers(client: &Client, findings: &mut Findings) {
    let name = "workers";
    findings.add(match client.workers().await {
        Ok(answer) => match answer["items"].as_array().map_or(0, Vec::len) {
            0 => Check::wrong(name, "none reported within the last minute", "start one: `vitrina worker`"),
            1 => Check::good(name, "1 is alive"),
            many => Check::good(name, format!("{many} are alive")),
        },
        Err(error) => Check::wrong(name, error.to_string(), "give a token that the API knows, with VITRINA_TOKEN"),
    });
}
