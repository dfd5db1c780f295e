//! The API and the token that options and environment name.

use std::{str::FromStr, time::Duration};

use clap::Args;
use reqwest::{header, redirect};
use vitrina_shared::config::{self, Secret};

use super::{Address, Client, ClientError};

const URL: &str = "VITRINA_URL";
const ADDR: &str = "VITRINA_ADDR";
const TOKEN: &str = "VITRINA_TOKEN";
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Options of every command that talks to an API.
#[derive(Debug, Args)]
#[command(next_help_heading = "API")]
pub struct Connection {
    /// Address of the API [default: VITRINA_URL, else VITRINA_ADDR, else http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    url: Option<Address>,
    /// Token, where the API asks for one [default: VITRINA_TOKEN; prefer the variable, since other users see a command line]
    #[arg(long, value_name = "TOKEN", hide_default_value = true)]
    token: Option<Token>,
}

/// A token whose `Debug` output hides it.
#[derive(Debug, Clone)]
struct Token(Secret);

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.is_empty() {
            return Err("the token is empty".to_owned());
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token has letters, digits and signs, and no spaces".to_owned());
        }
        Ok(Self(Secret::new(text)))
    }
}

impl Connection {
    /// The client that these options and the environment describe.
    pub fn client(&self) -> Result<Client, ClientError> {
        let token = match &self.token {
            Some(token) => Some(token.clone()),
            None => variable(TOKEN)?,
        };
        let address = self.address()?;
        if let Some(name) = self.named_by_a_file()
            && token.is_some()
            && (self.token.is_some() || !config::is_from_dotenv(TOKEN))
        {
            return Err(ClientError::Mixed { name });
        }
        Client::new(address, token.map(|token| token.0).as_ref())
    }

    /// The variable that names the address, if it came from the directory's `.env`. A token that the user has set is not
    /// sent to such an address.
    fn named_by_a_file(&self) -> Option<&'static str> {
        if self.url.is_some() {
            return None;
        }
        let is_set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
        [URL, ADDR].into_iter().find(is_set).filter(|name| config::is_from_dotenv(name))
    }

    /// The address that these options and the environment name.
    pub fn address(&self) -> Result<Address, ClientError> {
        if let Some(url) = &self.url {
            return Ok(url.clone());
        }
        if let Some(url) = variable(URL)? {
            return Ok(url);
        }
        let listening = std::env::var(ADDR).unwrap_or_default();
        let here = listening.trim().replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]");
        let here = if here.is_empty() { "127.0.0.1:8080" } else { &here };
        format!("http://{here}").parse().map_err(|reason| ClientError::Variable { name: ADDR, reason })
    }
}

/// A variable of the environment; an empty one counts as unset.
fn variable<T: FromStr<Err = String>>(name: &'static str) -> Result<Option<T>, ClientError> {
    let text = std::env::var(name).unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|reason| ClientError::Variable { name, reason })
}

impl Client {
    pub fn new(address: Address, token: Option<&Secret>) -> Result<Self, ClientError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("vitrina/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_WITHIN)
            // A token belongs to the address it was given for.
            .redirect(redirect::Policy::none());
        if address.is_local() {
            builder = builder.no_proxy();
        }
        if !address.is_encrypted() {
            // Reading all certificates of the machine takes time that plain HTTP need not spend.
            builder = builder.tls_built_in_root_certs(false);
        }
        if let Some(token) = token {
            builder = builder.default_headers(authorization(token));
        }
        let http = builder.build().map_err(|error| ClientError::NoHttp(error.to_string()))?;
        Ok(Self { http, address, has_token: token.is_some() })
    }
}

fn authorization(token: &Secret) -> header::HeaderMap {
    let mut headers = header::HeaderMap::new();
    if let Ok(mut value) = header::HeaderValue::from_str(&format!("Bearer {}", token.expose())) {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let token: Token = "hunter2hunter2hunter2".parse().expect("a token");
        assert!(!format!("{token:?}").contains("hunter2"));
    }
}
