//! What can go wrong with a batch, and what follows from it.

use std::{io, time::Duration};

use rand::RngExt;
use sqlx::{
    error::DatabaseError,
    postgres::{PgDatabaseError, PgSeverity},
};
use vitrina_shared::{
    database::{self, Fault},
    domain::ErrorClass,
    jobs::EnqueueError,
    lifecycle::LifecycleError,
    reports::ReportError,
};

use crate::step::StepError;

/// The SQLSTATEs with which `etl.run_batch` refuses: the batch is another worker's, or its run was ended.
const TAKEN_OVER: &str = "VT001";
const RUN_ENDED: &str = "VT002";
/// The SQLSTATE of `etl_page.write_rows` for more refused rows than may be.
const TOO_MANY_REFUSED: &str = "VT004";
/// How much of a server's message is kept.
const MAX_WORDS: usize = 3_000;
/// How `etl.run_batch` begins to say that a page did not get further.
const NO_FURTHER: &str = "the query returned a row that is not after ";
/// Where runs gather the rows of a `swap`; each table has one unique index, over the target's key.
const SWAP_SCHEMA: &str = "etl_swap";
/// The longest time that another side may ask a batch to wait. A job that waits for longer is taken for one of a clock that was
/// set back (`maintenance::recovery`).
pub const LONGEST_REST: Duration = Duration::from_secs(60);
const MAX_RETRIES: u32 = 3;

/// Why a batch was not committed.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    #[error("{0}")]
    TakenOver(String),
    #[error("{0}")]
    RunEnded(String),
    /// No attempt of the batch has failed with that.
    #[error("the database is away: {0}")]
    Away(sqlx::Error),
    /// The session of a statement ended without a word. No attempt of the batch has failed with that, unless it happens again and
    /// again (`jobs::lost`).
    #[error("the connection to the database broke: {0}")]
    Broken(sqlx::Error),
    /// The server refused to write. Whether it takes no writes at all, or only this query may not, it has to be asked.
    #[error("{sentence}: {0}", sentence = database::TAKES_NO_WRITES)]
    ReadOnly(String),
    /// The server ended the statement: by a time-out, or because it was cancelled.
    #[error("{0}")]
    Interrupted(String),
    /// No attempt of the batch has failed with that.
    #[error("the connection to the database fell silent")]
    Silent,
    #[error("{0}")]
    Locked(String),
    /// Something else must end first; the batch is tried again soon.
    #[error("waits: {0}")]
    NotYet(&'static str),
    /// The plan has a step that other workers have.
    #[error("the job waits for a worker that has its steps: {message}")]
    Elsewhere { needs: Vec<String>, message: String },
    /// A step waits for answers of another side, and asks for them again then.
    #[error("{message}")]
    Awaits { next_look: Duration, message: String },
    #[error("{message}")]
    RateLimited { retry_after: Duration, message: String },
    #[error("{message}")]
    Failed { class: ErrorClass, message: String },
}

#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Finish the job: its run has ended, or another worker has it.
    Drop,
    /// Wait for the database, then give the job back.
    WaitForDatabase,
    /// Give the job back for this long; no attempt has failed.
    Later(Duration),
    /// Give the job back for this long; an attempt has failed.
    Retry(Duration, ErrorClass),
    /// Fail the run.
    GiveUp(ErrorClass),
}

impl BatchError {
    /// An error that would come again every time.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self::Failed { class: ErrorClass::Fatal, message: message.into() }
    }

    /// Decides what follows, after `attempt` attempts that failed before.
    pub fn verdict(&self, attempt: u32) -> Verdict {
        let (class, rest) = match self {
            Self::TakenOver(_) | Self::RunEnded(_) => return Verdict::Drop,
            Self::Away(_) | Self::Broken(_) | Self::ReadOnly(_) => return Verdict::WaitForDatabase,
            Self::NotYet(_) | Self::Silent => return Verdict::Later(Duration::from_millis(500)),
            // Each time another worker may be the first to take it.
            Self::Elsewhere { .. } => {
                return Verdict::Later(Duration::from_millis(rand::rng().random_range(200..=1_000)));
            }
            Self::Awaits { next_look, .. } => return Verdict::Later((*next_look).min(LONGEST_REST)),
            Self::Interrupted(_) | Self::Locked(_) => (ErrorClass::Transient, Duration::ZERO),
            Self::RateLimited { retry_after, .. } => (ErrorClass::RateLimited, *retry_after),
            Self::Failed { class, .. } => (*class, Duration::ZERO),
        };
        if attempt < MAX_RETRIES && matches!(class, ErrorClass::Transient | ErrorClass::RateLimited) {
            return Verdict::Retry(backoff(attempt).max(rest).min(LONGEST_REST), class);
        }
        Verdict::GiveUp(class)
    }

    /// What a worker needs that does what this one cannot.
    pub fn needs(&self) -> Option<Vec<String>> {
        let Self::Elsewhere { needs, .. } = self else { return None };
        Some(needs.clone())
    }

    /// The same where a statement of the job itself was under way.
    pub fn during_statement(self) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let kind = if let Self::Away(sqlx::Error::Io(error)) = &self { Some(error.kind()) } else { None };
        let is_broken = matches!(kind, Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof));
        match (is_broken, self) {
            (true, Self::Away(error)) => Self::Broken(error),
            (_, error) => error,
        }
    }

    /// What was said when the session ended, if that may be the job's own doing.
    pub fn lost_session(&self) -> Option<LostSession> {
        match self {
            Self::Away(error) => {
                let server = error.as_database_error()?;
                Some(LostSession::Ended(explain(server, &server.code().unwrap_or_default())))
            }
            Self::Broken(_) => Some(LostSession::Broken),
            Self::TakenOver(_)
            | Self::RunEnded(_)
            | Self::ReadOnly(_)
            | Self::Interrupted(_)
            | Self::Silent
            | Self::Locked(_)
            | Self::NotYet(_)
            | Self::Elsewhere { .. }
            | Self::Awaits { .. }
            | Self::RateLimited { .. }
            | Self::Failed { .. } => None,
        }
    }
}

/// How a job's session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostSession {
    /// By the server, which said this.
    Ended(String),
    /// Without a word, in the middle of a statement.
    Broken,
}

/// What to do where a row has a unique value of another one and rows are not removed to be written anew.
pub const KEEPS_ROWS: &str = "Rows that exchange such values are not removed and written anew here, since that would lose what the \
    query does not fill, or what other tables refer to: declare the constraint `deferrable initially deferred`, or move the \
    value out of the way yourself";

/// The same for a run, whose rows the server has refused.
pub fn while_rows_are_kept(error: sqlx::Error) -> BatchError {
    let is_taken = error.as_database_error().is_some_and(DatabaseError::is_unique_violation);
    explained(error.into(), is_taken, |message| format!("{message}. {KEEPS_ROWS}"))
}

/// What a constraint says that is checked when the transaction ends.
pub fn at_commit(error: sqlx::Error) -> BatchError {
    let is_row = is_row_error(&error);
    explained(error.into(), is_row, |message| format!("{REFUSED_AT_COMMIT}: {message}"))
}

const REFUSED_AT_COMMIT: &str =
    "a constraint of the mart that is checked at the end of a transaction refuses its rows, and none was written";

fn explained(error: BatchError, applies: bool, explain: impl Fn(String) -> String) -> BatchError {
    if let (BatchError::Failed { class, message }, true) = (&error, applies) {
        return BatchError::Failed { class: *class, message: explain(message.clone()) };
    }
    error
}

/// 1, 2, 4 seconds, up to a fifth more.
fn backoff(attempt: u32) -> Duration {
    Duration::from_secs(1 << attempt.min(6)).mul_f64(rand::rng().random_range(1.0..=1.2))
}

impl From<sqlx::Error> for BatchError {
    fn from(error: sqlx::Error) -> Self {
        let server = error.as_database_error();
        let code = server.and_then(DatabaseError::code).unwrap_or_default();
        match (Fault::of(&error), server) {
            (Fault::Away, _) => Self::Away(error),
            (Fault::OutOfMemory, _) => Self::Failed { class: ErrorClass::Transient, message: error.to_string() },
            (_, None) => Self::fatal(error.to_string()),
            (Fault::ReadOnly, Some(server)) => Self::ReadOnly(format!("{} (SQLSTATE {code})", words(server))),
            (Fault::Locked, Some(server)) => Self::Locked(explain(server, &code)),
            (Fault::Interrupted, Some(server)) => Self::Interrupted(interrupted(&words(server), &code)),
            // What Vitrina refuses never ends the session: a query has made this of an error of its own.
            (_, Some(server)) if code.starts_with("VT") && is_fatal(server) => Self::Away(error),
            (Fault::Unstorable | Fault::Other, Some(server)) => refused(server, &code),
        }
    }
}

fn refused(server: &(dyn DatabaseError + 'static), code: &str) -> BatchError {
    match code {
        _ if is_repeated_key(server) => BatchError::fatal(SEVERAL_ROWS),
        TAKEN_OVER => BatchError::TakenOver(server.message().to_owned()),
        RUN_ENDED => BatchError::RunEnded(server.message().to_owned()),
        TOO_MANY_REFUSED => {
            let (words, code) = (words(server), code_of_the_last(server).unwrap_or(TOO_MANY_REFUSED));
            let message =
                format!("more rows were refused than max_rejects allows; the last one: {words} (SQLSTATE {code})");
            BatchError::Failed { class: ErrorClass::Row, message }
        }
        _ => BatchError::Failed { class: classify(code), message: explain(server, code) },
    }
}

/// Whether the server ended the session with this error.
fn is_fatal(error: &(dyn DatabaseError + 'static)) -> bool {
    let severity = error.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    matches!(severity, Some(PgSeverity::Fatal | PgSeverity::Panic))
}

/// Whether the server refused a row, by its value or by a constraint, and might take the other rows of the page.
pub fn is_row_error(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
    code.starts_with("22") || code.starts_with("23")
}

fn classify(code: &str) -> ErrorClass {
    // 40 serialization and deadlock, 53 out of resources, 55P03 lock not available, 58 system, 25P03 idle.
    let passes = ["40", "53", "58"].iter().any(|class| code.starts_with(class));
    // 42804: a column has another type than when the run looked; 53400: a configured limit will be met again.
    let passes = passes && code != "53400" || code == "42804";
    if passes || matches!(code, "55P03" | "25P03") { ErrorClass::Transient } else { ErrorClass::Fatal }
}

/// Who ended a statement, as far as the server's message tells: it is the same code for all of them.
fn interrupted(message: &str, code: &str) -> String {
    if message.contains("statement timeout") {
        return format!("the statement took longer than statement_timeout allows: {message} (SQLSTATE {code})");
    }
    if message.contains("user request") {
        return format!("the statement was cancelled on the server: {message} (SQLSTATE {code})");
    }
    format!("{message} (SQLSTATE {code})")
}

/// The code of the refusal that was one too many: its message alone does not tell that the server said it.
fn code_of_the_last<'e>(error: &'e (dyn DatabaseError + 'static)) -> Option<&'e str> {
    let code = error.try_downcast_ref::<PgDatabaseError>()?.detail()?;
    (code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(code)
}

/// The server's message, cut so that it is stored with the code that follows it.
fn words(error: &dyn DatabaseError) -> String {
    error.message().chars().take(MAX_WORDS).collect()
}

/// Not with the key's columns from the server's message: a function of the query may have raised it with any words.
pub const SEVERAL_ROWS: &str =
    "the query returns several rows for one key of the target: make the key unique in the query";

/// Whether a run with `full_strategy: swap` gathered a second row of one key.
fn is_repeated_key(error: &(dyn DatabaseError + 'static)) -> bool {
    let error = error.try_downcast_ref::<PgDatabaseError>();
    error.is_some_and(|error| error.code() == "23505" && error.schema() == Some(SWAP_SCHEMA))
}

/// The server's message with its code. The code says that the words are the server's and may quote a row.
fn explain(error: &dyn DatabaseError, code: &str) -> String {
    match code {
        "21000" => SEVERAL_ROWS.to_owned(),
        // A trigger of a mart may raise any code with any words.
        "VT003" if error.message().starts_with(NO_FURTHER) => error.message().to_owned(),
        _ => format!("{} (SQLSTATE {code})", words(error)),
    }
}

impl From<StepError> for BatchError {
    fn from(error: StepError) -> Self {
        let StepError { class, retry_after, awaits, message, .. } = error;
        match retry_after {
            Some(next_look) if awaits => Self::Awaits { next_look, message },
            Some(retry_after) if class == ErrorClass::RateLimited => Self::RateLimited { retry_after, message },
            Some(_) | None => Self::Failed { class, message },
        }
    }
}

impl From<LifecycleError> for BatchError {
    fn from(error: LifecycleError) -> Self {
        match error {
            LifecycleError::Database(error) | LifecycleError::Enqueue(EnqueueError::Database(error)) => error.into(),
            LifecycleError::NoPipeline(_) | LifecycleError::NoRun(_) => Self::RunEnded(error.to_string()),
            LifecycleError::Hook(failure) if failure.was_cancelled() => Self::Interrupted(failure.to_string()),
            LifecycleError::Hook(failure) if failure.may_pass() => {
                Self::Failed { class: ErrorClass::Transient, message: failure.to_string() }
            }
            LifecycleError::Hook(failure) => Self::fatal(failure.to_string()),
            LifecycleError::ChangedUnderLock => {
                Self::Failed { class: ErrorClass::Transient, message: error.to_string() }
            }
            LifecycleError::Disabled(_)
            | LifecycleError::RemovesNothing(_)
            | LifecycleError::WalksOtherwise { .. }
            | LifecycleError::ChangedSince { .. }
            | LifecycleError::TargetBusy { .. }
            | LifecycleError::SharedTarget { .. }
            | LifecycleError::AnotherRun { .. }
            | LifecycleError::Illegal { .. }
            | LifecycleError::Enqueue(_) => Self::fatal(error.to_string()),
        }
    }
}

impl From<ReportError> for BatchError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Database(error) | ReportError::Enqueue(EnqueueError::Database(error)) => error.into(),
            ReportError::NoPipeline(_) => Self::RunEnded(error.to_string()),
            ReportError::TooMany | ReportError::Enqueue(_) => Self::fatal(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transient() -> BatchError {
        BatchError::Failed { class: ErrorClass::Transient, message: "deadlock".to_owned() }
    }

    #[test]
    fn a_transient_error_is_retried_three_times_with_growing_delays() {
        for (attempt, seconds) in [(0, 1.0), (1, 2.0), (2, 4.0)] {
            let Verdict::Retry(delay, ErrorClass::Transient) = transient().verdict(attempt) else {
                panic!("attempt {attempt} is not retried");
            };
            assert!((seconds..=seconds * 1.2).contains(&delay.as_secs_f64()), "{delay:?}");
        }
        assert_eq!(transient().verdict(3), Verdict::GiveUp(ErrorClass::Transient));
    }

    #[test]
    fn a_batch_rests_for_as_long_as_another_side_has_asked_within_a_minute() {
        for (asked, least, most) in [(0, 1.0, 1.2), (30, 30.0, 30.0), (u64::MAX, 60.0, 60.0)] {
            let retry_after = Duration::from_secs(asked);
            let error = BatchError::from(StepError::rate_limited(retry_after, "slow down"));
            let Verdict::Retry(delay, ErrorClass::RateLimited) = error.verdict(0) else { panic!("not retried") };
            assert!((least..=most).contains(&delay.as_secs_f64()), "{asked}: {delay:?}");
            assert_eq!(error.verdict(3), Verdict::GiveUp(ErrorClass::RateLimited));
        }
    }

    #[test]
    fn a_fatal_error_is_never_retried_and_a_refused_batch_is_forgotten() {
        assert_eq!(BatchError::fatal("no such column").verdict(0), Verdict::GiveUp(ErrorClass::Fatal));
        assert_eq!(BatchError::TakenOver("taken".to_owned()).verdict(0), Verdict::Drop);
    }

    #[test]
    fn an_interrupted_statement_says_who_ended_it_and_is_repeated() {
        let late = interrupted("canceling statement due to statement timeout", "57014");
        assert!(late.starts_with("the statement took longer than statement_timeout allows"), "{late}");
        let asked = interrupted("canceling statement due to user request", "57014");
        assert!(asked.starts_with("the statement was cancelled"), "{asked}");
        let error = BatchError::Interrupted(late);
        assert!(matches!(error.verdict(0), Verdict::Retry(_, ErrorClass::Transient)));
        assert_eq!(error.verdict(3), Verdict::GiveUp(ErrorClass::Transient));
    }

    #[test]
    fn the_servers_codes_have_their_classes() {
        for code in ["40001", "40P01", "53100", "55P03"] {
            assert_eq!(classify(code), ErrorClass::Transient, "{code}");
        }
        for code in ["42703", "42501", "23502", "22P02", "21000"] {
            assert_eq!(classify(code), ErrorClass::Fatal, "{code}");
        }
    }
}
