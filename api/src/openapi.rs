//! `/openapi.json`: made from the handlers, so that it is true.

use std::sync::LazyLock;

use salvo::{
    Depot, FlowCtrl, Handler, Request, Response, async_trait,
    oapi::{
        OpenApi, SecurityRequirement, SecurityScheme,
        security::{Http, HttpAuthScheme},
    },
    writing::Json,
};

use crate::router;

static DOCUMENT: LazyLock<OpenApi> = LazyLock::new(document);

const DESCRIPTION: &str = "Steers pipelines that keep analytic marts fresh. Errors are RFC 9457 problems. \
    Every answer carries `X-Request-Id`.";

/// The API's document.
pub fn document() -> OpenApi {
    let bearer = Http::new(HttpAuthScheme::Bearer).description("A token of `VITRINA_TOKENS`");
    let mut document = OpenApi::new("Vitrina", env!("CARGO_PKG_VERSION"))
        .add_security_scheme("token", SecurityScheme::Http(bearer))
        .security([SecurityRequirement::new("token", Vec::<String>::new())])
        .merge_router(&router::documented());
    document.info.description = Some(DESCRIPTION.to_owned());
    document
}

/// Serves the document.
pub struct Document;

#[async_trait]
impl Handler for Document {
    async fn handle(&self, _req: &mut Request, _depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
        res.render(Json(&*DOCUMENT));
    }
}
