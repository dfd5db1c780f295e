//! What is sent for a row, or for several.

use std::collections::BTreeSet;

use minijinja::value::Value;
use sha2::{Digest, Sha256};
use url::{Host, Url};

use super::{
    super::{RowDocument, pointer, value::Json},
    options::{Method, Options, PollOptions},
    template::{Template, check_bytes, context, values},
};

/// The name by which templates of a call for several rows take them.
const ROWS: &str = "rows";
/// The name by which the address of a poll takes the service's id.
const ID: &str = "id";
const MAX_ID_BYTES: usize = 500;

/// A server: scheme, host and port. It stands in the plan and never comes from a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin(url::Origin);

impl Origin {
    /// The server of an address without anything to fill in, and the address.
    pub fn of(address: &str) -> Result<(Self, Url), String> {
        let url = Url::parse(address).map_err(|error| format!("is no URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err("begins with http:// or https:// and a host".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("has no account: a key comes from `keys`".to_owned());
        }
        Ok((Self(url.origin()), url))
    }

    /// The server of a template's address: its scheme and host have nothing to fill in.
    fn of_template(text: &str) -> Result<Self, String> {
        let fixed = text.find('{').map_or(text, |at| &text[..at]);
        let rest = fixed.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
        if fixed.len() < text.len() && !rest.contains(['/', '?']) {
            return Err("scheme and host stand in the plan: columns begin after the host's `/`".to_owned());
        }
        Self::of(fixed).map(|(origin, _)| origin)
    }

    /// Its host and port.
    pub fn server(&self) -> Option<(Host<&str>, u16)> {
        let url::Origin::Tuple(_, host, port) = &self.0 else { return None };
        let host = match host {
            Host::Domain(name) => Host::Domain(name.as_str()),
            Host::Ipv4(address) => Host::Ipv4(*address),
            Host::Ipv6(address) => Host::Ipv6(*address),
        };
        Some((host, *port))
    }

    pub fn is_of(&self, url: &Url) -> bool {
        url.origin() == self.0
    }

    /// The address, if it is one of this server. It is read as it is: nothing in it is left out or moved before it is checked.
    pub fn address(&self, text: &str) -> Result<Url, String> {
        if text.chars().any(|sign| sign.is_control() || sign.is_whitespace()) {
            return Err("has white space or control characters: write columns with `| urlencode`".to_owned());
        }
        let is_dots = |segment: &str| {
            let segment = segment.to_ascii_lowercase().replace("%2e", ".");
            segment == "." || segment == ".."
        };
        let path = text.split(['?', '#']).next().unwrap_or(text);
        if path.split(['/', '\\']).any(is_dots) {
            return Err("has `.` or `..` in its path".to_owned());
        }
        let (origin, url) = Self::of(text)?;
        if origin == *self { Ok(url) } else { Err("leads to another server than the plan says".to_owned()) }
    }
}

/// A request as it is sent, without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    pub url: Url,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

impl Request {
    /// Tells it from every other request.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        take_in(&mut digest, self.method.as_str());
        take_in(&mut digest, self.url.as_str());
        for (name, value) in &self.headers {
            take_in(&mut digest, name);
            take_in(&mut digest, value);
        }
        take_in(&mut digest, self.body.as_deref().unwrap_or_default());
        digest.finalize().into()
    }
}

/// With its length, so that no two lists of texts are one.
fn take_in(digest: &mut Sha256, text: &str) {
    digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
    digest.update(text.as_bytes());
}

/// The parts of a request before a row fills them.
#[derive(Debug, Clone)]
pub struct Templates {
    pub method: Method,
    pub origin: Origin,
    url: Template,
    headers: Vec<(String, Template)>,
    body: Option<Template>,
    /// The columns that they take from a row.
    columns: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Templates {
    pub(super) fn of(options: &Options) -> Result<Self, String> {
        let origin = Origin::of_template(&options.url).map_err(|refusal| format!("url: {refusal}"))?;
        let url = Template::parse(&options.url).map_err(|refusal| format!("url: {refusal}"))?;
        let header = |(name, text): (&String, &String)| {
            check_plain_header(name).map_err(|refusal| format!("headers.{name}: {refusal}"))?;
            let template = Template::parse(text).map_err(|refusal| format!("headers.{name}: {refusal}"))?;
            Ok((name.clone(), template))
        };
        let headers = options.headers.iter().map(header).collect::<Result<Vec<_>, String>>()?;
        let body = options.body.as_deref().map(Template::parse).transpose();
        let body = body.map_err(|refusal| format!("body: {refusal}"))?;
        let method = options.method.unwrap_or(if body.is_some() { Method::Post } else { Method::Get });
        let templates = std::iter::once(&url).chain(headers.iter().map(|(_, template)| template)).chain(&body);
        let names: BTreeSet<String> = templates.flat_map(Template::names).collect();
        let columns = match options.rows_per_call {
            0 | 1 => names.clone(),
            _ => options.input.iter().cloned().collect(),
        };
        if options.rows_per_call > 1
            && let Some(name) = names.iter().find(|name| *name != ROWS)
        {
            return Err(format!("`{name}`: templates of a call for several rows take `rows` alone"));
        }
        Ok(Self { method, origin, url, headers, body, columns, names })
    }

    pub fn columns(&self) -> impl Iterator<Item = &String> {
        self.columns.iter()
    }

    pub(super) fn take(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The request for one row.
    pub fn for_row(&self, row: &RowDocument) -> Result<Request, String> {
        check_bytes(row, &self.columns)?;
        self.fill(&context(values(row, &self.columns))?)
    }

    /// The request for several rows.
    pub fn for_rows<'a>(&self, rows: impl IntoIterator<Item = &'a RowDocument>) -> Result<Request, String> {
        let rows = rows.into_iter().map(|row| context(values(row, &self.columns)));
        let rows = Value::from(rows.collect::<Result<Vec<_>, _>>()?);
        self.fill(&context(std::iter::once(Ok((ROWS.to_owned(), rows))))?)
    }

    /// Tells what a row contributes to a call for several from what any other does. A row that cannot be read contributes nothing:
    /// the others go without it.
    pub fn digest_of(&self, row: &RowDocument) -> Result<[u8; 32], String> {
        check_bytes(row, &self.columns)?;
        context(values(row, &self.columns))?;
        Ok(self.digest_with(&self.columns, row))
    }

    /// Tells what a row is about from what any other is, for these requests: another step of the plan asks something else.
    pub fn entity_of(&self, entity: &[String], row: &RowDocument) -> [u8; 32] {
        self.digest_with(entity, row)
    }

    fn digest_with<'a>(&self, columns: impl IntoIterator<Item = &'a String>, row: &RowDocument) -> [u8; 32] {
        let mut digest = Sha256::new();
        let templates =
            [&self.url].into_iter().chain(self.headers.iter().map(|(_, template)| template)).chain(&self.body);
        templates.for_each(|template| take_in(&mut digest, template.text()));
        for column in columns {
            take_in(&mut digest, column);
            take_in(&mut digest, row.raw(column).unwrap_or("null"));
        }
        digest.finalize().into()
    }

    fn fill(&self, context: &Value) -> Result<Request, String> {
        let url = self.url.render(context).map_err(|refusal| format!("url: {refusal}"))?;
        let url = self.origin.address(&url).map_err(|refusal| format!("url: {refusal}"))?;
        let header = |(name, template): &(String, Template)| {
            let value = template.render(context).map_err(|refusal| format!("headers.{name}: {refusal}"))?;
            if value.chars().any(char::is_control) {
                return Err(format!("headers.{name}: the value has control characters"));
            }
            Ok((name.clone(), value))
        };
        let headers = self.headers.iter().map(header).collect::<Result<Vec<_>, String>>()?;
        let body = self.body.as_ref().map(|body| body.render(context)).transpose();
        let body = body.map_err(|refusal| format!("body: {refusal}"))?;
        Ok(Request { method: self.method, url, headers, body })
    }
}

/// How the result of a call is asked for that the service works on.
#[derive(Debug, Clone)]
pub struct Poll {
    pub id: Vec<String>,
    pub origin: Origin,
    url: Template,
    columns: BTreeSet<String>,
    pub every_seconds: u16,
    pub deadline_seconds: u32,
    pub state: Vec<String>,
    pub done: Vec<String>,
    pub failed: Vec<String>,
}

impl Poll {
    pub(super) fn of(options: &PollOptions) -> Result<Self, String> {
        let of = |name: &str, refusal: String| format!("poll.{name}: {refusal}");
        let origin = Origin::of_template(&options.url).map_err(|refusal| of("url", refusal))?;
        let url = Template::parse(&options.url).map_err(|refusal| of("url", refusal))?;
        let mut columns = url.names();
        if !columns.remove(ID) {
            return Err(of("url", "takes the service's id as `{{ id }}`".to_owned()));
        }
        if options.done.is_empty() {
            return Err(of("done", "name at least one state".to_owned()));
        }
        Ok(Self {
            id: pointer::path(&options.id).map_err(|refusal| of("id", refusal))?,
            state: pointer::path(&options.state).map_err(|refusal| of("state", refusal))?,
            done: options.done.clone(),
            failed: options.failed.clone(),
            every_seconds: options.every_seconds,
            deadline_seconds: options.deadline_seconds,
            origin,
            url,
            columns,
        })
    }

    pub fn columns(&self) -> impl Iterator<Item = &String> {
        self.columns.iter()
    }

    pub fn request(&self, id: &str, row: &RowDocument) -> Result<Request, String> {
        let context = context(values(row, &self.columns).chain([Ok((ID.to_owned(), Value::from(id)))]))?;
        let url = self.url.render(&context).map_err(|refusal| format!("poll.url: {refusal}"))?;
        let url = self.origin.address(&url).map_err(|refusal| format!("poll.url: {refusal}"))?;
        Ok(Request { method: Method::Get, url, headers: Vec::new(), body: None })
    }

    /// The id in the first answer, as a text.
    pub fn id_in(&self, answer: &str) -> Option<String> {
        text_at(answer, &self.id).filter(|id| !id.is_empty() && id.len() <= MAX_ID_BYTES && !id.contains('\0'))
    }

    pub fn state_in(&self, answer: &str) -> Option<String> {
        text_at(answer, &self.state)
    }
}

/// A text, or what is written there; an answer that cannot be read has none.
fn text_at(document: &str, path: &[String]) -> Option<String> {
    match Json::read(pointer::find(document, path).ok()??)? {
        Json::Text(text) => Some(text),
        Json::Number(digits) => Some(digits.to_owned()),
        Json::Boolean(value) => Some(value.to_string()),
        Json::Null | Json::Structure => None,
    }
}

/// Headers that say how a request is sent, which is the worker's part.
const OWN_HEADERS: [&str; 8] =
    ["connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"];

/// Headers with which one identifies oneself. Viewers read plans.
const SECRET_HEADERS: [&str; 5] = ["authorization", "cookie", "proxy-authorization", "x-api-key", "x-auth-token"];

/// Whether a header may stand in a plan.
pub(super) fn check_plain_header(name: &str) -> Result<(), String> {
    if SECRET_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(
            "holds a secret, which comes from `keys`: everyone who may look at the pipeline reads its plan".to_owned()
        );
    }
    check_header(name)
}

pub(super) fn check_header(name: &str) -> Result<(), String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 100 || !name.bytes().all(is_name) {
        return Err("is no name of a header".to_owned());
    }
    if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err("is set by the worker".to_owned());
    }
    Ok(())
}
