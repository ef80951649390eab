//! `/api/v1/scans`: scans for leaked credentials.

use std::future::ready;

use secrets_core::model::{Error, ProjectRef, ids};
use secrets_core::scans::{
    CreateScan, DeleteScan, FindingChange, GetScan, ListScans, NewScan, Scan, ScanWithFindings,
    UpdateFinding,
};
use warp::http::Method;

use super::known;
use crate::openapi::{Content, Described, Form};
use crate::serve::api::Api;
use crate::serve::body::{BULK_LIMIT, LIMIT};
use crate::serve::fault::Fault;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;
use crate::serve::target::Target;

const ALL: &str = "/api/v1/scans";
const ONE: &str = "/api/v1/scans/{id}";
const FINDING: &str = "/api/v1/scans/{id}/findings/{findingId}";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let create = |request: Request| async {
        Ok(CreateScan { scan: request.body(BULK_LIMIT).json().await? })
    };
    let list = |request: Request| ready(list(&request.target));
    let get = |request: Request| known(GetScan { scan: request.target.id("id") });
    let update = |request: Request| async move {
        let (scan, finding) = (request.target.id("id"), request.target.id("findingId"));
        Ok(UpdateFinding { scan, finding, change: request.body(LIMIT).json().await? })
    };
    let delete = |request: Request| known(DeleteScan { scan: request.target.id("id") });
    vec![
        api.route(Method::GET, ALL, Shape::Named("scans"), list)
            .list_of::<Scan>()
            .id("listScans")
            .summary("List the newest 100 scans")
            .query("team_id", Form::Id, "Only scans of this team")
            .may_be_not_found()
            .query("project_id", Form::Project, "Only scans of this project"),
        api.route(Method::POST, ALL, Shape::Created, create)
            .id("createScan")
            .summary("Scan text or files for leaked credentials")
            .may_be_not_found()
            .json_body::<NewScan>()
            .response(201, vec![Content::json(Described::of::<ScanWithFindings>())]),
        api.route(Method::GET, ONE, Shape::Bare, get)
            .id("getScan")
            .summary("Get a scan and its findings"),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .id("deleteScan")
            .summary("Delete a scan"),
        api.route(Method::PATCH, FINDING, Shape::Bare, update)
            .id("updateFinding")
            .summary("Update the status of a finding")
            .json_body::<FindingChange>(),
    ]
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
