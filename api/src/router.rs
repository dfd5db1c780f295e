//! The table of all routes, with the role that each needs.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use salvo::{
    Router, Service,
    catch_panic::CatchPanic,
    catcher::Catcher,
    oapi::{
        OpenApi,
        swagger_ui::{Config, SwaggerUi},
    },
};
use vitrina_shared::config::Role::{Admin, Operator, Viewer};

use crate::{
    app::App,
    middleware::{InFlight, LocalOnly, RequestContext, Requires, Timeout},
    openapi,
    problem::Fallback,
    routes::{
        calls, dead_letters, events, installation, limits, ops, pipelines, reports, runs, targets, transforms, workers,
    },
};

static DOCUMENT: LazyLock<OpenApi> = LazyLock::new(|| openapi::describe(&documented()));

pub fn document() -> OpenApi {
    DOCUMENT.clone()
}

pub fn service(app: &Arc<App>) -> Service {
    let timeout = Duration::from_secs(app.config.request_timeout.as_secs().max(1));
    // Health checks must be answered under any load, so they pass no limit.
    let probes =
        Router::new().hoop(Timeout(timeout)).push(ops::router()).push(Router::with_path("api/v1").push(ops::router()));
    let limited = Router::new().hoop(InFlight::new(app.config.max_in_flight)).hoop(Timeout(timeout)).push(api());
    // Requests that wait for a report have their own limit on number and time.
    let patient = timeout + reports::LONGEST_WAIT;
    let waiting = Router::new().hoop(InFlight::new(app.config.max_in_flight)).hoop(Timeout(patient)).push(waits());
    // A stream of events has no time limit.
    let streams =
        Router::with_path("api/v1").push(Router::with_path("events").hoop(Requires(Viewer)).get(events::follow));
    // Without its online validator the page works without the internet.
    let docs = SwaggerUi::new(Config::from("/openapi.json").validator_url("none")).title("Vitrina API");
    let root = Router::new()
        .hoop(CatchPanic::new())
        .push(probes)
        .push(limited)
        .push(waiting)
        .push(streams)
        .push(Router::with_path("openapi.json").get(openapi::ServedDocument(&DOCUMENT)))
        .push(Router::with_path("api/v1/openapi.json").get(openapi::ServedDocument(&DOCUMENT)))
        .push(docs.clone().into_router("docs"))
        .push(docs.into_router("api/v1/docs"));
    Service::new(root).hoop(RequestContext(app.clone())).hoop(LocalOnly(app.clone())).catcher(Catcher::new(Fallback))
}

/// Everything under `/api/v1` that needs a role.
fn api() -> Router {
    let read = Router::new()
        .hoop(Requires(Viewer))
        .push(Router::with_path("pipelines").get(pipelines::list))
        .push(Router::with_path("pipelines/{p}").get(pipelines::show))
        .push(Router::with_path("pipelines/{p}/status").get(pipelines::status))
        .push(Router::with_path("pipelines/{p}/state").get(pipelines::checkpoint))
        .push(Router::with_path("pipelines/{p}/runs").get(runs::list))
        .push(Router::with_path("pipelines/{p}/dead-letters").get(dead_letters::list))
        .push(Router::with_path("calls").get(calls::list))
        .push(Router::with_path("limits").get(limits::list))
        .push(Router::with_path("installation").get(installation::show))
        .push(Router::with_path("runs/{id}").get(runs::show))
        .push(Router::with_path("reports/{id}").get(reports::show))
        .push(Router::with_path("targets").get(targets::list))
        .push(Router::with_path("transforms").get(transforms::list))
        .push(Router::with_path("workers").get(workers::list));
    let operate = Router::new()
        .hoop(Requires(Operator))
        .push(Router::with_path("pipelines").post(pipelines::create))
        .push(Router::with_path("pipelines/{p}").patch(pipelines::change).delete(pipelines::delete))
        .push(Router::with_path("pipelines/validate").post(pipelines::validate))
        .push(Router::with_path("pipelines/{p}/run").post(runs::request))
        .push(Router::with_path("pipelines/{p}/pause").post(runs::pause))
        .push(Router::with_path("pipelines/{p}/cancel").post(runs::cancel))
        .push(Router::with_path("pipelines/{p}/reset").post(runs::reset))
        .push(Router::with_path("runs/{id}/again").post(runs::again))
        .push(Router::with_path("calls").delete(calls::forget))
        .push(Router::with_path("limits/{name}").put(limits::put).delete(limits::delete))
        .push(Router::with_path("limits/keys/{pool}").delete(limits::forget_keys));
    let allow = Router::new()
        .hoop(Requires(Admin))
        .push(Router::with_path("targets").post(targets::create))
        .push(Router::with_path("targets/{t}").delete(targets::delete));
    Router::with_path("api/v1").push(read).push(operate).push(allow)
}

fn waits() -> Router {
    let operate = Router::new()
        .hoop(Requires(Operator))
        .push(Router::with_path("pipelines/{p}/preview").post(reports::preview))
        .push(Router::with_path("pipelines/{p}/reconcile").post(reports::reconcile))
        .push(Router::with_path("pipelines/{p}/dead-letters/replay").post(dead_letters::replay));
    Router::with_path("api/v1").push(operate)
}

fn documented() -> Router {
    let events = Router::with_path("api/v1/events").get(events::follow);
    Router::new().push(ops::router()).push(api()).push(waits()).push(events)
}
