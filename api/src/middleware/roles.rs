//! Bearer tokens and what their roles may do.

use std::sync::Arc;

use salvo::{Depot, FlowCtrl, Handler, Request, Response, Writer, async_trait, http::header};
use vitrina_shared::{
    config::{self, Principal, Role},
    lifecycle::Cause,
};

use super::RequestId;
use crate::{
    app::App,
    problem::{ApiError, ApiResult},
    views::Values,
};

/// Lets a request through whose token has at least this role. Without tokens the API serves this machine only, and every
/// client may do everything.
pub struct Requires(pub Role);

#[async_trait]
impl Handler for Requires {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        match authorize(req, depot, self.0) {
            Ok(actor) => {
                depot.insert_typed(actor);
                ctrl.call_next(req, depot, res).await;
            }
            Err(error) => {
                error.write(req, depot, res).await;
                ctrl.skip_rest();
            }
        }
    }
}

/// The sender of the request, as the log of transitions names it.
#[derive(Debug, Clone)]
pub struct Actor {
    name: Arc<str>,
    request: RequestId,
    values: Values,
}

impl Actor {
    pub fn of(depot: &Depot) -> ApiResult<Self> {
        depot.get_typed::<Self>().cloned().map_err(|_| ApiError::internal("a route has no role"))
    }

    /// Whether the sender sees values of rows.
    pub fn values(&self) -> Values {
        self.values
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub fn cause(&self) -> Cause<'_> {
        Cause { actor: &self.name, correlation_id: &self.request.0 }
    }
}

fn authorize(req: &Request, depot: &Depot, needs: Role) -> ApiResult<Actor> {
    let app = App::of(depot)?;
    let request = depot.get_typed::<RequestId>().cloned().map_err(|_| ApiError::internal("a request has no id"))?;
    if app.config.tokens.is_empty() {
        return Ok(Actor { name: "local".into(), request, values: Values::Shown });
    }
    let Principal { name, role } =
        bearer(req).and_then(|secret| app.config.tokens.authenticate(secret)).ok_or(ApiError::Unauthorized)?;
    if role.may(needs) {
        let sees = role.may(Role::Operator) || app.config.viewers_see_values;
        Ok(Actor { name, request, values: if sees { Values::Shown } else { Values::Withheld } })
    } else {
        Err(ApiError::Forbidden { name, has: role.as_str(), needs: needs.as_str() })
    }
}

fn bearer(req: &Request) -> Option<&str> {
    config::bearer(req.headers().get(header::AUTHORIZATION)?.to_str().ok()?)
}
