//! The API's address and token.

use std::{fmt, net::IpAddr, str::FromStr, time::Duration};

use clap::Args;
use reqwest::{Url, header, redirect};
use vitrina_shared::config::{self, Secret};

use super::{Client, ClientError};

const URL: &str = "VITRINA_URL";
const ADDR: &str = "VITRINA_ADDR";
const TOKEN: &str = "VITRINA_TOKEN";
/// How long to wait for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Options of every command that talks to an API.
#[derive(Debug, Args)]
#[command(next_help_heading = "API")]
pub struct Connection {
    /// Address of the API [default: VITRINA_URL, else VITRINA_ADDR, else http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    url: Option<Address>,
    /// Token, where the API asks for one [default: VITRINA_TOKEN, which other users of this machine cannot see]
    #[arg(long, value_name = "TOKEN", hide_default_value = true)]
    token: Option<Token>,
}

/// The address of an API, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(String);

/// A token whose `Debug` output hides it.
#[derive(Debug, Clone)]
struct Token(Secret);

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || !printable {
            return Err("a token has letters, digits and signs, and no spaces".to_owned());
        }
        Ok(Self(Secret::new(text)))
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "write it like http://127.0.0.1:8080 or https://vitrina.example.org";
        let url = Url::parse(text.trim()).map_err(|error| format!("{error}; {FORM}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(format!("it is no address of an HTTP server; {FORM}"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("it has a user in it; give the token with VITRINA_TOKEN, and {FORM}"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!("it goes on after the path; {FORM}"));
        }
        let text = url.as_str().trim_end_matches('/');
        Ok(Self(text.strip_suffix("/api/v1").unwrap_or(text).to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Address {
    fn is_encrypted(&self) -> bool {
        self.0.starts_with("https:")
    }

    /// Whether it is on this machine, which is reached without a proxy.
    fn is_local(&self) -> bool {
        let host = Url::parse(&self.0).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || number.is_ok_and(|ip| ip.is_loopback())
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
    /// A client of the API at `address`.
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
    fn an_address_may_end_with_a_slash_or_the_apis_path() {
        for text in ["http://h:1", "http://h:1/", "http://h:1/api/v1", " http://h:1/api/v1/ "] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), "http://h:1");
        }
        assert_eq!("https://h/vitrina".parse::<Address>().expect("a path").to_string(), "https://h/vitrina");
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_form() {
        for text in ["", "127.0.0.1:8080", "localhost:8080", "ftp://h", "http://", "http://u:p@h", "http://h/?a=1"] {
            let sentence = text.parse::<Address>().expect_err(text);
            assert!(sentence.contains("http://127.0.0.1:8080"), "{text}: {sentence}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        let token: Token = "hunter2hunter2hunter2".parse().expect("a token");
        assert!(!format!("{token:?}").contains("hunter2"));
    }

    #[test]
    fn loopback_addresses_need_no_proxy() {
        for (text, local) in
            [("http://127.0.0.1:1", true), ("http://[::1]:1", true), ("http://localhost", true), ("http://db", false)]
        {
            assert_eq!(text.parse::<Address>().expect(text).is_local(), local, "{text}");
        }
    }
}
