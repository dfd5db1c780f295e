//! The JSON that the API takes and returns. The domain does not depend on it.

mod call;
mod dead_letter;
mod hooks;
mod input;
mod max_removed;
mod one_of;
mod pipeline;
mod report;
mod run;
mod values;

use salvo::{
    Depot, Request, Response, Writer, async_trait,
    http::{HeaderValue, StatusCode, header},
    oapi::{Components, Content, EndpointOutRegister, Header, Operation, Response as ResponseDoc, ToSchema},
    writing::Json,
};
use serde::Serialize;
use vitrina_shared::domain::Status;

pub use call::{CallView, ForgottenView, LimitInput, LimitView, LimitsView};
pub use dead_letter::{DeadLetterView, ReplayInput, ReplayView};
pub use hooks::HooksValue;
pub use input::{OptionsInput, PipelineInput, PipelinePatch, TargetInput, TaskInput};
pub use max_removed::MaxRemovedValue;
pub use one_of::OneOf;
pub use pipeline::{
    AllowedTargetView, InstallationView, PipelineView, StateView, StatusView, TargetView, TransformView, WorkerView,
};
pub use report::{PreviewInput, PreviewView, ReconcileInput, ReconciliationView, ReportView};
pub use run::{ProgressView, RequestedRunView, RunView, TransitionView};
pub use values::{CheckpointView, Values};

/// A page of a longer list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T: ToSchema + 'static> {
    /// The items.
    pub items: Vec<T>,
    /// The `cursor` of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

impl<T: ToSchema + 'static> Page<T> {
    /// Cuts a page of `limit` off `rows`, of which one more than that was read.
    pub fn cut<R>(mut rows: Vec<R>, limit: i64, cursor: impl Fn(&R) -> String, view: impl Fn(R) -> T) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = rows.last().filter(|_| more).map(cursor);
        Self { items: rows.into_iter().map(view).collect(), next_cursor }
    }
}

/// A whole list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Items<T: ToSchema + 'static> {
    /// The items.
    pub items: Vec<T>,
}

/// The status of a pipeline after a command.
#[derive(Debug, Serialize, ToSchema)]
pub struct CommandView {
    /// The new status.
    pub status: OneOf<Status>,
}

/// 202 with a body.
pub struct Accepted<T>(pub T);

/// 204.
pub struct NoContent;

/// A resource with a version: answers with `ETag`, and with 201 and `Location` if it is new.
pub struct Versioned {
    /// The resource.
    pub view: PipelineView,
    /// Whether it was just created.
    pub created: bool,
}

#[async_trait]
impl<T: Serialize + Send + ToSchema> Writer for Accepted<T> {
    async fn write(self, _req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        res.status_code(StatusCode::ACCEPTED);
        res.render(Json(self.0));
    }
}

impl<T: ToSchema> EndpointOutRegister for Accepted<T> {
    fn register(components: &mut Components, operation: &mut Operation) {
        let content = Content::new(T::to_schema(components));
        operation.responses.insert("202", ResponseDoc::new("Accepted").add_content("application/json", content));
    }
}

#[async_trait]
impl Writer for NoContent {
    async fn write(self, _req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        res.status_code(StatusCode::NO_CONTENT);
    }
}

impl EndpointOutRegister for NoContent {
    fn register(_components: &mut Components, operation: &mut Operation) {
        operation.responses.insert("204", ResponseDoc::new("Done"));
    }
}

#[async_trait]
impl Writer for Versioned {
    async fn write(self, _req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        let headers = res.headers_mut();
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", self.view.version)) {
            headers.insert(header::ETAG, tag);
        }
        if self.created
            && let Ok(location) = HeaderValue::from_str(&format!("/api/v1/pipelines/{}", self.view.id))
        {
            headers.insert(header::LOCATION, location);
        }
        res.status_code(if self.created { StatusCode::CREATED } else { StatusCode::OK });
        res.render(Json(self.view));
    }
}

impl EndpointOutRegister for Versioned {
    fn register(components: &mut Components, operation: &mut Operation) {
        let schema = PipelineView::to_schema(components);
        let tag = || Header::default().description("Version, for `If-Match`");
        let answer = |description: &str| {
            ResponseDoc::new(description)
                .add_content("application/json", Content::new(schema.clone()))
                .add_header("ETag", tag())
        };
        operation.responses.insert("200", answer("The pipeline"));
        let location = Header::default().description("Where it is now");
        operation.responses.insert("201", answer("Created").add_header("Location", location));
    }
}
