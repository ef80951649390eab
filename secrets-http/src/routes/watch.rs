//! `/api/v1/projects/{projectId}/environments/{environmentId}/watch` and
//! `/api/v1/projects/{projectId}/watch`: server-sent events (`text/event-stream`) that announce
//! changes to an environment, or to all environments of a project that the caller may read, without
//! secret keys or values.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use futures_util::stream::poll_fn;
use secrets_core::crypto::Tag;
use secrets_core::engine::{Caller, Operation as _};
use secrets_core::environments::{
    WatchEnvironment, WatchPlace, WatchProject, WatchTarget, Watched, WatchedProject,
};
use secrets_core::limits::Permit;
use secrets_core::model::{EnvironmentId, EnvironmentName, Error, TeamId};
use secrets_core::runtime::Supervisor;
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at};
use warp::filters::BoxedFilter;
use warp::http::{HeaderMap, Method};
use warp::reply::{Reply as _, Response};
use warp::sse::{self, Event};
use zeroize::Zeroizing;

use crate::openapi::Content;
use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::gate::credential;
use crate::serve::request::{Request, route_filter};
use crate::serve::router::Route;
use crate::serve::target::Target;

const ENVIRONMENT: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/watch";
const PROJECT: &str = "/api/v1/projects/{projectId}/watch";

/// Interval of keep-alive comments, so that no proxy closes the connection as idle.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Maximum number of events queued for a client that does not read.
const MAX_QUEUED_EVENTS: usize = 4;

pub(super) fn routes(api: &Api, supervisor: &Supervisor) -> Vec<Route> {
    let environment =
        |target: &Target| Operation::Environment(WatchEnvironment { at: target.environment() });
    let project = |target: &Target| Operation::Project(WatchProject { project: target.project() });
    vec![
        Route::for_callers(
            WatchEnvironment::CALLERS,
            Method::GET,
            ENVIRONMENT,
            WatchEnvironment::NAME,
            filter(api, supervisor, environment),
        )
        .id("watchEnvironment")
        .summary("Watch an environment for changes (server-sent events)")
        .response(200, vec![Content::text("text/event-stream")]),
        Route::for_callers(
            WatchProject::CALLERS,
            Method::GET,
            PROJECT,
            WatchProject::NAME,
            filter(api, supervisor, project),
        )
        .id("watchProject")
        .summary("Watch the environments of a project for changes (server-sent events)")
        .response(200, vec![Content::text("text/event-stream")]),
    ]
}

fn filter(
    api: &Api,
    supervisor: &Supervisor,
    operation: impl Fn(&Target) -> Operation + Copy + Send + Sync + 'static,
) -> BoxedFilter<(Response,)> {
    let (api, stopped) = (api.clone(), supervisor.stopped());
    route_filter(move |request: Request| {
        let (api, stopped) = (api.clone(), stopped.clone());
        let operation = operation(&request.target);
        async move {
            match begin(&api, operation, request.caller.clone(), &request.headers).await {
                Ok((watcher, first)) => watcher.stream(first, stopped),
                Err(fault) => fault.into_response(api.clock.now()),
            }
        }
    })
}

/// Operation that reads the revisions of the watched environment or project.
#[derive(Clone)]
enum Operation {
    Environment(WatchEnvironment),
    Project(WatchProject),
}

/// Revisions of the watched environment or project, as far as the caller may read it.
struct Revisions {
    target: WatchTarget,
    team: TeamId,
    /// Revision of the whole environment or project. It changes whenever the set of `environments`
    /// or the revision of one of them changes.
    revision: Tag,
    /// Revisions of the watched environments that the caller may read.
    environments: Vec<Watched>,
}

impl Operation {
    async fn perform(&self, api: &Api, caller: &Caller) -> Result<Revisions, Error> {
        let service = &api.service;
        Ok(match self.clone() {
            Self::Environment(operation) => service.perform(caller, operation).await?.into(),
            Self::Project(operation) => service.perform(caller, operation).await?.into(),
        })
    }

    /// Creates an event of this kind about an environment, without an event ID.
    fn event(&self, kind: &'static str, of: &Watched) -> Event {
        let is_of_project = matches!(self, Self::Project(_));
        let notice = Notice {
            kind,
            environment: is_of_project.then_some(of.environment),
            name: is_of_project.then_some(&of.name),
            revision: (kind != REMOVED).then_some(&of.revision),
        };
        Event::default().data(serde_json::to_string(&notice).unwrap_or_default())
    }

    /// Creates the events for all differences between an earlier and a later reading of the
    /// revisions.
    fn changes(&self, before: &Revisions, now: &Revisions) -> Vec<Event> {
        let (known, found) = (before.by_id(), now.by_id());
        let changed =
            now.environments.iter().filter_map(|watched| match known.get(&watched.environment) {
                None => Some(self.event(ADDED, watched)),
                Some(known) if known.revision == watched.revision => None,
                Some(_) => Some(self.event(UPDATED, watched)),
            });
        let removed = before.environments.iter();
        let removed = removed.filter(|known| !found.contains_key(&known.environment));
        changed.chain(removed.map(|known| self.event(REMOVED, known))).collect()
    }
}

impl Revisions {
    fn by_id(&self) -> HashMap<EnvironmentId, &Watched> {
        self.environments.iter().map(|watched| (watched.environment, watched)).collect()
    }
}

impl From<Watched> for Revisions {
    fn from(watched: Watched) -> Self {
        Self {
            target: WatchTarget::Environment(watched.environment),
            team: watched.team,
            revision: watched.revision.clone(),
            environments: vec![watched],
        }
    }
}

impl From<WatchedProject> for Revisions {
    fn from(watched: WatchedProject) -> Self {
        let WatchedProject { project, team, revision, environments } = watched;
        Self { target: WatchTarget::Project(project), team, revision, environments }
    }
}

/// Event stream of one client.
struct Watcher {
    api: Api,
    operation: Operation,
    caller: Caller,
    /// Bearer credential, verified again at each `recheck_interval`; `None` if the caller has a
    /// session.
    credential: Option<Zeroizing<String>>,
    polled: watch::Receiver<Option<Tag>>,
    last: Revisions,
    _permit: Permit<WatchPlace>,
}

/// Error: the watched resource no longer exists, or the caller may no longer read it.
struct Gone;

const CURRENT: &str = "secrets.current";
const UPDATED: &str = "secrets.updated";
const ADDED: &str = "environment.added";
const REMOVED: &str = "environment.removed";

/// JSON data of an event.
#[derive(Serialize)]
struct Notice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<EnvironmentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a EnvironmentName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'a Tag>,
}

async fn begin(
    api: &Api,
    operation: Operation,
    caller: Caller,
    headers: &HeaderMap,
) -> Result<(Watcher, Vec<Event>), Fault> {
    let Revisions { target, team, .. } = operation.perform(api, &caller).await?;
    let (Some(account), Some(principal)) = (caller.account(), caller.actor()) else {
        return Err(Error::internal("the caller of a watch has no ID").into());
    };
    let permit = api.watches.acquire(team, account, principal)?;
    let polled = api.watches.follow(target);
    // Read the revisions again after subscribing, so that no change in between is missed.
    let last = operation.perform(api, &caller).await?;

    let seen_last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let has_missed = seen_last.is_some_and(|id| id != last.revision.as_str());
    let kind = if has_missed { UPDATED } else { CURRENT };
    let first = last.environments.iter().map(|watched| operation.event(kind, watched));
    let first = with_id(first.collect(), &last.revision);
    let credential = match caller.session() {
        Some(_) => None,
        None => Some(Zeroizing::new(credential(headers)?.to_owned())),
    };
    let api = api.clone();
    let watcher = Watcher { api, operation, caller, credential, polled, last, _permit: permit };
    Ok((watcher, first))
}

impl Watcher {
    /// Starts the event stream with the events `first`, and returns it as the response. The stream
    /// ends when the client disconnects, the service stops, the environment or project is deleted,
    /// or the caller loses access to it.
    fn stream(self, first: Vec<Event>, stopped: watch::Receiver<bool>) -> Response {
        let (events, mut waiting) = mpsc::channel(MAX_QUEUED_EVENTS);
        tokio::spawn(self.run(first, events, stopped));
        sse::reply(poll_fn(move |cx| waiting.poll_recv(cx))).into_response()
    }

    async fn run(
        mut self,
        first: Vec<Event>,
        events: mpsc::Sender<Result<Event, Infallible>>,
        mut stopped: watch::Receiver<bool>,
    ) {
        let now = Instant::now();
        let mut keep_alive = interval_at(now + KEEP_ALIVE_INTERVAL, KEEP_ALIVE_INTERVAL);
        let recheck_interval = self.api.watches.options().recheck_interval;
        let mut recheck = interval_at(now + recheck_interval, recheck_interval);
        let mut next = first;
        loop {
            for event in next {
                // A client that does not read delays only its own task. Its stream ends when no
                // event could be queued for this time.
                if events.send_timeout(Ok(event), KEEP_ALIVE_INTERVAL).await.is_err() {
                    return;
                }
            }
            let change = tokio::select! {
                () = events.closed() => return,
                () = wait_until_stopped(&mut stopped) => return,
                changed = self.polled.changed() => self.change(changed.is_ok()).await,
                _ = recheck.tick() => self.recheck().await,
                _ = keep_alive.tick() => Ok(vec![Event::default().comment("")]),
            };
            match change {
                Ok(events) => next = events,
                Err(Gone) => return,
            }
        }
    }

    /// Returns the events to send after the revision in the store has changed. Fails if the
    /// environment or project no longer exists, if the caller may no longer read it, or if its
    /// revision is no longer polled (`is_polled` is false).
    async fn change(&mut self, is_polled: bool) -> Result<Vec<Event>, Gone> {
        let exists = self.polled.borrow_and_update().is_some();
        if is_polled && exists { self.read().await } else { Err(Gone) }
    }

    /// Verifies the credential again, and returns the events for changes of the caller's
    /// permissions. Fails if the credential is no longer valid or the caller may no longer read the
    /// revisions.
    async fn recheck(&mut self) -> Result<Vec<Event>, Gone> {
        let credential = self.credential.as_ref().map(|text| text.as_str());
        let caller = self.api.service.authenticate_again(&self.caller, credential).await;
        self.caller = caller.map_err(|_| Gone)?;
        self.read().await
    }

    /// Reads the revisions that the caller may read now. Returns the events for the differences
    /// from the revisions that were read before.
    async fn read(&mut self) -> Result<Vec<Event>, Gone> {
        let now = self.operation.perform(&self.api, &self.caller).await.map_err(|_| Gone)?;
        let events = self.operation.changes(&self.last, &now);
        self.last = now;
        Ok(with_id(events, &self.last.revision))
    }
}

async fn wait_until_stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// Sets the revision as the ID of the last event. A client that received all events sends this ID
/// in `Last-Event-ID` when it reconnects. A client that received only some sends an earlier ID.
fn with_id(mut events: Vec<Event>, revision: &Tag) -> Vec<Event> {
    if let Some(last) = events.pop() {
        events.push(last.id(revision.as_str()));
    }
    events
}
