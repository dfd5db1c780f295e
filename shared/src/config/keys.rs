//! Keys that steps use: `VITRINA_KEYS_<POOL>`, a variable for each pool.

use std::{collections::BTreeMap, sync::Arc};

use sha2::{Digest, Sha256};

use super::{env::Env, secret::Secret};

/// The beginning of the variables' names.
const BEGINNING: &str = "VITRINA_KEYS_";

/// How wrong pools are reported: the name of a variable is fixed text.
const ANY: &str = "VITRINA_KEYS_<POOL>";

const SHORTEST: usize = 16;
const FINGERPRINT: usize = 16;

/// Pools of keys by their names. A key never comes from the database, and is in no pipeline.
#[derive(Debug, Clone, Default)]
pub struct Keys(Arc<BTreeMap<String, Vec<Secret>>>);

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
        Self(Arc::new(pools))
    }

    /// The keys of a pool, or why there is none.
    pub fn all(&self, pool: &str) -> Result<&[Secret], String> {
        let keys = self.0.get(pool).map(Vec::as_slice);
        keys.ok_or_else(|| format!("this worker has no key: set {BEGINNING}{pool} in the environment of every worker"))
    }

    /// The pools that have exactly one key, each with what tells it from others.
    pub fn single(&self) -> impl Iterator<Item = (&str, String)> {
        self.0
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
