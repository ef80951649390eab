//! `/api/v1/audit` and `/api/v1/teams/{teamId}/audit`: audit logs, and the verification of a team's
//! audit chain.

use std::future::ready;

use secrets_core::audit::{
    AuditEntry, AuditFormat, AuditPage, AuditQuery, AuditTeams, ListAudit, VerifyAudit,
};
use secrets_core::model::Error;
use serde::Serialize;
use warp::http::{HeaderName, HeaderValue, Method, StatusCode};
use warp::reply::Response;

use super::known;
use crate::openapi::{Content, Described, Form};
use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::reply::{self, Envelope, Shape};
use crate::serve::request::Request;
use crate::serve::router::Route;
use crate::serve::target::Target;

const TEAM_AUDIT: &str = "/api/v1/teams/{teamId}/audit";
const VERIFICATION: &str = "/api/v1/teams/{teamId}/audit/verification";

/// Response header with the cursor of the next page, for formats whose body cannot contain a cursor
/// (NDJSON, CSV).
const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let managed = |request: Request| ready(list(&request.target, AuditTeams::Managed));
    let of_team = |request: Request| {
        ready(list(&request.target, AuditTeams::Team(request.target.id("teamId"))))
    };
    let verification = |request: Request| known(VerifyAudit { team: request.target.id("teamId") });
    vec![
        documented(api.route(Method::GET, "/api/v1/audit", render, managed))
            .id("listAuditLogs")
            .summary("List the audit log entries of the teams the caller administers")
            .query("team_id", Form::Id, "Only entries of this team"),
        documented(api.route(Method::GET, TEAM_AUDIT, render, of_team))
            .id("listTeamAuditLogs")
            .summary("List the audit log entries of a team"),
        api.route(Method::GET, VERIFICATION, Shape::Bare, verification)
            .id("verifyTeamAuditLog")
            .summary("Verify the newest 5,000 entries of a team's audit chain"),
    ]
}

fn list(target: &Target, whose: AuditTeams) -> Result<ListAudit, Fault> {
    let one =
        |name| -> Result<Option<String>, Error> { Ok(target.query(name)?.map(str::to_owned)) };
    let whose = match (whose, one("team_id")?) {
        (AuditTeams::Managed, Some(team)) => {
            let team = secrets_core::model::ids::parse(&team)
                .ok_or_else(|| Error::invalid("team_id", "must be a UUID"))?;
            AuditTeams::Team(Some(team.into()))
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

fn render(page: &AuditPage, envelope: Envelope) -> Response {
    let (text, kind) = match page.format {
        AuditFormat::Json if envelope == Envelope::Both => {
            let page = PageWithData { page, data: &page.logs };
            return reply::json(StatusCode::OK, &page);
        }
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

/// Page of the audit log in which the field `data` repeats the entries.
#[derive(Serialize)]
struct PageWithData<'a> {
    #[serde(flatten)]
    page: &'a AuditPage,
    data: &'a [AuditEntry],
}

/// Adds to the documentation of a route the query parameters and response formats that both audit
/// endpoints have.
fn documented(route: Route) -> Route {
    let formats = vec![
        Content::json(Described::of::<AuditPage>().with_list("logs")),
        Content::text("application/x-ndjson"),
        Content::text("text/csv"),
    ];
    QUERY.iter().fold(route.response(200, formats), |route, (name, form, description)| {
        route.query(name, *form, description)
    })
}

const QUERY: [(&str, Form, &str); 16] = [
    (
        "action",
        Form::Many("^([a-z._]{1,64}|[a-z._]{0,63}[.][*])$"),
        "Only these actions, such as `secret.read` or `secret.*`; may be repeated",
    ),
    ("actor_id", Form::Id, "Only entries caused by this user or service token"),
    (
        "actor_type",
        Form::OneOf(&["user", "service_token", "system", "anonymous"]),
        "Only entries caused by this kind of actor",
    ),
    ("project_id", Form::Id, "Only entries of this project"),
    ("environment_id", Form::Id, "Only entries of this environment"),
    ("resource_type", Form::Text, "Only entries about this type of resource"),
    ("resource_id", Form::Id, "Only entries about the resource with this ID"),
    ("key", Form::Text, "Only entries about the secret with this key"),
    ("outcome", Form::OneOf(&["success", "denied", "failure"]), "Only entries with this outcome"),
    ("ip", Form::Address, "Only entries with this client IP address"),
    ("from", Form::Time, "Start of the time range, inclusive (default: 30 days ago)"),
    ("to", Form::Time, "End of the time range, exclusive"),
    ("limit", Form::Number(1, 200), "Maximum number of entries per page, 1 to 200 (default: 50)"),
    ("cursor", Form::Pattern("^[A-Za-z0-9_-]{32}$"), "The `next_cursor` of the previous page"),
    ("order", Form::OneOf(&["desc", "asc"]), "Sort order by time (default: desc)"),
    ("format", Form::OneOf(&["json", "ndjson", "csv"]), "Response format (default: json)"),
];
