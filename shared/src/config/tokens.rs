//! Callers of the API.
//!
//! Only SHA-256 hashes of the secrets are kept. A secret is compared with all of them, each in constant time, so that
//! the time an answer takes says nothing about them.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::domain::named_enum;

pub(super) const SHORTEST_SECRET: usize = 16;
const LONGEST_NAME: usize = 64;

named_enum! {
    /// What a caller may do; each role may do what the ones before it may.
    Role {
        /// May look.
        Viewer = "viewer",
        /// May also create, change and run pipelines.
        Operator = "operator",
        /// May do everything.
        Admin = "admin",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The token's name, for logs and the transition log.
    pub name: Arc<str>,
    pub role: Role,
}

/// The known tokens. Printed as names and roles.
#[derive(Clone, Default)]
pub struct Tokens(Vec<Token>);

#[derive(Clone)]
struct Token {
    principal: Principal,
    hash: [u8; 32],
}

/// What is wrong with an entry of the list. Entries are named by number: a mistyped one may show its secret anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokensError {
    #[error("holds no token, it takes name:role:secret entries separated by commas or white space")]
    Empty,
    #[error("has an entry (number {0}) that is not name:role:secret")]
    Form(usize),
    #[error(
        "has an entry (number {0}) whose name is not 1 to {LONGEST_NAME} letters, digits, dots, dashes, underscores"
    )]
    Name(usize),
    #[error("has an entry (number {0}) whose role is not viewer, operator or admin")]
    Role(usize),
    #[error("has an entry (number {0}) whose secret is shorter than {SHORTEST_SECRET} characters")]
    Short(usize),
    #[error("has an entry (number {0}) with the name of an earlier one")]
    SameName(usize),
    #[error("has an entry (number {0}) with the secret of an earlier one")]
    SameSecret(usize),
}

impl Role {
    /// Whether this role is enough where `required` is asked for.
    pub fn may(self, required: Role) -> bool {
        self >= required
    }
}

impl Tokens {
    /// Parses `name:role:secret` entries separated by commas or white space; a secret may contain colons.
    pub(super) fn parse(list: &str) -> Result<Self, TokensError> {
        let mut tokens = Self::default();
        let entries = list.split(|c: char| c == ',' || c.is_whitespace()).filter(|entry| !entry.is_empty());
        for (index, entry) in entries.enumerate() {
            tokens.add(Token::parse(entry, index + 1)?, index + 1)?;
        }
        if tokens.is_empty() { Err(TokensError::Empty) } else { Ok(tokens) }
    }

    fn add(&mut self, token: Token, number: usize) -> Result<(), TokensError> {
        for known in &self.0 {
            if known.principal.name == token.principal.name {
                return Err(TokensError::SameName(number));
            }
            if known.hash == token.hash {
                return Err(TokensError::SameSecret(number));
            }
        }
        self.0.push(token);
        Ok(())
    }

    /// Whether there is no token at all: then the API asks for none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds the caller with this secret. Compares with every token, so that the time does not depend on the match.
    pub fn authenticate(&self, secret: &str) -> Option<Principal> {
        let hash = hash(secret);
        let mut found = Choice::from(0);
        let mut position = 0;
        for (index, token) in (0_u64..).zip(&self.0) {
            let same = token.hash.ct_eq(&hash);
            position.conditional_assign(&index, same);
            found |= same;
        }
        let token = self.0.get(usize::try_from(position).ok()?)?;
        bool::from(found).then(|| token.principal.clone())
    }
}

impl Token {
    fn parse(entry: &str, number: usize) -> Result<Self, TokensError> {
        let mut parts = entry.splitn(3, ':');
        let (Some(name), Some(role), Some(secret)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(TokensError::Form(number));
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(allowed) {
            return Err(TokensError::Name(number));
        }
        let role = role.parse::<Role>().map_err(|_| TokensError::Role(number))?;
        if secret.chars().count() < SHORTEST_SECRET {
            return Err(TokensError::Short(number));
        }
        Ok(Self { principal: Principal { name: name.into(), role }, hash: hash(secret) })
    }
}

pub(super) fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The secret of a header `Authorization: Bearer <secret>`.
pub fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, secret) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|token| (&token.principal.name, token.principal.role))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "anna:viewer:anna-secret-12345, boris:operator:boris:secret:12345\n\tvera:admin:vera-secret-12345,";

    fn name_and_role(secret: &str) -> Option<(String, Role)> {
        let tokens = Tokens::parse(LIST).expect("a good list");
        tokens.authenticate(secret).map(|principal| (principal.name.to_string(), principal.role))
    }

    #[test]
    fn each_secret_leads_to_its_own_name_and_role() {
        assert_eq!(name_and_role("anna-secret-12345"), Some(("anna".to_owned(), Role::Viewer)));
        assert_eq!(name_and_role("boris:secret:12345"), Some(("boris".to_owned(), Role::Operator)));
        assert_eq!(name_and_role("vera-secret-12345"), Some(("vera".to_owned(), Role::Admin)));
    }

    #[test]
    fn anything_else_names_no_caller() {
        for secret in ["", "anna", "anna-secret-1234", "anna-secret-123456", "viewer:anna-secret-12345"] {
            assert_eq!(name_and_role(secret), None, "{secret}");
        }
        assert_eq!(Tokens::default().authenticate(""), None);
    }

    #[test]
    fn a_role_may_do_what_lesser_roles_may() {
        assert!(Role::Admin.may(Role::Operator) && Role::Operator.may(Role::Viewer) && Role::Viewer.may(Role::Viewer));
        assert!(!Role::Viewer.may(Role::Operator) && !Role::Operator.may(Role::Admin));
    }

    #[test]
    fn wrong_entries_are_refused_by_number_without_their_text() {
        use TokensError::{Empty, Form, Name, Role, SameName, SameSecret, Short};
        let good = "a:viewer:0123456789abcdef";
        for (list, error) in [
            (",\n ,".to_owned(), Empty),
            (format!("{good},hidden"), Form(2)),
            (format!("{good},b:admin"), Form(2)),
            (format!("{good},:admin:hidden6789abcdef"), Name(2)),
            (format!("{good},b\"c:admin:hidden6789abcdef"), Name(2)),
            (format!("{good},b:root:hidden6789abcdef"), Role(2)),
            (format!("{good},b:Admin:hidden6789abcdef"), Role(2)),
            (format!("{good},b:admin:hidden"), Short(2)),
            (format!("{good},b:admin:"), Short(2)),
            (format!("{good},a:admin:hidden6789abcdef"), SameName(2)),
            (format!("{good},b:admin:0123456789abcdef"), SameSecret(2)),
        ] {
            assert_eq!(Tokens::parse(&list).map(|_| ()), Err(error), "{list}");
            assert!(!error.to_string().contains("hidden"));
        }
    }

    #[test]
    fn printing_the_tokens_shows_names_and_roles_only() {
        let tokens = Tokens::parse(LIST).expect("a good list");
        assert_eq!(format!("{tokens:?}"), r#"{"anna": Viewer, "boris": Operator, "vera": Admin}"#);
    }
}
