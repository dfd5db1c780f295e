//! The address of Elasticsearch, taken apart.

use std::fmt;
use std::str::FromStr;

use crate::config::secret::Secret;

/// `http(s)://[user:password@]host[:port][/path][?api_key=KEY]`, several separated by commas for the nodes of one
/// cluster. Printed without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElasticsearchUrl {
    bases: Vec<String>,
    credentials: Option<Credentials>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    Basic { user: String, password: Secret },
    ApiKey(Secret),
}

/// Why the address was refused. Never repeats the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no server address ({0}), it takes http://user:password@host:9200 or https://host:9200?api_key=KEY")]
pub struct ElasticsearchUrlError(&'static str);

impl ElasticsearchUrl {
    /// The nodes' addresses, at least one, without credentials and without a slash at their ends.
    pub fn bases(&self) -> &[String] {
        &self.bases
    }

    /// Every node by itself, with the same credentials.
    pub fn each(&self) -> impl Iterator<Item = Self> + '_ {
        self.bases.iter().map(|base| Self { bases: vec![base.clone()], credentials: self.credentials.clone() })
    }

    pub fn is_loopback(&self) -> bool {
        self.bases.iter().all(|base| {
            let host = base.split_once("://").map_or("", |(_, rest)| rest).split('/').next().unwrap_or_default();
            let name = host
                .strip_prefix('[')
                .and_then(|rest| rest.split(']').next())
                .unwrap_or_else(|| host.rsplit_once(':').map_or(host, |(name, _)| name));
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        })
    }

    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }
}

impl FromStr for ElasticsearchUrl {
    type Err = ElasticsearchUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut nodes = text.split(',').map(|address| node(address.trim()));
        let (first, mut credentials) = nodes.next().ok_or(ElasticsearchUrlError("it is empty"))??;
        let mut bases = vec![first];
        for next in nodes {
            let (base, own) = next?;
            if own.is_some() && credentials.is_some() && own != credentials {
                return Err(ElasticsearchUrlError("its nodes have different credentials"));
            }
            credentials = credentials.or(own);
            bases.push(base);
        }
        Ok(Self { bases, credentials })
    }
}

fn node(text: &str) -> Result<(String, Option<Credentials>), ElasticsearchUrlError> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    if !["http", "https"].contains(&scheme) {
        return Err(ElasticsearchUrlError("it does not start with http:// or https://"));
    }
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = address.split_once('/').unwrap_or((address, ""));
    let (user_info, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    check_host(host)?;
    let base = format!("{scheme}://{host}/{path}").trim_end_matches('/').to_owned();
    let credentials = match (basic(user_info)?, api_key(query)?) {
        (Some(_), Some(_)) => return Err(ElasticsearchUrlError("it has both a user and an API key")),
        (basic, key) => basic.or(key),
    };
    Ok((base, credentials))
}

fn check_host(host: &str) -> Result<(), ElasticsearchUrlError> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        Some(_) | None => (host, None),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-[]:".contains(c);
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(ElasticsearchUrlError("its host is missing or malformed"));
    }
    match port.map(str::parse::<u16>) {
        Some(Err(_)) => Err(ElasticsearchUrlError("its port is no number")),
        Some(Ok(_)) | None => Ok(()),
    }
}

fn basic(user_info: &str) -> Result<Option<Credentials>, ElasticsearchUrlError> {
    if user_info.is_empty() {
        return Ok(None);
    }
    let (user, password) = user_info.split_once(':').ok_or(ElasticsearchUrlError("its user has no password"))?;
    let password = Secret::new(percent_decode(password)?);
    Ok(Some(Credentials::Basic { user: percent_decode(user)?, password }))
}

fn api_key(query: &str) -> Result<Option<Credentials>, ElasticsearchUrlError> {
    match query.split_once('=') {
        None if query.is_empty() => Ok(None),
        Some(("api_key", key)) if !key.is_empty() && !key.contains('&') => {
            Ok(Some(Credentials::ApiKey(Secret::new(percent_decode(key)?))))
        }
        Some(_) | None => Err(ElasticsearchUrlError("its only parameter can be api_key")),
    }
}

fn percent_decode(text: &str) -> Result<String, ElasticsearchUrlError> {
    let malformed = ElasticsearchUrlError("a %-sequence in it is malformed");
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or(malformed)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| malformed)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).map_err(|_| malformed)
}

impl fmt::Display for ElasticsearchUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bases.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(user: &str, password: &str) -> Option<Credentials> {
        Some(Credentials::Basic { user: user.to_owned(), password: Secret::new(password) })
    }

    #[test]
    fn addresses_are_taken_apart() {
        let key = Some(Credentials::ApiKey(Secret::new("a2V5==")));
        for (text, base, credentials) in [
            ("http://localhost:9200", "http://localhost:9200", None),
            ("http://[::1]:9200/", "http://[::1]:9200", None),
            ("https://es.example.org/search/", "https://es.example.org/search", None),
            ("https://elastic:p%40ss:w@es:9200", "https://es:9200", basic("elastic", "p@ss:w")),
            ("https://es:9200?api_key=a2V5==", "https://es:9200", key.clone()),
            ("https://es:9200/?api_key=a2V5%3D%3d", "https://es:9200", key),
        ] {
            let url: ElasticsearchUrl = text.parse().expect(text);
            assert_eq!((url.bases(), url.credentials()), (&[base.to_owned()][..], credentials.as_ref()), "{text}");
        }
    }

    #[test]
    fn wrong_addresses_are_refused_without_being_repeated() {
        for text in [
            "es-hidden:9200",
            "ftp://hidden",
            "http://",
            "http://a:hidden@",
            "http://a:hidden@es:port",
            "http://hidden@es",
            "http://a:hidden%4@es",
            "http://a:hidden%ff@es",
            "http://a:hidden@es?api_key=x",
            "http://es?key=hidden",
            "http://es?api_key=hidden&x=1",
            "http://es?api_key=",
            "http://a:hidden@es,http://b:other@es",
            "http://es,hidden",
        ] {
            let sentence = text.parse::<ElasticsearchUrl>().expect_err(text).to_string();
            assert!(sentence.starts_with("is no server address ("), "{sentence}");
            assert!(!sentence.contains("hidden"), "{sentence}");
        }
    }

    #[test]
    fn credentials_are_never_printed() {
        for text in ["http://a:hunter2@es", "http://es?api_key=hunter2"] {
            let url: ElasticsearchUrl = text.parse().expect("an address");
            assert!(!format!("{url:?}").contains("hunter2"));
        }
        let url: ElasticsearchUrl = "http://a:hunter2@es".parse().expect("an address");
        assert_eq!(url.to_string(), "http://es");
    }

    #[test]
    fn several_nodes_of_one_cluster_share_their_credentials() {
        let url: ElasticsearchUrl = "http://a:b@one:9200, http://two:9200".parse().expect("two nodes");
        assert_eq!(url.bases(), ["http://one:9200", "http://two:9200"]);
        assert_eq!(url.credentials(), basic("a", "b").as_ref());
        assert_eq!(url.to_string(), "http://one:9200,http://two:9200");
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (text, here) in [
            ("http://localhost:9200", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:9200/path", true),
            ("http://localhost,http://es", false),
            ("https://es.example.org", false),
        ] {
            assert_eq!(text.parse::<ElasticsearchUrl>().expect(text).is_loopback(), here, "{text}");
        }
    }
}
