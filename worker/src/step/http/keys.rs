//! The keys of a pool: this worker has them, the database knows what became of each.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use sqlx::PgConnection;
use vitrina_shared::{
    config::{Keys, Secret, fingerprint},
    domain::transform::http::{KeyUse, Origin},
    store::pool_keys::{self, Chosen},
};

#[derive(Debug)]
pub struct Pool {
    how: KeyUse,
    keys: Vec<(String, Secret)>,
    /// Whether the database knows of them.
    known: AtomicBool,
}

impl Pool {
    /// The pool, whose keys may be sent to all of these servers.
    pub fn new(how: &KeyUse, keys: &Keys, servers: &[&Origin]) -> Result<Self, String> {
        let own = keys.all(&how.pool)?.iter().map(|key| (fingerprint(&how.pool, key), key.clone())).collect();
        for (host, port) in servers.iter().filter_map(|origin| origin.server()) {
            keys.check_receiver(&how.pool, &host, port)?;
        }
        Ok(Self { how: how.clone(), keys: own, known: AtomicBool::new(false) })
    }

    pub fn name(&self) -> &str {
        &self.how.pool
    }

    fn fingerprints(&self) -> Vec<String> {
        self.keys.iter().map(|(fingerprint, _)| fingerprint.clone()).collect()
    }

    /// The key that was used least recently of those that may be used.
    pub async fn choose(&self, connection: &mut PgConnection) -> sqlx::Result<Chosen> {
        let fingerprints = self.fingerprints();
        if !self.known.load(Ordering::Relaxed) {
            pool_keys::introduce(connection, &self.how.pool, &fingerprints).await?;
            self.known.store(true, Ordering::Relaxed);
        }
        pool_keys::choose(connection, &self.how.pool, &fingerprints).await
    }

    /// Adds the key to a request; any of its pool where this worker does not have it.
    pub fn add(&self, headers: &mut HeaderMap, fingerprint: &str) -> Result<(), String> {
        let found = self.keys.iter().find(|(own, _)| own == fingerprint).or(self.keys.first());
        let (_, key) = found.ok_or("the pool has no key")?;
        let text = format!("{}{}", self.how.prefix, key.expose());
        let mut value =
            HeaderValue::from_str(&text).map_err(|_| "a key of the pool has characters that no header has")?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(self.how.header.as_bytes()).map_err(|error| error.to_string())?;
        headers.insert(name, value);
        Ok(())
    }

    /// Takes the pool's keys out of what a service answers: its words come to runs and dead letters.
    pub fn conceal(&self, body: Vec<u8>) -> Vec<u8> {
        self.keys.iter().fold(body, |body, (_, key)| without(body, key.expose().as_bytes()))
    }

    pub async fn rest(&self, connection: &mut PgConnection, key: &str, asked: Option<Duration>) -> sqlx::Result<()> {
        pool_keys::rest(connection, &self.how.pool, key, asked).await
    }

    pub async fn answered(&self, connection: &mut PgConnection, key: &str) -> sqlx::Result<()> {
        pool_keys::answered(connection, &self.how.pool, key).await
    }

    /// Sets a key aside that the service does not accept, and tells the operator once.
    pub async fn refuse(&self, connection: &mut PgConnection, key: &str, reason: &str) -> sqlx::Result<()> {
        if pool_keys::refuse(connection, &self.how.pool, key, reason).await? {
            tracing::error!(
                pool = self.how.pool,
                key,
                status = reason,
                "the service does not accept a key: it is set aside; exchange it in VITRINA_KEYS_<POOL>, or see `vitrina limits ls`",
            );
        }
        Ok(())
    }
}

fn without(body: Vec<u8>, key: &[u8]) -> Vec<u8> {
    let (mut rest, mut concealed) = (body.as_slice(), Vec::new());
    while let Some(at) = rest.windows(key.len()).position(|window| window == key) {
        concealed.extend_from_slice(&rest[..at]);
        concealed.extend_from_slice(b"***");
        rest = &rest[at + key.len()..];
    }
    if concealed.is_empty() {
        return body;
    }
    concealed.extend_from_slice(rest);
    concealed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_an_answer_is_taken_out_wherever_it_stands() {
        let without = |body: &str| String::from_utf8(without(body.as_bytes().to_vec(), b"secret")).expect("text");
        assert_eq!(without("secretsecret bad key secret."), "****** bad key ***.");
        assert_eq!(without("secre"), "secre");
        assert_eq!(without(""), "");
    }
}
