//! Elasticsearch, where one is configured: every node of it, and our rights on the indexes of all targets.

use std::time::Duration;

use sqlx::ConnectOptions;
use tokio::time::timeout;
use vitrina_shared::{
    config::{DatabaseUrl, ElasticsearchConfig},
    database,
    domain::ErrorClass,
};
use vitrina_worker::elasticsearch::{Client, Server, SinkError, indexes};

use super::check::{Check, Findings};

const NAME: &str = "elasticsearch";
const RIGHTS: &str = "elasticsearch rights";
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn examine(config: &ElasticsearchConfig, database: Option<&DatabaseUrl>, findings: &mut Findings) {
    let Some(url) = &config.url else {
        return findings.add(Check::skipped(NAME, "ELASTICSEARCH_URL is not set"));
    };
    let quickly = ElasticsearchConfig { timeout: ANSWERS_WITHIN, patience: Duration::ZERO, ..config.clone() };
    let mut all_answer = true;
    for node in url.each() {
        let answer = ask(&ElasticsearchConfig { url: Some(node.clone()), ..quickly.clone() }).await;
        all_answer &= answer.is_ok();
        findings.add(match answer {
            Ok(server) => Check::good(NAME, format!("version {} answers at {node}", server.version)),
            Err(error) => Check::wrong(NAME, format!("{node}: {error}"), advice(&error)),
        });
    }
    if let (true, Some(database), Ok(client)) = (all_answer, database, Client::new(&quickly)) {
        rights(&client, database, findings).await;
    }
}

async fn ask(config: &ElasticsearchConfig) -> Result<Server, SinkError> {
    Client::new(config)?.server().await
}

fn advice(error: &SinkError) -> &'static str {
    match error.class {
        ErrorClass::Transient | ErrorClass::RateLimited => "start it, or correct ELASTICSEARCH_URL",
        ErrorClass::Quota | ErrorClass::Row | ErrorClass::Fatal => {
            "correct ELASTICSEARCH_URL, with user and password or ?api_key=, and VITRINA_ELASTICSEARCH_CA"
        }
    }
}

/// A database that does not answer was reported already.
async fn rights(client: &Client, database: &DatabaseUrl, findings: &mut Findings) {
    let asked = timeout(ANSWERS_WITHIN, async {
        let mut connection = database::session(database.connect_options(), "vitrina-doctor").connect().await?;
        indexes(&mut connection).await
    });
    let Ok(Ok(names)) = asked.await else { return };
    let mut allowed = 0;
    for name in &names {
        match client.check_rights(name).await {
            Ok(()) => allowed += 1,
            Err(error) => {
                let fix = "give them to the account of ELASTICSEARCH_URL with a role (docs/ELASTICSEARCH.md)";
                findings.add(Check::wrong(RIGHTS, error.to_string(), fix));
            }
        }
    }
    if allowed > 0 {
        findings.add(Check::good(RIGHTS, format!("{allowed} of {} indexes of targets may be written", names.len())));
    }
}
