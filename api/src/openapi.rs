//! `/openapi.json`: made from the handlers, so that it is true.

use std::sync::LazyLock;

use salvo::{
    Depot, FlowCtrl, Handler, Request, Response, async_trait,
    oapi::{
        OpenApi, Operation, SecurityRequirement, SecurityScheme,
        naming::{self, FlexNamer},
        security::{Http, HttpAuthScheme},
    },
    writing::Json,
};

use crate::router;

static DOCUMENT: LazyLock<OpenApi> = LazyLock::new(build);

const DESCRIPTION: &str = "Steers pipelines that keep analytic marts fresh. Errors are RFC 9457 problems. \
    Every answer carries `X-Request-Id`. Without tokens every route answers 403 to what another website sends.";

/// The API's document.
pub fn document() -> OpenApi {
    DOCUMENT.clone()
}

/// Runs once: the names of schemas are kept by the library for the whole process.
fn build() -> OpenApi {
    // `PageOfRun`: the document allows no `<` in a name.
    naming::set_namer(FlexNamer::new().short_mode(true).generic_delimiter("Of", ""));
    let bearer = Http::new(HttpAuthScheme::Bearer).description("A token of `VITRINA_TOKENS`");
    let mut document = OpenApi::new("Vitrina", env!("CARGO_PKG_VERSION"))
        .add_security_scheme("token", SecurityScheme::Http(bearer))
        .security([SecurityRequirement::new("token", Vec::<String>::new())])
        .merge_router(&router::documented());
    document.info.description = Some(DESCRIPTION.to_owned());
    let operations = document.paths.values_mut().flat_map(|path| path.operations.values_mut());
    operations.for_each(polish);
    document
}

/// Names an operation by its module and function, and frees the probes from the token.
fn polish(operation: &mut Operation) {
    let name = operation.operation_id.as_deref().and_then(|id| id.strip_prefix("vitrina_api.routes."));
    if let Some(name) = name.map(str::to_owned) {
        operation.operation_id = Some(name);
    }
    if operation.tags.iter().any(|tag| tag == "service") {
        operation.securities = Some(Vec::new());
    }
}

/// Serves the document.
pub struct Document;

#[async_trait]
impl Handler for Document {
    async fn handle(&self, _req: &mut Request, _depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
        res.render(Json(&*DOCUMENT));
    }
}
