//! Elasticsearch, where one is configured: every node of it.

use std::time::Duration;

use reqwest::Certificate;
use serde_json::Value;
use vitrina_shared::config::{Credentials, ElasticsearchConfig};

use super::check::{Check, Report};

const NAME: &str = "elasticsearch";
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn examine(config: &ElasticsearchConfig, report: &mut Report) {
    let Some(url) = &config.url else {
        return report.add(Check::skipped(NAME, "ELASTICSEARCH_URL is not set"));
    };
    for node in url.bases() {
        let asked = ask(node, url.credentials(), config.authorities.as_deref()).await;
        report.add(match asked {
            Ok((200, body)) => answered(node, &body),
            Ok((401 | 403, _)) => {
                let fix = "check user and password, or the API key, in ELASTICSEARCH_URL";
                Check::wrong(NAME, format!("{node} refuses our credentials"), fix)
            }
            Ok((status, _)) => Check::wrong(NAME, format!("{node} answers {status}"), "see its log"),
            Err(error) => {
                let detail = format!("{node} does not answer: {}", error.without_url());
                Check::wrong(NAME, detail, "start it, or correct ELASTICSEARCH_URL")
            }
        });
    }
}

fn answered(node: &str, body: &Value) -> Check {
    match body["version"]["number"].as_str() {
        Some(version) => Check::good(NAME, format!("version {version} answers at {node}")),
        None => {
            let detail = format!("{node} answers, but not as Elasticsearch does");
            Check::wrong(NAME, detail, "correct ELASTICSEARCH_URL")
        }
    }
}

async fn ask(
    node: &str,
    credentials: Option<&Credentials>,
    authorities: Option<&[u8]>,
) -> Result<(u16, Value), reqwest::Error> {
    let mut builder = reqwest::Client::builder().timeout(ANSWERS_WITHIN);
    for authority in authorities.map(Certificate::from_pem_bundle).transpose()?.into_iter().flatten() {
        builder = builder.add_root_certificate(authority);
    }
    let request = builder.build()?.get(node);
    let request = match credentials {
        None => request,
        Some(Credentials::Basic { user, password }) => request.basic_auth(user, Some(password.expose())),
        Some(Credentials::ApiKey(key)) => request.header("Authorization", format!("ApiKey {}", key.expose())),
    };
    let answer = request.send().await?;
    Ok((answer.status().as_u16(), answer.json().await.unwrap_or_default()))
}
