//! Every error a client can get, as RFC 9457 problems: one table maps them to the wire.
//!
//! Internals are logged and never shown.

use std::sync::Arc;

use salvo::{
    Depot, FlowCtrl, Handler, Request, Response, Writer, async_trait,
    http::{HeaderValue, ParseError, Problem, ResBody, StatusCode, header},
    oapi::{Components, Content, EndpointOutRegister, Operation, Response as ResponseDoc, ToSchema},
};
use serde::Serialize;
use vitrina_shared::{
    database::{self, Fault},
    definitions::DefinitionError,
    domain::{self, ErrorClass, PipelineRef, ProblemKind, RunId},
    jobs::EnqueueError,
    lifecycle::LifecycleError,
    local_request::ForeignRequest,
    reports::ReportError,
};

/// What went wrong with one field.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FieldError {
    /// Path of the field, for instance `tasks[1].body`.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
    /// A code for programs: `target-not-allowed`, `no-table` or `no-limit`; absent for other errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[salvo(schema(value_type = Option<String>))]
    pub kind: Option<&'static str>,
}

impl FieldError {
    /// A mistake that only people act on.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        domain::Problem::new(field, message).into()
    }
}

impl From<domain::Problem> for FieldError {
    fn from(problem: domain::Problem) -> Self {
        let domain::Problem { field, message, kind } = problem;
        Self { field, message, kind: kind.map(ProblemKind::as_str) }
    }
}

/// The members that we add to a problem.
#[derive(Debug, Default, Serialize, ToSchema)]
#[salvo(schema(name = "ProblemErrors"))]
pub struct Extensions {
    /// All wrong fields; empty if the problem is not about fields.
    pub errors: Vec<FieldError>,
}

#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    #[error("{0}")]
    BadRequest(String),
    #[error("send `Authorization: Bearer <token>` with a token of this deployment")]
    Unauthorized,
    #[error("send `Authorization: Bearer <token>` with the token of VITRINA_METRICS_TOKEN")]
    MetricsUnauthorized,
    #[error("{0}; or set {1}, and send a token")]
    Foreign(ForeignRequest, &'static str),
    #[error("token `{name}` has the role {has}; this needs {needs}")]
    Forbidden { name: Arc<str>, has: &'static str, needs: &'static str },
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    IllegalState(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    StaleVersion(String),
    #[error("the body has more than {0} bytes")]
    TooLarge(usize),
    #[error("send the body as `Content-Type: application/json`")]
    NotJsonType,
    #[error("wrong fields: {}", .0.len())]
    Invalid(Vec<FieldError>),
    #[error("{0}: try again in a second")]
    TooMany(&'static str),
    #[error("{message}")]
    ReportFailed { class: ErrorClass, message: String },
    #[error("the database is away; try again in a moment")]
    DatabaseAway,
    #[error("{}", database::TAKES_NO_WRITES)]
    ReadOnly,
    #[error("the database lacks migrations ({0}): run `vitrina migrate`")]
    NotMigrated(usize),
    #[error("the answer took longer than {0} seconds")]
    TimedOut(u64),
    #[error("something went wrong on our side; the log has it under this answer's X-Request-Id")]
    Internal(String),
}

/// What PostgreSQL cannot store, in text or in JSON.
pub const NUL: &str = "text must not contain NUL characters";

pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// A failure whose details are for the log.
    pub fn internal(details: impl ToString) -> Self {
        Self::Internal(details.to_string())
    }

    pub fn no_pipeline(pipeline: &PipelineRef) -> Self {
        LifecycleError::NoPipeline(pipeline.clone()).into()
    }

    pub fn no_run(run: RunId) -> Self {
        LifecycleError::NoRun(run).into()
    }

    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(field, message)])
    }

    fn away(error: &sqlx::Error) -> Self {
        tracing::warn!(error = %error, "the database did not answer");
        Self::DatabaseAway
    }

    /// Status, the last part of the type's URN, and title.
    fn wire(&self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::NotJson(_) => (StatusCode::BAD_REQUEST, "not-json", "The body is not JSON"),
            Self::BadRequest(_) => (StatusCode::BAD_REQUEST, "bad-request", "The request cannot be read"),
            Self::Unauthorized | Self::MetricsUnauthorized => {
                (StatusCode::UNAUTHORIZED, "unauthorized", "A token is needed")
            }
            Self::Foreign(..) => (StatusCode::FORBIDDEN, "foreign", "Without tokens only this machine is answered"),
            Self::Forbidden { .. } => (StatusCode::FORBIDDEN, "forbidden", "The token's role is not enough"),
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "not-found", "There is no such thing"),
            Self::IllegalState(_) => (StatusCode::CONFLICT, "illegal-state", "Not in this state"),
            Self::Conflict(_) => (StatusCode::CONFLICT, "conflict", "It conflicts with what is there"),
            Self::StaleVersion(_) => (StatusCode::PRECONDITION_FAILED, "stale-version", "It was changed meanwhile"),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large"),
            Self::NotJsonType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json-type", "The body must be JSON"),
            Self::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid", "Some fields are wrong"),
            Self::TooMany(_) => (StatusCode::TOO_MANY_REQUESTS, "too-many", "Too much at once"),
            Self::ReportFailed { class, .. } => {
                let title = "The report failed";
                match class {
                    ErrorClass::Fatal | ErrorClass::Row | ErrorClass::Quota => {
                        (StatusCode::UNPROCESSABLE_ENTITY, "report-failed", title)
                    }
                    ErrorClass::Transient | ErrorClass::RateLimited => {
                        (StatusCode::SERVICE_UNAVAILABLE, "report-failed", title)
                    }
                }
            }
            Self::DatabaseAway => (StatusCode::SERVICE_UNAVAILABLE, "database-away", "The database is away"),
            Self::ReadOnly => (StatusCode::SERVICE_UNAVAILABLE, "database-read-only", "The database takes no writes"),
            Self::NotMigrated(_) => (StatusCode::SERVICE_UNAVAILABLE, "not-migrated", "The database is not migrated"),
            Self::TimedOut(_) => (StatusCode::SERVICE_UNAVAILABLE, "timed-out", "It took too long"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Our fault"),
        }
    }

    fn into_problem(self, instance: &str) -> Problem<Extensions> {
        let (status, kind, title) = self.wire();
        let detail = self.to_string();
        let errors = if let Self::Invalid(errors) = self { errors } else { Vec::new() };
        Problem::new(status)
            .kind(format!("urn:vitrina:problem:{kind}"))
            .title(title)
            .detail(detail)
            .instance(instance)
            .with_extensions(Extensions { errors })
    }
}

#[async_trait]
impl Writer for ApiError {
    async fn write(self, req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        if let Self::Internal(details) = &self {
            tracing::error!(error = details, "request failed");
        }
        add_headers(&self, res);
        res.render(self.into_problem(req.uri().path()));
    }
}

fn add_headers(error: &ApiError, res: &mut Response) {
    if matches!(error, ApiError::Unauthorized | ApiError::MetricsUnauthorized) {
        res.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if matches!(error, ApiError::TooMany(_) | ApiError::DatabaseAway | ApiError::ReadOnly | ApiError::TimedOut(_)) {
        res.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
}

/// Documents every problem; an endpoint's `status_codes` keeps those that it can answer.
impl EndpointOutRegister for ApiError {
    fn register(components: &mut Components, operation: &mut Operation) {
        let schema = Problem::<Extensions>::to_schema(components);
        for (status, description) in [
            ("400", "The request or its JSON cannot be read"),
            ("401", "A token is needed"),
            ("403", "The token's role is not enough"),
            ("404", "There is no such thing"),
            ("409", "The state forbids it, or it conflicts with what is there"),
            ("412", "If-Match is stale"),
            ("413", "The body is too large"),
            ("415", "The body must be JSON"),
            ("422", "Some fields are wrong"),
            ("429", "Too much at once"),
            ("500", "Our fault"),
            ("503", "The database is away, or it took too long"),
        ] {
            let response =
                ResponseDoc::new(description).add_content("application/problem+json", Content::new(schema.clone()));
            operation.responses.insert(status, response);
        }
    }
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        match Fault::of(&error) {
            // Interrupted by our own time-out.
            Fault::Away | Fault::Interrupted | Fault::Locked => Self::away(&error),
            Fault::Unstorable => Self::invalid("", NUL),
            Fault::ReadOnly => {
                tracing::warn!(error = %error, "the database takes no writes");
                Self::ReadOnly
            }
            Fault::OutOfMemory | Fault::Other => Self::internal(error),
        }
    }
}

impl From<ReportError> for ApiError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::NoPipeline(_) => Self::NotFound(error.to_string()),
            ReportError::TooMany => Self::TooMany("too many reports wait for a worker"),
            ReportError::Enqueue(EnqueueError::Database(error)) | ReportError::Database(error) => error.into(),
            ReportError::Enqueue(error) => Self::internal(error),
        }
    }
}

impl From<LifecycleError> for ApiError {
    fn from(error: LifecycleError) -> Self {
        match error {
            LifecycleError::NoPipeline(_) | LifecycleError::NoRun(_) => Self::NotFound(error.to_string()),
            LifecycleError::Disabled(_)
            | LifecycleError::RemovesNothing(_)
            | LifecycleError::WalksOtherwise { .. }
            | LifecycleError::ChangedSince { .. }
            | LifecycleError::TargetBusy { .. }
            | LifecycleError::SharedTarget { .. }
            | LifecycleError::AnotherRun { .. }
            | LifecycleError::ChangedUnderLock
            | LifecycleError::Illegal { .. } => Self::IllegalState(error.to_string()),
            LifecycleError::Enqueue(EnqueueError::Database(error)) | LifecycleError::Database(error) => error.into(),
            LifecycleError::Enqueue(error) => Self::internal(error),
            // Workers alone call hooks.
            LifecycleError::Hook(failure) => Self::internal(failure),
        }
    }
}

impl From<DefinitionError> for ApiError {
    fn from(error: DefinitionError) -> Self {
        match error {
            DefinitionError::NoPipeline(_) => Self::NotFound(error.to_string()),
            DefinitionError::NameTaken(_) => Self::Conflict(error.to_string()),
            DefinitionError::Busy { .. } => Self::IllegalState(error.to_string()),
            DefinitionError::VersionChanged(_) => Self::StaleVersion(error.to_string()),
            DefinitionError::TargetNotAllowed(_) => Self::invalid("target_table", error.to_string()),
            DefinitionError::Lifecycle(error) => error.into(),
            DefinitionError::Database(error) => error.into(),
        }
    }
}

/// Answers what salvo itself refuses (no route, wrong method, unreadable request) as problems too.
pub struct Fallback;

#[async_trait]
impl Handler for Fallback {
    async fn handle(&self, req: &mut Request, _depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
        let status = res.status_code.unwrap_or(StatusCode::NOT_FOUND);
        let unwritten = res.body.is_none() || res.body.is_error();
        if !unwritten || !(status.is_client_error() || status.is_server_error()) {
            return;
        }
        let title = status.canonical_reason().unwrap_or("Error");
        let detail = match (status, &res.body) {
            (StatusCode::NOT_FOUND, _) => "no route has this path; /docs lists them all".to_owned(),
            (StatusCode::METHOD_NOT_ALLOWED, _) => "the path is right, the method is not; see `Allow`".to_owned(),
            (_, ResBody::Error(error)) => error.brief.clone(),
            (_, _) => title.to_owned(),
        };
        let kind = match status {
            StatusCode::NOT_FOUND => "no-route".to_owned(),
            _ => title.to_lowercase().replace(' ', "-"),
        };
        let problem = Problem::new(status)
            .kind(format!("urn:vitrina:problem:{kind}"))
            .detail(detail)
            .instance(req.uri().path())
            .with_extensions(Extensions::default());
        res.render(problem);
    }
}

/// Why a body could not be read, for the client.
pub fn unreadable(error: &ParseError, limit: usize) -> ApiError {
    if matches!(error, ParseError::PayloadTooLarge) {
        ApiError::TooLarge(limit)
    } else {
        ApiError::BadRequest("the body could not be read to its end".to_owned())
    }
}
