//! `/api/v1/scans`

use std::sync::Arc;
use std::thread::available_parallelism;

use secrets_core::access::ProjectRef;
use secrets_core::caller::Caller;
use secrets_core::error::Error;
use secrets_core::ids;
use secrets_core::scans::{
    BeginScan, DeleteScan, FindingChange, GetScan, KeepScan, ListScans, NewScan, ScanWithFindings,
    UpdateFinding,
};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::api::Api;
use crate::body::{BULK_LIMIT, Body, LIMIT, body};
use crate::fault::Fault;
use crate::openapi::{Content, Described, Form};
use crate::reply::Shape;
use crate::router::Route;
use crate::target::{Target, target};

const ALL: &str = "/api/v1/scans";
const ONE: &str = "/api/v1/scans/{id}";
const FINDING: &str = "/api/v1/scans/{id}/findings/{findingId}";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let worker = Worker::new(api.clone());
    let create =
        body(BULK_LIMIT).and(warp::ext::get::<Caller>()).map(move |body: Body, caller: Caller| {
            let worker = worker.clone();
            async move { worker.scan(body.json().await?, caller).await }
        });
    let list = target().map(|target: Target| std::future::ready(list(&target)));
    let get = target().map(|target: Target| known(GetScan { scan: target.id("id") }));
    let update = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        let (scan, finding) = (target.id("id"), target.id("findingId"));
        Ok(UpdateFinding { scan, finding, change: body.json().await? })
    });
    let delete = target().map(|target: Target| known(DeleteScan { scan: target.id("id") }));
    vec![
        api.route(Method::GET, ALL, Shape::Named("scans"), list)
            .says("List scans")
            .query("team_id", Form::Id, "Of this team")
            .looks_up()
            .query("project_id", Form::Project, "Of this project"),
        api.route(Method::POST, ALL, Shape::Created, create)
            .says("Look for credentials in a text or files")
            .looks_up()
            .takes::<NewScan>()
            .gives(201, vec![Content::json(Described::of::<ScanWithFindings>())]),
        api.route(Method::GET, ONE, Shape::Bare, get).says("See a scan and what it found"),
        api.route(Method::DELETE, ONE, Shape::Empty, delete).says("Delete a scan"),
        api.route(Method::PATCH, FINDING, Shape::Bare, update)
            .says("Say what became of a finding")
            .takes::<FindingChange>(),
    ]
}

/// Does the work of scans on threads where no request waits, and never on all processors at once.
#[derive(Clone)]
struct Worker {
    api: Api,
    seats: Arc<Semaphore>,
}

impl Worker {
    fn new(api: Api) -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self { api, seats: Arc::new(Semaphore::new((processors / 2).max(1))) }
    }

    /// A scan that is done and remains to be kept.
    async fn scan(&self, scan: NewScan, caller: Caller) -> Result<KeepScan, Fault> {
        let begun = self.api.perform(async { Ok(BeginScan { scan }) }, caller).await?;
        let seat = Arc::clone(&self.seats).acquire_owned().await.map_err(Error::internal)?;
        // The seat goes with the work: a client that hangs up does not make room for more of it.
        let done = spawn_blocking(move || {
            let _seat = seat;
            begun.work()
        });
        Ok(KeepScan { scan: done.await.map_err(Error::internal)? })
    }
}

fn list(target: &Target) -> Result<ListScans, Fault> {
    let team = match target.query("team_id")? {
        Some(team) => {
            let team = ids::parse(team);
            Some(team.ok_or_else(|| Error::invalid("team_id", "must be a UUID"))?.into())
        }
        None => None,
    };
    Ok(ListScans { team, project: target.query("project_id")?.map(ProjectRef::from) })
}
