//! Keys that steps use: `VITRINA_KEYS_<POOL>`, a variable for each pool, and the servers that they may be sent to.

use std::{collections::BTreeMap, sync::Arc};

use sha2::{Digest, Sha256};
use url::Host;

use super::{env::Env, secret::Secret};
use crate::domain::hosts::AllowedHosts;

/// The beginning of the variables' names.
const BEGINNING: &str = "VITRINA_KEYS_";

/// Which keys may be sent where.
const RECEIVERS: &str = "VITRINA_HTTP_KEYS";

/// How wrong pools are reported: the name of a variable is fixed text.
const ANY: &str = "VITRINA_KEYS_<POOL>";

const SHORTEST: usize = 16;
const FINGERPRINT: usize = 16;

/// Pools of keys by their names. A key never comes from the database, and is in no pipeline.
#[derive(Debug, Clone, Default)]
pub struct Keys(Arc<Pools>);

#[derive(Debug, Default)]
struct Pools {
    keys: BTreeMap<String, Vec<Secret>>,
    /// The servers that keys of a pool may be sent to; none where the pool is not named.
    receivers: BTreeMap<String, AllowedHosts>,
}

impl Keys {
    pub(super) fn read(env: &mut Env) -> Self {
        let mut pools = BTreeMap::new();
        for (pool, value) in env.beginning_with(BEGINNING) {
            let text = value.into_string().unwrap_or_default();
            let keys: Vec<_> = text.split(',').map(str::trim).filter(|key| !key.is_empty()).map(Secret::new).collect();
            if keys.is_empty() || keys.iter().any(|key| key.expose().len() < SHORTEST) {
                let message = format!(
                    "takes keys of {SHORTEST} characters or more, separated by commas, and {BEGINNING}{pool} has a shorter one: \
                     `openssl rand -hex 32` makes a good one"
                );
                env.report(ANY, message);
                continue;
            }
            pools.insert(pool, keys);
        }
        let receivers = env.parsed(RECEIVERS, receivers).unwrap_or_default();
        Self(Arc::new(Pools { keys: pools, receivers }))
    }

    /// Whether keys of a pool may be sent to a server. An operator of the API chooses both, so the environment says which belong
    /// together.
    pub fn check_receiver(&self, pool: &str, host: &Host<&str>, port: u16) -> Result<(), String> {
        let receivers = self.0.receivers.get(pool);
        if receivers.is_some_and(|hosts| hosts.check_host(host, port).is_ok()) {
            return Ok(());
        }
        Err(format!(
            "keys of {BEGINNING}{pool} may not be sent to {host}:{port}: set {RECEIVERS}={pool}={host} in the environment of every worker"
        ))
    }

    /// The keys of a pool, or why there is none.
    pub fn all(&self, pool: &str) -> Result<&[Secret], String> {
        let keys = self.0.keys.get(pool).map(Vec::as_slice);
        keys.ok_or_else(|| format!("this worker has no key: set {BEGINNING}{pool} in the environment of every worker"))
    }

    /// The pools that have exactly one key, each with what tells it from others.
    pub fn single(&self) -> impl Iterator<Item = (&str, String)> {
        self.0
            .keys
            .iter()
            .filter(|(_, keys)| keys.len() == 1)
            .map(|(pool, keys)| (pool.as_str(), fingerprint(pool, &keys[0])))
    }

    /// The only key of a pool, or why there is not exactly one.
    pub fn only(&self, pool: &str) -> Result<&Secret, String> {
        match self.all(pool)? {
            [key] => Ok(key),
            keys => Err(format!("{BEGINNING}{pool} has {} keys, and this step takes exactly one", keys.len())),
        }
    }
}

/// Reads `POOL=host`, separated by commas.
fn receivers(list: &str) -> Result<BTreeMap<String, AllowedHosts>, String> {
    let mut receivers = BTreeMap::<String, AllowedHosts>::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let wrong = || {
            format!("has \"{part}\", and takes POOL=host separated by commas: OPENAI=api.example.org, EU=10.1.2.3:8443")
        };
        let (pool, host) = part.split_once('=').ok_or_else(wrong)?;
        let host = AllowedHosts::parse(host).map_err(|_| wrong())?;
        receivers.entry(pool.trim().to_owned()).or_default().add(host);
    }
    Ok(receivers)
}

/// Tells a key from others and does not show it.
pub fn fingerprint(pool: &str, key: &Secret) -> String {
    let digest = Sha256::digest(format!("{pool}\n{}", key.expose()));
    let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    text[..FINGERPRINT].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WorkerConfig;

    fn keys(pairs: &[(&str, &str)]) -> Result<Keys, String> {
        let read = Env::from_pairs(pairs.iter().copied()).read::<WorkerConfig>();
        read.map(|config| config.keys).map_err(|errors| errors.to_string())
    }

    #[test]
    fn pools_have_the_names_that_the_operator_gave_them() {
        let pools =
            [("VITRINA_KEYS_PEOPLE", "0123456789abcdef"), ("VITRINA_KEYS_TWO", "0123456789abcdef, fedcba9876543210")];
        let keys = keys(&pools).expect("good keys");
        assert_eq!(keys.only("PEOPLE").expect("one").expose(), "0123456789abcdef");
        assert!(keys.only("TWO").expect_err("two").contains("has 2 keys"));
        assert_eq!(keys.single().map(|(pool, _)| pool).collect::<Vec<_>>(), ["PEOPLE"]);
        assert!(keys.only("NONE").expect_err("none").contains("set VITRINA_KEYS_NONE"));
        assert!(!format!("{keys:?}").contains("0123"), "{keys:?}");
    }

    #[test]
    fn keys_are_sent_only_to_the_servers_of_their_pool() {
        let keys = keys(&[
            ("VITRINA_KEYS_PEOPLE", "0123456789abcdef"),
            ("VITRINA_KEYS_EU", "0123456789abcdef"),
            ("VITRINA_HTTP_KEYS", "EU=eu.example, EU=10.1.2.3:8443,US=us.example"),
        ]);
        let keys = keys.expect("good keys");
        let check = |pool: &str, host: &str, port| {
            let url = url::Url::parse(&format!("http://{host}")).expect(host);
            keys.check_receiver(pool, &url.host().expect(host), port)
        };
        assert_eq!(check("EU", "eu.example", 443), Ok(()));
        assert_eq!(check("EU", "10.1.2.3", 8443), Ok(()));
        for (pool, host, port) in [("EU", "us.example", 443), ("EU", "10.1.2.3", 80), ("PEOPLE", "eu.example", 443)] {
            let refusal = check(pool, host, port).expect_err(host);
            assert!(refusal.contains(&format!("VITRINA_HTTP_KEYS={pool}={host}")), "{refusal}");
        }
    }

    #[test]
    fn a_key_that_is_too_short_is_refused_by_the_name_of_its_pool_and_not_shown() {
        for value in ["short", "0123456789abcdef,short", ","] {
            let refusal = keys(&[("VITRINA_KEYS_PEOPLE", value)]).expect_err(value);
            assert!(
                refusal.contains("VITRINA_KEYS_PEOPLE has a shorter one") && !refusal.contains("short,"),
                "{refusal}"
            );
            assert!(!refusal.contains("0123"), "{refusal}");
        }
    }
}
