//! The address of Elasticsearch and its time limits.

mod address;

use std::time::Duration;

use super::env::{Env, FromEnv};

pub use address::{Credentials, ElasticsearchUrl, ElasticsearchUrlError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElasticsearchConfig {
    /// `ELASTICSEARCH_URL`, if set.
    pub url: Option<ElasticsearchUrl>,
    /// Certificates of authorities to trust besides the usual ones, as PEM: the file `VITRINA_ELASTICSEARCH_CA`.
    pub authorities: Option<Vec<u8>>,
    /// How long one request may take: `VITRINA_ELASTICSEARCH_TIMEOUT_SECONDS`.
    pub timeout: Duration,
    /// How long to go on with requests that do not get anything done: `VITRINA_ELASTICSEARCH_PATIENCE_SECONDS`.
    pub patience: Duration,
    /// Whether to compress what is sent: `VITRINA_ELASTICSEARCH_GZIP`.
    pub gzip: bool,
}

impl FromEnv for ElasticsearchConfig {
    fn from_env(env: &mut Env) -> Option<Self> {
        let url: Option<ElasticsearchUrl> = env.parsed("ELASTICSEARCH_URL", str::parse);
        let nearby = url.as_ref().is_none_or(ElasticsearchUrl::is_loopback);
        Some(Self {
            url,
            authorities: env.parsed("VITRINA_ELASTICSEARCH_CA", read_certificates),
            timeout: env.seconds("VITRINA_ELASTICSEARCH_TIMEOUT_SECONDS", 60.0, 0.1..=3600.0),
            patience: env.seconds("VITRINA_ELASTICSEARCH_PATIENCE_SECONDS", 30.0, 0.0..=3600.0),
            gzip: env.parsed("VITRINA_ELASTICSEARCH_GZIP", parse_switch).unwrap_or(!nearby),
        })
    }
}

fn read_certificates(path: &str) -> Result<Vec<u8>, String> {
    let pem = std::fs::read(path).map_err(|error| format!("is \"{path}\", which cannot be read: {error}"))?;
    if pem.windows(27).any(|text| text == b"-----BEGIN CERTIFICATE-----") {
        Ok(pem)
    } else {
        Err(format!("is \"{path}\", which has no certificate: it takes a PEM file with BEGIN CERTIFICATE lines"))
    }
}

fn parse_switch(value: &str) -> Result<bool, String> {
    match value {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(format!("is \"{value}\" but takes on or off (default: on, unless the server is on this machine)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_means_no_elasticsearch() {
        let read: ElasticsearchConfig = Env::from_pairs([("ELASTICSEARCH_URL", "")]).read().expect("defaults");
        assert_eq!(read.url, None);
        assert_eq!((read.timeout, read.patience), (Duration::from_secs(60), Duration::from_secs(30)));
    }

    #[test]
    fn only_what_leaves_the_machine_is_compressed_unless_told_otherwise() {
        for (url, switch, gzip) in [
            ("http://localhost:9200", "", false),
            ("http://es:9200", "", true),
            ("http://localhost:9200", "on", true),
            ("http://es:9200", "off", false),
        ] {
            let env = Env::from_pairs([("ELASTICSEARCH_URL", url), ("VITRINA_ELASTICSEARCH_GZIP", switch)]);
            assert_eq!(env.read::<ElasticsearchConfig>().expect(url).gzip, gzip, "{url} {switch}");
        }
    }

    #[test]
    fn every_wrong_variable_of_elasticsearch_is_named() {
        let pairs = [
            ("ELASTICSEARCH_URL", "es:9200"),
            ("VITRINA_ELASTICSEARCH_CA", "/nowhere/ca.pem"),
            ("VITRINA_ELASTICSEARCH_TIMEOUT_SECONDS", "0"),
            ("VITRINA_ELASTICSEARCH_PATIENCE_SECONDS", "long"),
            ("VITRINA_ELASTICSEARCH_GZIP", "maybe"),
        ];
        let errors = Env::from_pairs(pairs).read::<ElasticsearchConfig>().expect_err("all are wrong");
        let named: Vec<&str> = errors.problems().iter().map(|problem| problem.variable).collect();
        assert_eq!(named, pairs.map(|(name, _)| name));
    }

    #[test]
    fn a_file_without_certificates_is_refused() {
        let sentence = read_certificates("/dev/null").expect_err("it is empty");
        assert!(sentence.contains("BEGIN CERTIFICATE"), "{sentence}");
    }
}
