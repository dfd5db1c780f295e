//! Whether a caller sees values of rows.
//!
//! Operators can read every source by a query of their own, so nothing is hidden from them. A viewer watches pipelines and
//! needs no row for that: of a server's error they see the code, our own messages come without values, dead letters without
//! key and row, reports without rows and samples. `VITRINA_VIEWERS_SEE_VALUES` shows them everything.

use salvo::oapi::ToSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};
use vitrina_shared::domain::{
    Checkpoint, ExternalKind, ReportKind,
    checkpoint::key_time,
    error_class::without_values,
    report::{Preview, Reconciliation, Replay},
};

/// The key and id of a row, as the server writes them.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Checkpoint"))]
pub struct CheckpointView {
    /// Value of the incremental key.
    pub key: String,
    /// Value of the id; null before the first row with a greater key.
    pub id: Option<String>,
}

impl From<Checkpoint> for CheckpointView {
    fn from(checkpoint: Checkpoint) -> Self {
        Self { key: checkpoint.key, id: checkpoint.id }
    }
}

/// How values of rows are shown to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    Shown,
    Withheld,
}

impl Values {
    /// A message that may quote values.
    pub fn message(self, message: String) -> String {
        match self {
            Self::Shown => message,
            // The message comes from a server or a user's function, and may quote any value.
            Self::Withheld => said_by_a_server(&message).unwrap_or_else(|| without_values(&message).into_owned()),
        }
    }

    /// A checkpoint. A key that is a time reveals nothing about its row.
    pub fn checkpoint(self, checkpoint: Checkpoint) -> Option<CheckpointView> {
        match self {
            Self::Shown => Some(checkpoint.into()),
            Self::Withheld => key_time(&checkpoint.key).map(|_| CheckpointView { key: checkpoint.key, id: None }),
        }
    }

    /// A row, or its key.
    pub fn row<T>(self, row: T) -> Option<T> {
        match self {
            Self::Shown => Some(row),
            Self::Withheld => None,
        }
    }

    /// The result of a report. One that cannot be read is left out whole.
    pub fn result(self, kind: ReportKind, result: Box<RawValue>) -> Option<Box<RawValue>> {
        match (self, kind) {
            (Self::Shown, _) => Some(result),
            (Self::Withheld, ReportKind::Preview) => changed(&result, without_rows),
            (Self::Withheld, ReportKind::Reconcile) => changed(&result, without_sample),
            (Self::Withheld, ReportKind::Replay) => changed(&result, without_quotations),
        }
    }
}

fn changed<T: DeserializeOwned + Serialize>(result: &RawValue, change: fn(&mut T)) -> Option<Box<RawValue>> {
    let mut result = serde_json::from_str(result.get()).ok()?;
    change(&mut result);
    to_raw_value(&result).ok()
}

/// The replacement of a server's message, which has only its code. None if the message is ours.
fn said_by_a_server(message: &str) -> Option<String> {
    if let Some((_, rest)) = message.rsplit_once("(SQLSTATE ") {
        let code = rest.split_once(')').map_or("", |(code, _)| code);
        let is_code = code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let told = if is_code { format!(" (SQLSTATE {code})") } else { String::new() };
        return Some(format!("the database refused it{told}; an operator sees its message"));
    }
    let server = ExternalKind::quoted_in(message).map(|kind| kind.server);
    // The type of an error of Elasticsearch.
    let is_type =
        |word: &&str| word.ends_with("_exception") && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let kind = message.split([' ', ':', ';']).find(is_type);
    let server = server.or(kind.map(|_| "Elasticsearch"))?;
    let told = kind.map(|kind| format!(" ({kind})")).unwrap_or_default();
    Some(format!("{server} refused it{told}; an operator sees its message"))
}

fn without_rows(preview: &mut Preview) {
    let withheld = u32::try_from(preview.rows.len()).unwrap_or(u32::MAX);
    preview.rows.clear();
    preview.omitted = preview.omitted.saturating_add(withheld);
    for reason in &mut preview.refused {
        *reason = Values::Withheld.message(std::mem::take(reason));
    }
}

/// The bounds of the control column are values too: of a key, in a full pipeline.
fn without_sample(found: &mut Reconciliation) {
    found.sample.clear();
    for bound in [&mut found.source_min, &mut found.source_max, &mut found.target_min, &mut found.target_max] {
        *bound = None;
    }
}

fn without_quotations(replay: &mut Replay) {
    for error in replay.letters.iter_mut().filter_map(|letter| letter.error.as_mut()) {
        *error = Values::Withheld.message(std::mem::take(error));
    }
}
