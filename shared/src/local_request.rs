//! Which requests a listener answers that asks for no token and therefore trusts this machine alone.
//!
//! A browser on this machine reaches a loopback port on behalf of every website that it shows. Two rules keep those out:
//!
//! - `Host` must name this machine. A website that lets its own name point at 127.0.0.1 (DNS rebinding) still sends its name.
//! - `Origin` must be the listener's own, and `Sec-Fetch-Site` must not be another site's, where they are sent. Browsers add
//!   these headers and no page can change them; other programs send neither.
//!
//! They hold for every method and path: reading is what a website wants first, and a `POST` without a body needs no permission
//! of CORS. A name below `localhost` is not accepted: some systems ask DNS for it.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Why a request is refused. The sentences repeat nothing that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ForeignRequest {
    #[error("`Host` does not name this machine: use an address such as localhost, 127.0.0.1 or [::1]")]
    Host,
    #[error("`Origin` is that of another website: only pages that this server shows may call it from a browser")]
    Origin,
    #[error("`Sec-Fetch-Site` says that another website sent this: type the address into the browser yourself")]
    Site,
}

/// What a request says of where it comes from. A header that was sent twice has two values.
#[derive(Debug, Clone, Default)]
pub struct Provenance<'a> {
    /// The host and port that the request line names, if it does.
    pub authority: Option<&'a str>,
    /// `Host`.
    pub host: Vec<&'a [u8]>,
    /// `Origin`.
    pub origin: Vec<&'a [u8]>,
    /// `Sec-Fetch-Site`.
    pub site: Vec<&'a [u8]>,
}

impl<'a> Provenance<'a> {
    /// Gathers the headers of a request; `values` returns all values of a header.
    pub fn of(authority: Option<&'a str>, values: impl Fn(&'static str) -> Vec<&'a [u8]>) -> Self {
        Self { authority, host: values("host"), origin: values("origin"), site: values("sec-fetch-site") }
    }

    /// Refuses what a browser sent for another website.
    pub fn check(&self) -> Result<(), ForeignRequest> {
        let [host] = self.host[..] else { return Err(ForeignRequest::Host) };
        let Some(host) = std::str::from_utf8(host).ok().filter(|host| names_this_machine(host)) else {
            return Err(ForeignRequest::Host);
        };
        if !self.authority.is_none_or(names_this_machine) {
            return Err(ForeignRequest::Host);
        }
        let own = format!("http://{host}");
        if self.origin.iter().any(|origin| *origin != own.as_bytes()) {
            return Err(ForeignRequest::Origin);
        }
        if self.site.iter().any(|site| !matches!(*site, b"same-origin" | b"none")) {
            return Err(ForeignRequest::Site);
        }
        Ok(())
    }
}

/// Whether this is `localhost`, an IPv4 address of 127.0.0.0/8 or the loopback address of IPv6, with or without a port.
fn names_this_machine(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let is_loopback = address.parse().is_ok_and(|address: Ipv6Addr| address.to_canonical().is_loopback());
            return is_loopback && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
        }
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let is_ours = name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|a: Ipv4Addr| a.is_loopback());
    is_ours && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent<'a>(host: &'a str, origin: Option<&'a str>, site: Option<&'a str>) -> Result<(), ForeignRequest> {
        let values = |value: Option<&'a str>| value.map(str::as_bytes).into_iter().collect();
        let host = vec![host.as_bytes()];
        Provenance { authority: None, host, origin: values(origin), site: values(site) }.check()
    }

    #[test]
    fn a_program_of_this_machine_is_let_through_by_any_of_its_names_and_ports() {
        for host in [
            "localhost",
            "LocalHost:1",
            "127.0.0.1",
            "127.0.0.1:8080",
            "127.8.8.8:65535",
            "[::1]",
            "[::1]:8080",
            "[0:0:0:0:0:0:0:1]:80",
            "[::ffff:127.0.0.1]:80",
            "[::ffff:7f00:1]:80",
        ] {
            assert_eq!(sent(host, None, None), Ok(()), "{host}");
        }
    }

    #[test]
    fn a_request_to_any_other_name_is_refused() {
        for host in [
            "",
            "rebound.example:8080",
            "localhost.rebound.example",
            "127.0.0.1.rebound.example",
            "app.localhost",
            "localhost.",
            "localhost:",
            "localhost:http",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "user@localhost",
            "localhost/",
            " localhost",
            "127.1",
            "2130706433",
            "0177.0.0.1",
            "128.0.0.1",
            "0.0.0.0:8080",
            "[::]",
            "[::2]:80",
            "[::1",
            "::1",
            "[::1]x",
            "[::1]:",
            "[::1%25lo]",
            "[127.0.0.1]",
        ] {
            assert_eq!(sent(host, None, None), Err(ForeignRequest::Host), "{host}");
        }
    }

    #[test]
    fn a_request_needs_exactly_one_host_and_its_line_must_not_name_another() {
        let check =
            |host: Vec<&'static [u8]>, authority| Provenance { authority, host, ..Provenance::default() }.check();
        assert_eq!(check(vec![], None), Err(ForeignRequest::Host));
        assert_eq!(check(vec![b"localhost", b"localhost"], None), Err(ForeignRequest::Host));
        assert_eq!(check(vec![b"\xff"], None), Err(ForeignRequest::Host));
        assert_eq!(check(vec![b"localhost"], Some("rebound.example")), Err(ForeignRequest::Host));
        assert_eq!(check(vec![b"localhost"], Some("localhost")), Ok(()));
    }

    #[test]
    fn only_the_pages_of_this_server_may_call_it_from_a_browser() {
        let host = "127.0.0.1:8080";
        for origin in [None, Some("http://127.0.0.1:8080")] {
            for site in [None, Some("same-origin"), Some("none")] {
                assert_eq!(sent(host, origin, site), Ok(()), "{origin:?} {site:?}");
            }
        }
        for origin in [
            "null",
            "",
            "http://rebound.example",
            "https://127.0.0.1:8080",
            "http://127.0.0.1:3000",
            "http://127.0.0.1",
            "http://localhost:8080",
            "http://127.0.0.1:8080/",
            "http://127.0.0.1:8080 http://rebound.example",
        ] {
            assert_eq!(sent(host, Some(origin), None), Err(ForeignRequest::Origin), "{origin}");
        }
        for site in ["cross-site", "same-site", "", "same-origin, cross-site", "anything"] {
            assert_eq!(sent(host, None, Some(site)), Err(ForeignRequest::Site), "{site}");
        }
        assert_eq!(sent("localhost", Some("http://localhost"), None), Ok(()));
    }

    #[test]
    fn a_header_that_was_sent_twice_is_right_only_if_both_are() {
        let twice = Provenance {
            authority: None,
            host: vec![b"localhost"],
            origin: vec![b"http://localhost", b"http://rebound.example"],
            site: vec![],
        };
        assert_eq!(twice.check(), Err(ForeignRequest::Origin));
        let sites = Provenance { origin: vec![], site: vec![b"none", b"cross-site"], ..twice };
        assert_eq!(sites.check(), Err(ForeignRequest::Site));
    }
}
