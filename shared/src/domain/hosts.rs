//! Which servers outside a step may call: those that the operator lists, and no address inside the operator's network unless that
//! address is listed too.
//!
//! A name is checked before it is resolved, and every address that it resolves to before a connection is opened
//! (`worker/src/step/http/client.rs`): a name that leads to another address a moment later is refused then.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use url::Host;

/// What the operator lists: names, names with all names below them (`*.example.org`), addresses and networks, each with a port
/// or for all ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    host: Listed,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Listed {
    Name(String),
    Below(String),
    Network { address: IpAddr, bits: u8 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AllowedHosts {
    /// Reads a list whose parts are separated by commas.
    pub fn parse(list: &str) -> Result<Self, String> {
        let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| Entry::parse(part).ok_or_else(|| wrong(part))).collect::<Result<_, _>>().map(Self)
    }

    pub fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Whether a URL may name this host: before it is resolved.
    pub fn check_host(&self, host: &Host<&str>, port: u16) -> Result<(), Refused> {
        let is_listed = match host {
            Host::Domain(name) => self.entries(port).any(|entry| entry.names(name)),
            Host::Ipv4(address) => self.lists_address((*address).into(), port),
            Host::Ipv6(address) => self.lists_address((*address).into(), port),
        };
        let refusal = || Refused(format!("{host}:{port} is not in VITRINA_HTTP_HOSTS of this worker"));
        if is_listed { Ok(()) } else { Err(refusal()) }
    }

    /// Whether a connection to this address may be opened, for a host that may be named.
    pub fn check_address(&self, address: IpAddr, port: u16) -> Result<(), Refused> {
        if is_public(address) || self.lists_address(address, port) {
            return Ok(());
        }
        Err(Refused(format!(
            "{address} is an address inside of a network, and VITRINA_HTTP_HOSTS of this worker does not list it"
        )))
    }

    fn entries(&self, port: u16) -> impl Iterator<Item = &Entry> {
        self.0.iter().filter(move |entry| entry.port.is_none_or(|listed| listed == port))
    }

    fn lists_address(&self, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        self.entries(port).any(|entry| entry.contains(address))
    }
}

fn wrong(part: &str) -> String {
    format!(
        "has \"{part}\", and takes hosts separated by commas: api.example.org, api.example.org:8443, *.example.org, 127.0.0.1:9000, \
         [::1]:9000 or 10.1.0.0/16"
    )
}

impl Entry {
    fn parse(part: &str) -> Option<Self> {
        if let Some((address, bits)) = part.split_once('/') {
            let (address, bits): (IpAddr, u8) = (address.parse().ok()?, bits.parse().ok()?);
            let most = if address.is_ipv4() { 32 } else { 128 };
            return (bits <= most).then_some(Self { host: Listed::Network { address, bits }, port: None });
        }
        let (host, port) = match part.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port.parse().ok()?)),
            Some(_) | None => (part, None),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            let bits = if address.is_ipv4() { 32 } else { 128 };
            return Some(Self { host: Listed::Network { address: address.to_canonical(), bits }, port });
        }
        let (is_below, name) = host.strip_prefix("*.").map_or((false, host), |name| (true, name));
        let Ok(Host::Domain(name)) = Host::parse(name) else { return None };
        if name.contains('*') {
            return None;
        }
        let host = if is_below { Listed::Below(format!(".{name}")) } else { Listed::Name(name) };
        Some(Self { host, port })
    }

    fn names(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        match &self.host {
            Listed::Name(listed) => listed == name,
            Listed::Below(suffix) => name.ends_with(suffix.as_str()),
            Listed::Network { .. } => false,
        }
    }

    fn contains(&self, found: IpAddr) -> bool {
        let Listed::Network { address, bits } = self.host else { return false };
        match (address, found) {
            (IpAddr::V4(address), IpAddr::V4(found)) => {
                let shift = 32 - u32::from(bits);
                address.to_bits().checked_shr(shift) == found.to_bits().checked_shr(shift)
            }
            (IpAddr::V6(address), IpAddr::V6(found)) => {
                let shift = 128 - u32::from(bits);
                address.to_bits().checked_shr(shift) == found.to_bits().checked_shr(shift)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Whether an address is one of the public internet: neither of this machine nor of a network around it, and none that stands for
/// such an address.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        (0 | 10 | 127 | 224..=255, _, _) | (169, 254, _) | (192, 168, _) | (192, 0, 0 | 2) => true,
        (192, 88, 99) | (198, 51, 100) | (203, 0, 113) => true,
        (100, b, _) => (64..128).contains(&b),
        (172, b, _) => (16..32).contains(&b),
        (198, b, _) => (18..20).contains(&b),
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        // ::ffff:a.b.c.d, and the older ::a.b.c.d.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] => is_public_v4(v4(high, low)),
        // NAT64 and 6to4 carry an address of version 4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Teredo, documentation, ORCHID.
        [0x2001, 0, ..] | [0x2001, 0xdb8, ..] | [0x2001, 0x10..=0x2f, ..] | [0x3fff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn check(hosts: &AllowedHosts, url: &str) -> Result<(), String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let host = url.host().ok_or("no host")?;
        let port = url.port_or_known_default().ok_or("no port")?;
        hosts.check_host(&host, port).map_err(|refused| refused.to_string())
    }

    #[test]
    fn only_listed_hosts_may_be_named_however_the_url_writes_them() {
        let hosts = AllowedHosts::parse(
            "api.example.org:443, *.below.example, 10.1.0.0/16, 127.0.0.1:9000,[::1]:9000, 8.8.8.8",
        );
        let hosts = hosts.expect("a list");
        for url in [
            "https://api.example.org/x",
            "https://API.example.org./x",
            "http://one.below.example",
            "http://a.b.below.example:81",
            "http://10.1.255.255:81",
            "http://127.0.0.1:9000",
            "http://0x7f.1:9000",
            "http://2130706433:9000",
            "http://[::1]:9000",
            "http://[::ffff:127.0.0.1]:9000",
            "http://8.8.8.8",
        ] {
            assert_eq!(check(&hosts, url), Ok(()), "{url}");
        }
        for url in [
            "http://api.example.org/x",
            "https://api.example.org:444",
            "https://api.example.org.evil.example",
            "https://evil.example/api.example.org",
            "https://api.example.org@evil.example/",
            "https://evil.example#api.example.org",
            "https://evil.example\\@api.example.org",
            "https://below.example",
            "https://evilbelow.example",
            "http://127.0.0.1",
            "http://127.0.0.1:9001",
            "http://127.1",
            "http://0177.0.0.1",
            "http://0x7f000001",
            "http://2130706433",
            "http://127.0.0.2:9000",
            "http://localhost:9000",
            "http://[::1]",
            "http://[::]:9000",
            "http://0.0.0.0:9000",
            "http://0:9000",
            "http://10.2.0.1",
            "http://169.254.169.254/latest/meta-data",
            "http://[::ffff:169.254.169.254]",
            "http://[fe80::1]",
            "http://8.8.4.4",
            "http://metadata.google.internal",
        ] {
            let refusal = check(&hosts, url).expect_err(url);
            assert!(refusal.contains("is not in VITRINA_HTTP_HOSTS"), "{url}: {refusal}");
        }
    }

    #[test]
    fn a_listed_name_may_not_lead_inside() {
        let hosts = AllowedHosts::parse("api.example.org, 10.1.2.3:9000").expect("a list");
        for inside in [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.4",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2001:20::1",
            "2002:a00:1::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            let address: IpAddr = inside.parse().expect(inside);
            assert!(hosts.check_address(address, 443).is_err(), "{inside}");
        }
        for outside in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "198.20.0.1", "2606:4700::1111", "2002:808:808::1"] {
            assert_eq!(hosts.check_address(outside.parse().expect(outside), 443), Ok(()), "{outside}");
        }
        let listed: IpAddr = "10.1.2.3".parse().expect("an address");
        assert_eq!(hosts.check_address(listed, 9000), Ok(()));
        assert!(hosts.check_address(listed, 443).is_err());
        assert!(hosts.check_address("::ffff:10.1.2.3".parse().expect("mapped"), 9000).is_ok());
    }

    #[test]
    fn what_is_no_host_is_named() {
        for part in ["http://a.example", "a b", "a.example:port", "10.0.0.0/33", "*", "a.example:70000", "[::1", "a/b"]
        {
            let refusal = AllowedHosts::parse(&format!("ok.example, {part}")).expect_err(part);
            assert!(refusal.contains(&format!("\"{part}\"")), "{refusal}");
        }
        assert_eq!(AllowedHosts::parse(" , "), Ok(AllowedHosts::default()));
    }
}
