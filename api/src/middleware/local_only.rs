//! What browsers may send to an API without tokens.
//!
//! Such an API listens on loopback and accepts every client that reaches it, so a website in a browser of this machine must
//! not. [`vitrina_shared::local_request`] has the rules. With tokens a website cannot call the API: a browser adds no
//! bearer token by itself. Routes without a token are then open to the network, except `/metrics` on loopback, which has
//! the same rule as a worker's (`routes::ops`).

use std::sync::Arc;

use salvo::{
    Depot, FlowCtrl, Handler, Request, Response, Writer, async_trait,
    http::{HeaderValue, uri::Authority},
};
use vitrina_shared::local_request::{ForeignRequest, Provenance};

use crate::{app::App, problem::ApiError};

/// Refuses requests of other websites, on every path and with every method.
pub struct LocalOnly(pub Arc<App>);

#[async_trait]
impl Handler for LocalOnly {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        if self.0.config.tokens.is_empty()
            && let Err(refusal) = check(req)
        {
            ApiError::Foreign(refusal, "VITRINA_TOKENS").write(req, depot, res).await;
            ctrl.skip_rest();
            return;
        }
        ctrl.call_next(req, depot, res).await;
    }
}

pub fn check(req: &Request) -> Result<(), ForeignRequest> {
    let values = |name: &'static str| req.headers().get_all(name).iter().map(HeaderValue::as_bytes).collect();
    Provenance::of(req.uri().authority().map(Authority::as_str), values).check()
}
