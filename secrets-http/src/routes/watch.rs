//! `/api/v1/projects/{projectId}/environments/{environmentId}/watch`: events (`text/event-stream`)
//! that tell of changes, and never of what changed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::poll_fn;
use secrets_core::engine::{Caller, Operation as _};
use secrets_core::crypto::Tag;
use secrets_core::environments::{WatchEnvironment, Watched};
use secrets_core::model::Error;
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at};
use warp::Filter as _;
use warp::http::{HeaderMap, Method};
use warp::reply::{Reply as _, Response};
use warp::sse::{self, Event};
use zeroize::Zeroizing;

use crate::api::Api;
use crate::fault::Fault;
use crate::gate::credential;
use crate::jobs::Scheduler;
use crate::openapi::{Content, Doc};
use crate::router::Route;
use crate::target::{Target, target};
use crate::watches::{Seat, Watches};

const WATCH: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/watch";

/// How often something is sent, so that nobody on the way takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How often it is asked whether the credential is still good and its owner may still read.
const RECHECK: Duration = Duration::from_secs(10);

/// How many events wait for a client that does not read.
const WAITING: usize = 4;

pub(super) fn routes(api: &Api, scheduler: &Scheduler) -> Vec<Route> {
    let all = Arc::new(Watches::new(Arc::clone(&api.service), Arc::clone(&api.clock)));
    let (api, stopped) = (api.clone(), scheduler.stopped());
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
            is_beside_others: false,
            filter: filter.boxed(),
        }
        .says("Watch an environment: an event whenever what it sees changes")
        .gives(200, vec![Content::text("text/event-stream")]),
    ]
}

/// One who watches, as long as the connection lasts.
struct Watcher {
    api: Api,
    operation: WatchEnvironment,
    caller: Caller,
    /// Verified again while the watch goes on.
    credential: Zeroizing<String>,
    revisions: watch::Receiver<Option<Tag>>,
    last: Tag,
    _seat: Seat,
}

/// There is nothing more to watch.
struct Gone;

/// What is sent.
#[derive(Serialize)]
struct Notice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    revision: &'a Tag,
}

async fn begin(
    api: &Api,
    all: &Arc<Watches>,
    target: &Target,
    caller: Caller,
    headers: &HeaderMap,
) -> Result<(Watcher, Event), Fault> {
    let operation = WatchEnvironment { at: target.environment() };
    let known = std::future::ready(Ok(operation.clone()));
    let Watched { environment, .. } = api.perform(known, caller.clone()).await?;
    let principal = caller.actor().ok_or_else(|| Error::internal("a watcher without a name"))?;
    let seat = all.sit(principal)?;
    let revisions = all.follow(environment);
    // Looked at once more now that changes are followed, so that none lies in between.
    let known = std::future::ready(Ok(operation.clone()));
    let Watched { revision, .. } = api.perform(known, caller.clone()).await?;

    let seen_last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let has_missed = seen_last.is_some_and(|id| id != revision.as_str());
    let first = event(if has_missed { "secrets.updated" } else { "secrets.current" }, &revision);
    let credential = Zeroizing::new(credential(headers)?.to_owned());
    let api = api.clone();
    let watcher =
        Watcher { api, operation, caller, credential, revisions, last: revision, _seat: seat };
    Ok((watcher, first))
}

impl Watcher {
    /// The answer: events until the client goes away, the service stops, the environment is gone or
    /// its watcher may not read it any more.
    fn stream(self, first: Event, stopped: watch::Receiver<bool>) -> Response {
        let (events, mut waiting) = mpsc::channel(WAITING);
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
        let mut keep_alive = interval_at(now + KEEP_ALIVE, KEEP_ALIVE);
        let mut recheck = interval_at(now + RECHECK, RECHECK);
        let mut next = Some(first);
        loop {
            // A client that does not read holds up nobody but itself.
            if let Some(event) = next.take()
                && events.send_timeout(Ok(event), KEEP_ALIVE).await.is_err()
            {
                return;
            }
            tokio::select! {
                () = events.closed() => return,
                () = told_to(&mut stopped) => return,
                changed = self.revisions.changed() => match self.change(changed.is_ok()) {
                    Ok(change) => next = change,
                    Err(Gone) => return,
                },
                _ = recheck.tick() => if !self.may_go_on().await { return },
                _ = keep_alive.tick() => next = Some(Event::default().comment("")),
            }
        }
    }

    /// What to tell of a change, if anything.
    fn change(&mut self, is_followed: bool) -> Result<Option<Event>, Gone> {
        let revision = self.revisions.borrow_and_update().clone();
        let revision = revision.filter(|_| is_followed).ok_or(Gone)?;
        if revision == self.last {
            return Ok(None);
        }
        self.last = revision;
        Ok(Some(event("secrets.updated", &self.last)))
    }

    async fn may_go_on(&self) -> bool {
        let service = &self.api.service;
        let origin = self.caller.origin.clone();
        let Ok(caller) = service.authenticate(&self.credential, origin).await else {
            return false;
        };
        service.perform(&caller, self.operation.clone()).await.is_ok()
    }
}

async fn told_to(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// An event under the revision it tells, so that a client that comes back says what it saw last.
fn event(kind: &'static str, revision: &Tag) -> Event {
    let notice = serde_json::to_string(&Notice { kind, revision }).unwrap_or_default();
    Event::default().id(revision.as_str()).data(notice)
}
