//! Steps in Python: the operator's code, executed by long-lived processes of this worker.
//!
//! A process gets a block of rows in one frame and answers with one (`frames`). It is in the hands of one block at a time, and is
//! killed with its whole process group where that block does not end well: it took too long, the run was cancelled, the answer is
//! none. The next block gets another process (`pool`). What a step prints becomes lines of this worker's log (`output`).

mod catalog;
mod frames;
mod interpreter;
mod loaded;
mod output;
mod pool;
mod process;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use vitrina_shared::domain::{
    ColumnType, ErrorClass, SourceColumn,
    transform::{PublishedStep, RowDocument},
};

pub use self::interpreter::Interpreter;
use self::{pool::Pool, process::ProcessError};
use super::{Block, Processed, Step, StepContext, StepError};

/// The longest rest that a step may ask for: what is longer is cut (`error::LONGEST_REST`).
const LONGEST_REST: f64 = 86_400.0;

/// What `json` of every version of Python reads without exhausting its stack, and in little time.
const MOST_NESTED: usize = 500;
const MOST_DIGITS: usize = 131_072;
const LIMITS: &str = "at most 500 levels, and 131072 digits of a number";

/// Whether a value in JSON is within these limits.
fn is_readable(json: &str) -> bool {
    let (mut depth, mut digits, mut in_text, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in json.bytes() {
        if in_text {
            (in_text, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MOST_NESTED || digits > MOST_DIGITS {
            return false;
        }
    }
    true
}

/// The steps in Python of this worker.
#[derive(Debug)]
pub struct Python {
    steps: Vec<Arc<PublishedStep>>,
    pool: Arc<Pool>,
}

impl Python {
    pub fn steps(&self) -> &[Arc<PublishedStep>] {
        &self.steps
    }

    /// The step of this name with a plan's options, for rows with these columns. For a mart arrays travel as texts.
    pub(super) fn step(
        &self,
        name: &str,
        options: &Map<String, Value>,
        (columns, key): (&[SourceColumn], &[String]),
        arrays_as_text: bool,
    ) -> Option<Box<dyn Step>> {
        let declared = self.steps.iter().find(|step| step.name == name)?.clone();
        let kept = |column: &SourceColumn| (column.name.clone(), ColumnType::of(column.plain_type()).any_length());
        let sets = declared.columns.iter().map(|column| (column.name.clone(), column.type_name.clone()));
        let fixed = Fixed {
            step: declared.name.clone(),
            options: Value::Object(options.clone()).to_string(),
            columns: columns.iter().map(kept).collect(),
            sets: sets.collect(),
            key: key.to_vec(),
            arrays: if arrays_as_text { "text" } else { "json" },
        };
        Some(Box::new(PythonStep { declared, fixed, pool: self.pool.clone() }))
    }
}

#[derive(Debug)]
struct PythonStep {
    declared: Arc<PublishedStep>,
    fixed: Fixed,
    pool: Arc<Pool>,
}

/// What is the same in all requests of a step.
#[derive(Debug, Serialize)]
struct Fixed {
    step: String,
    /// As a text: in the request's own JSON, numbers with a fraction become decimals.
    options: String,
    columns: Vec<(String, String)>,
    sets: Vec<(String, String)>,
    key: Vec<String>,
    arrays: &'static str,
}

#[derive(Serialize)]
struct Request<'a> {
    id: u64,
    #[serde(flatten)]
    fixed: &'a Fixed,
    context: RequestContext<'a>,
    rows: Vec<&'a RowDocument>,
}

#[derive(Serialize)]
struct RequestContext<'a> {
    pipeline_id: String,
    id: String,
    correlation_id: &'a str,
}

#[derive(Deserialize)]
struct Answer<'a> {
    /// For each row the values of the columns that the step sets, or the reason why it is refused.
    #[serde(borrow)]
    rows: Option<Vec<&'a RawValue>>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    class: ErrorClass,
    message: String,
    #[serde(default)]
    after: Option<f64>,
    /// Whether the step broke a rule, so that the message is of the package and quotes no value.
    #[serde(default)]
    rule: bool,
}

#[async_trait]
impl Step for PythonStep {
    async fn execute(&self, context: &StepContext, block: Block) -> Result<Processed, StepError> {
        let mut rejected = Vec::new();
        let mut readable = Vec::with_capacity(block.len());
        for row in block {
            match self.unreadable(&row.document) {
                Some(column) => {
                    rejected.push(row.reject(format!("column `{column}` has more than Python can read: {LIMITS}")))
                }
                None => readable.push(row),
            }
        }
        if readable.is_empty() {
            return Ok(Processed { rows: readable, rejected });
        }
        let mut processed = self.ask(context, readable).await?;
        processed.rejected.extend(rejected);
        Ok(processed)
    }
}

impl PythonStep {
    /// The column of a row whose JSON would exhaust the stack or the time of a process.
    fn unreadable(&self, document: &RowDocument) -> Option<&str> {
        let names = self.fixed.columns.iter().map(|(name, _)| name.as_str());
        names.into_iter().find(|name| document.raw(name).is_some_and(|json| !is_readable(json)))
    }

    async fn ask(&self, context: &StepContext, block: Block) -> Result<Processed, StepError> {
        let id = self.pool.next_id();
        let request = Request {
            id,
            fixed: &self.fixed,
            context: RequestContext {
                pipeline_id: context.pipeline.to_string(),
                id: context.id.to_string(),
                correlation_id: &context.correlation_id,
            },
            rows: block.iter().map(|row| &row.document).collect(),
        };
        let request =
            serde_json::to_vec(&request).map_err(|error| StepError::ours(ErrorClass::Fatal, error.to_string()))?;
        let answered = self.pool.ask(&self.declared.name, id, &request, |answer| self.apply(block, answer)).await?;
        answered.map_err(StepError::from)
    }

    /// What becomes of a block, or why the step refused all of it.
    fn apply(&self, block: Block, answer: &[u8]) -> Result<Result<Processed, Refusal>, ProcessError> {
        let rubbish = |_| ProcessError::Rubbish;
        let answer: Answer<'_> = serde_json::from_slice(answer).map_err(rubbish)?;
        if let Some(refusal) = answer.error {
            return Ok(Err(refusal));
        }
        let answers = answer.rows.filter(|rows| rows.len() == block.len()).ok_or(ProcessError::Rubbish)?;
        let mut processed = Processed::default();
        for (mut row, answer) in block.into_iter().zip(answers) {
            if answer.get().starts_with('"') {
                let reason: String = serde_json::from_str(answer.get()).map_err(rubbish)?;
                processed.rejected.push(row.reject(reason));
                continue;
            }
            let values: Vec<Box<RawValue>> = serde_json::from_str(answer.get()).map_err(rubbish)?;
            if values.len() != self.declared.columns.len() {
                return Err(ProcessError::Rubbish);
            }
            for name in &self.declared.removes {
                row.document.remove(name);
            }
            for (column, value) in self.declared.columns.iter().zip(values) {
                row.document.set_raw(&column.name, value);
            }
            processed.rows.push(row);
        }
        Ok(Ok(processed))
    }
}

impl From<Refusal> for StepError {
    fn from(refusal: Refusal) -> Self {
        let Refusal { class, message, after, rule } = refusal;
        match (class, after) {
            (ErrorClass::RateLimited, Some(seconds)) => {
                Self::rate_limited(Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_REST)), message)
            }
            (class, _) if rule => Self::ours(class, message),
            (class, _) => Self::new(class, message),
        }
    }
}

impl From<ProcessError> for StepError {
    fn from(error: ProcessError) -> Self {
        Self::ours(ErrorClass::Transient, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_python_cannot_read_are_known_before_it_is_asked() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(is_readable(&nested(MOST_NESTED)) && !is_readable(&nested(MOST_NESTED + 1)));
        assert!(is_readable(&"9".repeat(MOST_DIGITS)) && !is_readable(&"9".repeat(MOST_DIGITS + 1)));
        let text = format!(r#"{{"a \" [":"{}","b":[{}]}}"#, "[9".repeat(MOST_DIGITS), "[1],".repeat(1000) + "2");
        assert!(is_readable(&text), "brackets and digits of texts count for nothing");
        assert!(!is_readable(&format!(r#"["\\",{}]"#, nested(MOST_NESTED))));
    }
}
