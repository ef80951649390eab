//! `/health`, `/health/live` and `/api/v1`: readiness, liveness and API version.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrets_core::Service;
use serde::Serialize;
use utoipa::ToSchema;
use warp::Filter as _;
use warp::http::{Method, StatusCode};
use warp::reply::Response;

use crate::openapi::{Content, Described};
use crate::serve::api::Api;
use crate::serve::reply;
use crate::serve::router::Route;
use crate::serve::target::target;
use secrets_core::runtime::Supervisor;

/// Health and build of the service.
#[derive(Debug, Serialize, ToSchema)]
struct HealthResponse {
    status: &'static str,
    service: &'static str,
    version: &'static str,
    build_time: &'static str,
    checks: BTreeMap<&'static str, &'static str>,
}

/// Liveness of the process.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
struct LivenessResponse {
    status: &'static str,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
struct Greeting {
    message: &'static str,
    version: &'static str,
}

pub(super) fn routes(api: &Api, supervisor: &Supervisor) -> Vec<Route> {
    let (service, supervisor) = (Arc::clone(&api.service), supervisor.clone());
    let health = target().then(move |_| {
        let (service, supervisor) = (Arc::clone(&service), supervisor.clone());
        async move { health(&service, &supervisor).await }
    });
    // Uses neither the store nor the workers, so that a failure of these does not restart the process.
    let live = target().map(|_| reply::json(StatusCode::OK, &LivenessResponse { status: "ok" }));
    let greeting = Greeting { message: "secrets API", version: "1.0.0" };
    let greet = target().map(move |_| reply::json(StatusCode::OK, &greeting));
    vec![
        Route::public(Method::GET, "/health", "health", health.boxed())
            .summary("Check the health of the service")
            .response(200, health_body())
            .response(503, health_body()),
        Route::public(Method::GET, "/health/live", "liveness", live.boxed())
            .summary("Check that the process is running, without its database and workers")
            .response(200, vec![Content::json(Described::of::<LivenessResponse>())]),
        Route::public(Method::GET, "/api/v1", "greeting", greet.boxed())
            .summary("Get the API name and version")
            .response(200, vec![Content::json(Described::of::<Greeting>())]),
    ]
}

fn health_body() -> Vec<Content> {
    vec![Content::json(Described::of::<HealthResponse>())]
}

async fn health(service: &Service, supervisor: &Supervisor) -> Response {
    let health = service.health().await;
    let checks = [
        ("database", health.database),
        ("encryption", health.encryption),
        ("audit", health.audit),
        ("scheduler", supervisor.is_running()),
    ];
    let ok = checks.iter().all(|(_, works)| *works);
    let body = HealthResponse {
        status: if ok { "ok" } else { "degraded" },
        service: "secrets",
        version: env!("CARGO_PKG_VERSION"),
        build_time: env!("SERVICE_BUILD_TIME"),
        checks: checks
            .into_iter()
            .map(|(name, works)| (name, if works { "ok" } else { "fail" }))
            .collect(),
    };
    reply::json(if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &body)
}
