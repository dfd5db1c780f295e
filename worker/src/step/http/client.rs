//! Requests to one server outside. A name is resolved here, so that no connection is opened to an address that may not be called.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use reqwest::{
    dns::{Addrs, Name, Resolve, Resolving},
    header::{HeaderMap, RETRY_AFTER},
    redirect::Policy,
};
use vitrina_shared::domain::{
    hosts::AllowedHosts,
    transform::http::{Method, Origin, Request},
};

const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(86_400);
/// Bytes of an answer that a message quotes.
const QUOTED: usize = 300;
const USER_AGENT: &str = concat!("vitrina/", env!("CARGO_PKG_VERSION"));

#[derive(Debug)]
pub struct Client(reqwest::Client);

/// An answer, whatever it says.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// When the service wants to be asked again.
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

impl Reply {
    /// What it says, cut.
    pub fn words(&self) -> String {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(QUOTED)]).into_owned();
        let text: String = text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
        format!("answers {}: {}", self.status, text.trim())
    }
}

impl Client {
    pub fn new(hosts: &AllowedHosts, origin: &Origin) -> Result<Self, String> {
        let (host, port) = origin.server().ok_or("the address names no server")?;
        hosts.check_host(&host, port).map_err(|refused| refused.to_string())?;
        let (own, resolver) = (origin.clone(), Resolver { hosts: hosts.clone(), port });
        let redirects = Policy::custom(move |attempt| match attempt.previous().len() <= MOST_REDIRECTS {
            true if own.is_of(attempt.url()) => attempt.follow(),
            true | false => attempt.stop(),
        });
        let built = reqwest::Client::builder()
            .dns_resolver(Arc::new(resolver))
            .redirect(redirects)
            .no_proxy()
            .connect_timeout(CONNECTS_WITHIN)
            .user_agent(USER_AGENT)
            .build();
        built.map(Self).map_err(|error| error.to_string())
    }

    /// Sends a request with further headers. An error says why there is no answer.
    pub async fn send(
        &self,
        request: &Request,
        headers: HeaderMap,
        (timeout, max_bytes): (Duration, usize),
    ) -> Result<Reply, String> {
        let mut sent = self.0.request(method(request.method), request.url.clone()).timeout(timeout);
        if request.body.is_some() && !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            sent = sent.header("content-type", "application/json");
        }
        for (name, value) in &request.headers {
            sent = sent.header(name, value);
        }
        sent = sent.headers(headers);
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
        }
        let mut response = sent.send().await.map_err(explain)?;
        let (status, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(explain)? {
            if body.len() + chunk.len() > max_bytes {
                return Err(format!("answers more than {max_bytes} bytes (max_answer_bytes)"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply { status, retry_after, body })
    }
}

fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    }
}

/// The innermost cause. The address is left out: it may quote a row.
fn explain(error: reqwest::Error) -> String {
    let is_late = error.is_timeout();
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if is_late { format!("gives no answer in time: {cause}") } else { format!("gives no answer: {cause}") }
}

/// Seconds, or a date; a day at the most, so that no service stops its callers for good.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    asked_pause(headers).map(|pause| pause.min(LONGEST_PAUSE))
}

fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at: DateTime<Utc> = DateTime::parse_from_rfc2822(text).ok()?.into();
    Some((at - Utc::now()).to_std().unwrap_or_default())
}

struct Resolver {
    hosts: AllowedHosts,
    port: u16,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (hosts, port) = (self.hosts.clone(), self.port);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), port)).await?.collect();
            for address in &found {
                let allowed = hosts.check_address(address.ip(), port);
                allowed.map_err(|refused| io::Error::new(io::ErrorKind::PermissionDenied, refused.to_string()))?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_says_in_seconds_or_by_a_date_when_it_wants_to_be_asked_again() {
        let of = |value: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().expect("a header"))]);
            retry_after(&headers)
        };
        assert_eq!(of("12"), Some(Duration::from_secs(12)));
        assert_eq!(of("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let soon = (Utc::now() + Duration::from_secs(100)).to_rfc2822();
        assert!(of(&soon).is_some_and(|after| (90..=100).contains(&after.as_secs())), "{soon}");
        assert_eq!(of("99999999999999"), Some(LONGEST_PAUSE));
        assert_eq!(of("soon"), None);
        assert_eq!(of("-1"), None);
    }
}
