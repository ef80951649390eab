//! `/api/v1/projects/{projectId}/environments/{environmentId}/watch`: server-sent events
//! (`text/event-stream`) that announce changes to an environment, without secret keys or values.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::poll_fn;
use secrets_core::crypto::Tag;
use secrets_core::engine::{Caller, Operation as _};
use secrets_core::environments::{WatchEnvironment, WatchPlace, Watched};
use secrets_core::limits::Permit;
use secrets_core::model::Error;
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at};
use warp::Filter as _;
use warp::http::{HeaderMap, Method};
use warp::reply::{Reply as _, Response};
use warp::sse::{self, Event};
use zeroize::Zeroizing;

use crate::openapi::{Content, Doc};
use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::gate::credential;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};
use crate::serve::watches::WatchRegistry;
use secrets_core::runtime::Supervisor;

const WATCH: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/watch";

/// Interval of keep-alive comments, so that no proxy closes the connection as idle.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Interval at which the credential and its read access are checked again.
const RECHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of events queued for a client that does not read.
const MAX_QUEUED_EVENTS: usize = 4;

pub(super) fn routes(api: &Api, supervisor: &Supervisor) -> Vec<Route> {
    let all = Arc::new(WatchRegistry::new(Arc::clone(&api.service), Arc::clone(&api.clock)));
    let (api, stopped) = (api.clone(), supervisor.stopped());
    let filter = target().and(warp::ext::get::<Caller>()).and(warp::header::headers_cloned()).then(
        move |target: Target, caller: Caller, headers: HeaderMap| {
            let (api, all, stopped) = (api.clone(), Arc::clone(&all), stopped.clone());
            async move {
                match begin(&api, &all, &target, caller, &headers).await {
                    Ok((watcher, first)) => watcher.stream(first, stopped),
                    Err(fault) => fault.into_response(api.clock.now()),
                }
            }
        },
    );
    vec![
        Route {
            method: Method::GET,
            template: WATCH,
            operation: WatchEnvironment::NAME,
            callers: Some(WatchEnvironment::CALLERS),
            doc: Doc::default(),
            has_large_output: false,
            is_path_shared: false,
            filter: filter.boxed(),
        }
        .id("watchEnvironment")
        .summary("Watch an environment for changes (server-sent events)")
        .response(200, vec![Content::text("text/event-stream")]),
    ]
}

/// Watch connection of a client.
struct Watcher {
    api: Api,
    operation: WatchEnvironment,
    caller: Caller,
    /// Bearer credential, verified again every [`RECHECK_INTERVAL`].
    credential: Zeroizing<String>,
    revisions: watch::Receiver<Option<Tag>>,
    last: Tag,
    _permit: Permit<WatchPlace>,
}

/// The watched environment no longer exists.
struct Gone;

/// Data of an event.
#[derive(Serialize)]
struct Notice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    revision: &'a Tag,
}

async fn begin(
    api: &Api,
    all: &Arc<WatchRegistry>,
    target: &Target,
    caller: Caller,
    headers: &HeaderMap,
) -> Result<(Watcher, Event), Fault> {
    let operation = WatchEnvironment { at: target.environment() };
    let known = std::future::ready(Ok(operation.clone()));
    let Watched { environment, team, .. } = api.perform(known, caller.clone()).await?;
    let principal =
        caller.actor().ok_or_else(|| Error::internal("the caller of a watch has no ID"))?;
    let permit = all.acquire(team, principal)?;
    let revisions = all.follow(environment);
    // Read the revision again after subscribing, so that no change in between is missed.
    let known = std::future::ready(Ok(operation.clone()));
    let Watched { revision, .. } = api.perform(known, caller.clone()).await?;

    let seen_last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let has_missed = seen_last.is_some_and(|id| id != revision.as_str());
    let first = event(if has_missed { "secrets.updated" } else { "secrets.current" }, &revision);
    let credential = Zeroizing::new(credential(headers)?.to_owned());
    let api = api.clone();
    let watcher =
        Watcher { api, operation, caller, credential, revisions, last: revision, _permit: permit };
    Ok((watcher, first))
}

impl Watcher {
    /// Starts the event stream and returns it as the response. The stream ends when the client
    /// disconnects, the service stops, the environment is deleted or the caller loses read access.
    fn stream(self, first: Event, stopped: watch::Receiver<bool>) -> Response {
        let (events, mut waiting) = mpsc::channel(MAX_QUEUED_EVENTS);
        tokio::spawn(self.run(first, events, stopped));
        sse::reply(poll_fn(move |cx| waiting.poll_recv(cx))).into_response()
    }

    async fn run(
        mut self,
        first: Event,
        events: mpsc::Sender<Result<Event, Infallible>>,
        mut stopped: watch::Receiver<bool>,
    ) {
        let now = Instant::now();
        let mut keep_alive = interval_at(now + KEEP_ALIVE_INTERVAL, KEEP_ALIVE_INTERVAL);
        let mut recheck = interval_at(now + RECHECK_INTERVAL, RECHECK_INTERVAL);
        let mut next = Some(first);
        loop {
            // A client that does not read delays only its own task, and is dropped after a while.
            if let Some(event) = next.take()
                && events.send_timeout(Ok(event), KEEP_ALIVE_INTERVAL).await.is_err()
            {
                return;
            }
            tokio::select! {
                () = events.closed() => return,
                () = wait_until_stopped(&mut stopped) => return,
                changed = self.revisions.changed() => match self.change(changed.is_ok()) {
                    Ok(change) => next = change,
                    Err(Gone) => return,
                },
                _ = recheck.tick() => if !self.may_continue().await { return },
                _ = keep_alive.tick() => next = Some(Event::default().comment("")),
            }
        }
    }

    /// Returns the event for a change, or `None` if the revision is that of the previous event.
    fn change(&mut self, is_followed: bool) -> Result<Option<Event>, Gone> {
        let revision = self.revisions.borrow_and_update().clone();
        let revision = revision.filter(|_| is_followed).ok_or(Gone)?;
        if revision == self.last {
            return Ok(None);
        }
        self.last = revision;
        Ok(Some(event("secrets.updated", &self.last)))
    }

    async fn may_continue(&self) -> bool {
        let service = &self.api.service;
        let origin = self.caller.origin.clone();
        let Ok(caller) = service.authenticate(&self.credential, origin).await else {
            return false;
        };
        service.perform(&caller, self.operation.clone()).await.is_ok()
    }
}

async fn wait_until_stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// Creates an event whose ID is the revision, so that a reconnecting client sends the last revision
/// it saw in `Last-Event-ID`.
fn event(kind: &'static str, revision: &Tag) -> Event {
    let notice = serde_json::to_string(&Notice { kind, revision }).unwrap_or_default();
    Event::default().id(revision.as_str()).data(notice)
}
