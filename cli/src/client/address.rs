//! The address of an API.

use std::{fmt, net::IpAddr, str::FromStr};

use reqwest::Url;

/// The address of an API, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(String);

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
    pub(super) fn is_encrypted(&self) -> bool {
        self.0.starts_with("https:")
    }

    /// Whether it is on this machine, which is reached without a proxy.
    pub(super) fn is_local(&self) -> bool {
        let host = Url::parse(&self.0).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || number.is_ok_and(|ip| ip.is_loopback())
    }
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
    fn loopback_addresses_need_no_proxy() {
        for (text, local) in
            [("http://127.0.0.1:1", true), ("http://[::1]:1", true), ("http://localhost", true), ("http://db", false)]
        {
            assert_eq!(text.parse::<Address>().expect(text).is_local(), local, "{text}");
        }
    }
}
