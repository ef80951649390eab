//! `/api/v1/audit`, `/api/v1/teams/{teamId}/audit`

use std::future::ready;

use secrets_core::audit::{AuditFormat, AuditOf, AuditPage, AuditQuery, ListAudit};
use secrets_core::error::Error;
use warp::Filter as _;
use warp::http::{HeaderName, HeaderValue, Method, StatusCode};
use warp::reply::Response;

use crate::api::Api;
use crate::fault::Fault;
use crate::reply;
use crate::router::Route;
use crate::target::{Target, target};

const OF_TEAM: &str = "/api/v1/teams/{teamId}/audit";

/// Leads to the next page where the body has no room to say so.
const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let managed = target().map(|target: Target| ready(list(&target, AuditOf::Managed)));
    let of_team =
        target().map(|target: Target| ready(list(&target, AuditOf::Team(target.id("teamId")))));
    vec![
        api.route(Method::GET, "/api/v1/audit", render, managed),
        api.route(Method::GET, OF_TEAM, render, of_team),
    ]
}

fn list(target: &Target, whose: AuditOf) -> Result<ListAudit, Fault> {
    let one =
        |name| -> Result<Option<String>, Error> { Ok(target.query(name)?.map(str::to_owned)) };
    let whose = match (whose, one("team_id")?) {
        (AuditOf::Managed, Some(team)) => {
            let team = secrets_core::ids::parse(&team)
                .ok_or_else(|| Error::invalid("team_id", "must be a UUID"))?;
            AuditOf::Team(Some(team.into()))
        }
        (whose, _) => whose,
    };
    let query = AuditQuery {
        action: target.queries("action").map(str::to_owned).collect(),
        actor_id: one("actor_id")?,
        actor_type: one("actor_type")?,
        project_id: one("project_id")?,
        environment_id: one("environment_id")?,
        resource_type: one("resource_type")?,
        resource_id: one("resource_id")?,
        key: one("key")?,
        outcome: one("outcome")?,
        ip: one("ip")?,
        from: one("from")?,
        to: one("to")?,
        limit: one("limit")?,
        cursor: one("cursor")?,
        order: one("order")?,
        format: one("format")?,
    };
    Ok(ListAudit { whose, query })
}

fn render(page: &AuditPage) -> Response {
    let (text, kind) = match page.format {
        AuditFormat::Json => return reply::json(StatusCode::OK, page),
        AuditFormat::Ndjson => (page.ndjson(), "application/x-ndjson"),
        AuditFormat::Csv => (page.csv(), "text/csv; charset=utf-8; header=present"),
    };
    let mut response = reply::text(kind, text);
    let next = page.next_cursor.as_deref().and_then(|next| HeaderValue::from_str(next).ok());
    if let Some(next) = next {
        response.headers_mut().insert(NEXT_CURSOR, next);
    }
    response
}
