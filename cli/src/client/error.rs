//! Errors of a client, each as a sentence that says what to do about it.

use std::fmt::Write as _;

use serde::Deserialize;
use vitrina_shared::{domain::ProblemKind, tls};

use super::Address;

/// A problem of RFC 9457, as the API sends it.
#[derive(Debug, Clone, Deserialize)]
pub struct ApiProblem {
    /// Stable and for programs: `urn:vitrina:problem:…`.
    #[serde(rename = "type")]
    pub kind: String,
    pub status: u16,
    #[serde(default)]
    pub detail: String,
    #[serde(default)]
    pub errors: Vec<FieldError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct FieldError {
    /// Path of the field, for instance `tasks[1].body`; empty for the whole.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

impl FieldError {
    pub fn is(&self, kind: ProblemKind) -> bool {
        self.kind.as_deref() == Some(kind.as_str())
    }
}

const OURS: &str = "urn:vitrina:problem:";

impl ApiProblem {
    /// Whether a Vitrina wrote it.
    pub fn is_ours(&self) -> bool {
        self.kind.starts_with(OURS)
    }

    /// Whether it is of this kind: the last part of its URN.
    pub fn is(&self, kind: &str) -> bool {
        self.kind.strip_prefix(OURS) == Some(kind)
    }
}

/// Why a command could not be done.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error(
        "no API answers at {address} ({reason}): start one with `vitrina up`, or say where it is with --url or \
         VITRINA_URL"
    )]
    Unreachable { address: Address, reason: String },
    #[error(
        "the certificate of {address} is not trusted ({reason}): use a certificate of an authority that this machine \
         knows, or name its file in SSL_CERT_FILE"
    )]
    Certificate { address: Address, reason: String },
    #[error("{address} did not answer in time: see whether it is busy (`vitrina doctor`), and try again")]
    TimedOut { address: Address },
    #[error(
        "the connection to {address} was lost ({reason}): see whether this is the API's address and the API still runs, and try again"
    )]
    Lost { address: Address, reason: String },
    /// `to` is the target of a redirect.
    #[error("{}", not_vitrina(url, *status, to.as_deref()))]
    NotVitrina { url: String, status: u16, to: Option<String> },
    #[error("{}", unauthorized(*has_token))]
    Unauthorized { has_token: bool },
    #[error("{detail}: ask for a token with that role, and give it with VITRINA_TOKEN or --token")]
    Forbidden { detail: String },
    /// 404 for a pipeline.
    #[error("there is no pipeline `{name}`{}", suggestion(meant.as_deref(), *known))]
    NoPipeline { name: String, meant: Option<String>, known: usize },
    #[error("{}", refused(.0))]
    Refused(ApiProblem),
    #[error(
        "the file .env of this directory names the address ({name}), and not the token: a token is sent only to an address that \
         you gave yourself; give --url or set VITRINA_URL in the environment, or keep both in the file"
    )]
    Mixed { name: &'static str },
    #[error("{name} is wrong: {reason}")]
    Variable { name: &'static str, reason: String },
    #[error("{0}")]
    Report(String),
    #[error("cannot prepare for HTTP: {0}")]
    NoHttp(String),
}

impl ClientError {
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NoPipeline { .. }) || matches!(self, Self::Refused(problem) if problem.is("not-found"))
    }

    /// Whether it may pass: the API or its database is away.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Lost { .. } => true,
            Self::Refused(problem) => matches!(problem.status, 429 | 503),
            // A proxy in between that has lost the API.
            Self::NotVitrina { status, .. } => matches!(status, 502..=504),
            Self::Certificate { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NoPipeline { .. }
            | Self::Mixed { .. }
            | Self::Variable { .. }
            | Self::Report(_)
            | Self::NoHttp(_) => false,
        }
    }

    pub(super) fn lost(address: &Address, error: &reqwest::Error) -> Self {
        let (address, reason) = (address.clone(), root_cause(error));
        if tls::refusal(error) == Some(tls::TlsRefusal::Certificate) {
            Self::Certificate { address, reason }
        } else if error.is_connect() {
            Self::Unreachable { address, reason }
        } else if error.is_timeout() {
            Self::TimedOut { address }
        } else {
            Self::Lost { address, reason }
        }
    }
}

/// The innermost cause, which has the useful message.
fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    if tls::refusal(error) == Some(tls::TlsRefusal::NotTls) {
        return "it does not speak TLS; perhaps http:// is meant".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = cause.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text).trim_end_matches('.');
    text.chars().next().map(|first| first.to_lowercase().chain(text.chars().skip(1)).collect()).unwrap_or_default()
}

fn not_vitrina(url: &str, status: u16, to: Option<&str>) -> String {
    match to {
        Some(to) if (300..400).contains(&status) => {
            format!("{url} sends elsewhere ({status}): give the address that it names, {to}, with --url or VITRINA_URL")
        }
        _ => format!(
            "{url} answers, but not as a Vitrina API does (status {status}): check --url or VITRINA_URL; \
             it takes the address of `vitrina api` or `vitrina up`"
        ),
    }
}

fn unauthorized(has_token: bool) -> &'static str {
    if has_token {
        "the API does not know this token: compare VITRINA_TOKEN (or --token) with the secrets in its VITRINA_TOKENS"
    } else {
        "the API asks for a token: set VITRINA_TOKEN, or give --token"
    }
}

fn suggestion(meant: Option<&str>, known: usize) -> String {
    match (meant, known) {
        (Some(meant), _) => format!(": did you mean `{meant}`?"),
        (None, 0) => ": there is none at all yet; `vitrina apply -f FILE.yaml` creates some".to_owned(),
        (None, _) => ": `vitrina ls` lists what there is".to_owned(),
    }
}

fn refused(problem: &ApiProblem) -> String {
    let mut text = match problem.kind.strip_prefix(OURS) {
        Some("not-yet") => format!("{}: it needs a newer API", problem.detail),
        Some("stale-version") => {
            format!("{}: it was changed meanwhile; read it again and repeat the change", problem.detail)
        }
        Some("too-many") => "the API has too much to do: try again in a moment".to_owned(),
        Some("no-route") => {
            "the API has no such call: check the path in --url or VITRINA_URL, which is usually none; otherwise the command needs a \
             newer API"
                .to_owned()
        }
        _ if problem.detail.is_empty() => format!("the API answered {}", problem.status),
        _ => problem.detail.clone(),
    };
    for error in &problem.errors {
        let field = if error.field.is_empty() { String::new() } else { format!("{}: ", error.field) };
        let _ = write!(text, "\n  {field}{}", error.message);
    }
    text
}
