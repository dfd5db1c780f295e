//! The layers that every request passes before its handler, outermost first.

mod limits;
mod local_only;
mod request_context;
mod roles;

pub use limits::{InFlight, Timeout};
pub use local_only::{LocalOnly, check as check_local};
pub use request_context::{RequestContext, RequestId};
pub use roles::{Actor, Requires};
