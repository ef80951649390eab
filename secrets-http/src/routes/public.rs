//! `/health`, `/health/live` and `/api/v1`: readiness, liveness and API version.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use secrets_core::Service;
use secrets_core::bundle::Signer;
use secrets_core::engine::FailingItem;
use secrets_core::limits::SharedState;
use secrets_core::model::Time;
use secrets_core::runtime::{Supervisor, WorkerHealth};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use warp::http::{Method, StatusCode};
use warp::reply::Response;

use crate::openapi::{Content, Described};
use crate::serve::api::Api;
use crate::serve::reply::{self, Envelope};
use crate::serve::request::{Request, route_filter};
use crate::serve::router::Route;

/// Health, version and build time of the service.
#[derive(Debug, Serialize, ToSchema)]
struct HealthResponse {
    status: &'static str,
    service: &'static str,
    version: &'static str,
    build_time: &'static str,
    /// Result of each check: `ok` or `fail`.
    checks: BTreeMap<&'static str, &'static str>,
    /// Mode of counting requests for rate limits: `shared` if the nodes count together in Redis,
    /// `per_node` if no Redis is configured, `per_node_fallback` while Redis cannot be reached.
    /// Does not affect the field `status`.
    rate_limits: &'static str,
    /// Health of each background worker.
    workers: Vec<WorkerResponse>,
    /// Items of background work that fail on this node, oldest first, at most 20. They do not
    /// affect the field `status`.
    failing: Vec<FailingResponse>,
    /// Number of all items of background work that fail on this node.
    failing_total: usize,
}

/// Health of a background worker.
#[derive(Debug, Serialize, ToSchema)]
struct WorkerResponse {
    name: &'static str,
    /// `ok`, or `fail` if the worker has not looked for work within its time limit.
    status: &'static str,
    /// Seconds since the worker last looked for work.
    age_seconds: u64,
}

/// Item of background work that fails.
#[derive(Debug, Serialize, ToSchema)]
struct FailingResponse {
    /// Kind of work: `audit batches`, `audit seal`, `audit prune`, `delivery` for a mail or webhook
    /// event that cannot be sent because a stored record cannot be read, `epoch` if the database
    /// was replaced by an earlier state of it or its epoch cannot be copied, `project keys`,
    /// `project purge`, `rotation`, `rotation record`, `webhook`, `webhook receiver` for a receiver
    /// that does not accept deliveries, or the name of a worker whose last run failed.
    work: &'static str,
    /// ID of the batch, team, delivery, project, rotation or webhook. Absent for the epoch, a
    /// worker, and audit entries that belong to no team.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Uuid>,
    /// Time of the first of the current failures in a row.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    /// Number of failures in a row.
    failures: u32,
}

/// Maximum number of failing items that the response lists.
const MAX_FAILING: usize = 20;

fn status(works: bool) -> &'static str {
    if works { "ok" } else { "fail" }
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
    /// Public key that verifies the bundles of this instance. Clients pin the key at their first
    /// sign-in.
    bundle_signer: Signer,
}

pub(super) fn routes(api: &Api, supervisor: &Supervisor) -> Vec<Route> {
    let (service, supervisor) = (Arc::clone(&api.service), supervisor.clone());
    let envelope = api.envelope;
    let stopping = api.stopping.clone();
    let health = move |_: Request| {
        let (service, supervisor) = (Arc::clone(&service), supervisor.clone());
        let is_stopping = stopping.has_begun();
        async move { health(&service, &supervisor, is_stopping, envelope).await }
    };
    // Uses neither the store nor the workers, so that a failure of these does not restart the
    // process.
    let live = move |_: Request| {
        ready(reply::object(StatusCode::OK, &LivenessResponse { status: "ok" }, envelope))
    };
    let bundle_signer = api.service.bundle_signer();
    let greeting = Greeting { message: "secrets API", version: "1.0.0", bundle_signer };
    let greet = move |_: Request| ready(reply::object(StatusCode::OK, &greeting, envelope));
    vec![
        Route::public(Method::GET, "/health", "health", route_filter(health))
            .id("getHealth")
            .summary("Check the health of the service")
            .response(200, health_body())
            .response(503, health_body()),
        Route::public(Method::GET, "/health/live", "liveness", route_filter(live))
            .id("getLiveness")
            .summary("Check that the process is running, without its database and workers")
            .response(200, vec![Content::json(Described::of::<LivenessResponse>())]),
        Route::public(Method::GET, "/api/v1", "greeting", route_filter(greet))
            .id("getApiVersion")
            .summary("Get the API name and version, and the signer of bundles")
            .response(200, vec![Content::json(Described::of::<Greeting>())]),
    ]
}

fn health_body() -> Vec<Content> {
    vec![Content::json(Described::of::<HealthResponse>())]
}

fn worker(worker: WorkerHealth) -> WorkerResponse {
    let WorkerHealth { name, age, is_running } = worker;
    WorkerResponse { name, status: status(is_running), age_seconds: age.as_secs() }
}

fn failing(failing: FailingItem) -> FailingResponse {
    let FailingItem { item, since, failures, .. } = failing;
    FailingResponse { work: item.kind(), id: item.id(), since, failures }
}

async fn health(
    service: &Service,
    supervisor: &Supervisor,
    is_stopping: bool,
    envelope: Envelope,
) -> Response {
    let health = service.health().await;
    let checks = [
        ("database", health.database),
        ("encryption", health.encryption),
        ("audit", health.audit),
        ("scheduler", supervisor.is_running()),
        // Fails while this node stops, so that requests are sent to other nodes.
        ("running", !is_stopping),
    ];
    let ok = checks.iter().all(|(_, works)| *works);
    let body = HealthResponse {
        status: if ok { "ok" } else { "degraded" },
        service: "secrets",
        version: env!("CARGO_PKG_VERSION"),
        build_time: env!("SERVICE_BUILD_TIME"),
        checks: checks.into_iter().map(|(name, works)| (name, status(works))).collect(),
        rate_limits: match service.engine().windows().state() {
            SharedState::Available => "shared",
            SharedState::Absent => "per_node",
            SharedState::Unavailable => "per_node_fallback",
        },
        workers: supervisor.health().into_iter().map(worker).collect(),
        failing_total: health.failing.len(),
        failing: health.failing.into_iter().take(MAX_FAILING).map(failing).collect(),
    };
    let status = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    reply::object(status, &body, envelope)
}
