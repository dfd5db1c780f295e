//! `hash`: pseudonyms, made with a key of this worker's environment.

use async_trait::async_trait;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::Sha256;
use vitrina_shared::{
    config::Keys,
    domain::transform::{Hash, RowDocument},
};

use super::{Block, Processed, Step, StepContext, StepError};

pub(super) const NAME: &str = "hash";

/// The same value has the same pseudonym in every column, run and pipeline that uses the key.
#[derive(Debug)]
struct Pseudonyms {
    columns: Vec<String>,
    /// The digest with the key taken in; its `Debug` shows no key.
    keyed: Hmac<Sha256>,
}

pub(super) fn construct(options: &Map<String, Value>, keys: &Keys) -> Result<Box<dyn Step>, String> {
    let Hash { columns, pool } = Hash::of(options)?;
    let key = keys.only(&pool)?;
    let keyed = Hmac::new_from_slice(key.expose().as_bytes()).map_err(|error| error.to_string())?;
    Ok(Box::new(Pseudonyms { columns, keyed }))
}

impl Pseudonyms {
    fn replace(&self, row: &mut RowDocument) -> Result<(), String> {
        for column in &self.columns {
            let pseudonym = match row.raw(column) {
                None | Some("null") => continue,
                Some(raw) if raw.starts_with('"') => row.text(column)?.map(|text| self.of(&text)),
                Some(raw) if raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => Some(self.of(raw)),
                Some(_) => None,
            };
            row.set_text(
                column,
                &pseudonym.ok_or_else(|| format!("column `{column}` has a value that is not hashed"))?,
            )?;
        }
        Ok(())
    }

    fn of(&self, value: &str) -> String {
        let mut digest = self.keyed.clone();
        digest.update(value.as_bytes());
        digest.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[async_trait]
impl Step for Pseudonyms {
    async fn execute(&self, _: &StepContext, block: Block) -> Result<Processed, StepError> {
        let mut processed = Processed { rows: Vec::with_capacity(block.len()), rejected: Vec::new() };
        for mut row in block {
            match self.replace(&mut row.document) {
                Ok(()) => processed.rows.push(row),
                Err(reason) => processed.rejected.push(row.reject(reason)),
            }
        }
        Ok(processed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pseudonyms(key: &str) -> Pseudonyms {
        let keyed = Hmac::new_from_slice(key.as_bytes()).expect("any key");
        Pseudonyms { columns: vec!["a".to_owned(), "b".to_owned()], keyed }
    }

    /// The second case of RFC 4231.
    #[test]
    fn a_pseudonym_is_the_hmac_of_the_text() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(pseudonyms("Jefe").of("what do ya want for nothing?"), expected);
        assert_ne!(pseudonyms("another").of("what do ya want for nothing?"), expected);
    }

    #[test]
    fn equal_values_get_equal_pseudonyms_and_null_stays_null() {
        let step = pseudonyms("key");
        let mut row = RowDocument::parse(r#"{"a":"12","b":12,"c":"12"}"#).expect("a row");
        step.replace(&mut row).expect("replaced");
        assert_eq!(row.text("a"), row.text("b"));
        assert_eq!(row.raw("c"), Some(r#""12""#));
        let mut none = RowDocument::parse(r#"{"a":null,"b":[1]}"#).expect("a row");
        assert!(step.replace(&mut none).expect_err("a list").contains("`b`"));
        assert_eq!(none.raw("a"), Some("null"));
    }
}
