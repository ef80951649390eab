//! `/api/v1/auth/cli`

use secrets_core::device_login::{ApproveDeviceLogin, CliGrant, DenyDeviceLogin, ListCliSessions, LookUpDeviceLogin, NewDeviceLogin, PollDeviceLogin, PollOutcome, RevokeCliSession, StartDeviceLogin, UserCode};
use secrets_core::model::{BaseUrl, CliSessionId, Error};
use serde::Deserialize;
use utoipa::ToSchema;
use warp::Filter as _;
use warp::http::{Method, StatusCode};
use warp::reply::Response;

use super::known;
use crate::api::Api;
use crate::body::{Body, LIMIT, body};
use crate::fault::Fault;
use crate::links::base_url;
use crate::openapi::{Content, Described};
use crate::reply::{Shape, self};
use crate::router::Route;
use crate::target::{Target, target};

const START: &str = "/api/v1/auth/cli/device";
const POLL: &str = "/api/v1/auth/cli/token";
const LOOK_UP: &str = "/api/v1/auth/cli/device/{userCode}";
const APPROVE: &str = "/api/v1/auth/cli/approve";
const DENY: &str = "/api/v1/auth/cli/deny";
const REVOKE: &str = "/api/v1/auth/cli/revoke";
const SESSIONS: &str = "/api/v1/auth/cli/sessions";

/// A login that is decided about.
#[derive(Debug, Deserialize, ToSchema)]
struct CodeBody {
    /// The code that the client shows.
    #[schema(value_type = String, example = "BCDF-GHJK")]
    user_code: UserCode,
}

/// Why there is no session, in the way of OAuth.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what `Refusal` is written as")]
struct GrantError {
    /// The reason, for machines.
    error: String,
    /// The reason, for people.
    error_description: Option<String>,
}

/// A session that is ended.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct SessionBody {
    /// Which one; the one that sends this where it is absent.
    #[schema(value_type = Option<uuid::Uuid>)]
    id: Option<CliSessionId>,
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let start = body(LIMIT).and(base_url()).map(|body: Body, base: Result<BaseUrl, Error>| async {
        let login: NewDeviceLogin = body.json_or_form().await?;
        Ok(StartDeviceLogin { login, base: base? })
    });
    let poll = body(LIMIT).map(|body: Body| async { body.json_or_form::<PollDeviceLogin>().await });
    let look_up = target().map(|target: Target| {
        known(LookUpDeviceLogin { code: UserCode::new(target.parameter("userCode")) })
    });
    let approve =
        body(LIMIT).map(|body: Body| async { Ok(ApproveDeviceLogin { code: code(body).await? }) });
    let deny =
        body(LIMIT).map(|body: Body| async { Ok(DenyDeviceLogin { code: code(body).await? }) });
    let revoke = body(LIMIT).map(|body: Body| async {
        let named: SessionBody = body.json_if_any().await?;
        Ok(RevokeCliSession { session: named.id })
    });
    let sessions = target().map(|_| known(ListCliSessions));
    vec![
        api.public(Method::POST, START, Shape::Bare, start)
            .says("Begin a login from a command line (RFC 8628)")
            .takes::<NewDeviceLogin>()
            .takes_form::<NewDeviceLogin>(),
        api.public(Method::POST, POLL, granted, poll)
            .says("Ask how the login stands")
            .takes::<PollDeviceLogin>()
            .takes_form::<PollDeviceLogin>()
            .gives(200, vec![Content::json(Described::of::<CliGrant>())])
            .gives(400, vec![Content::json(Described::of::<GrantError>())]),
        api.route(Method::GET, LOOK_UP, Shape::Bare, look_up).says("See who asks"),
        api.route(Method::POST, APPROVE, Shape::Bare, approve)
            .says("Let a command line in")
            .looks_up()
            .takes::<CodeBody>(),
        api.route(Method::POST, DENY, Shape::Bare, deny)
            .says("Refuse it")
            .looks_up()
            .takes::<CodeBody>(),
        api.route(Method::POST, REVOKE, Shape::Empty, revoke)
            .says("End a session")
            .may_take::<SessionBody>()
            .looks_up(),
        api.route(Method::GET, SESSIONS, Shape::Named("sessions"), sessions)
            .says("List the sessions of command lines"),
    ]
}

async fn code(body: Body) -> Result<UserCode, Fault> {
    let CodeBody { user_code } = body.json().await?;
    Ok(user_code)
}

fn granted(outcome: &PollOutcome) -> Response {
    let status = match outcome {
        PollOutcome::Granted(_) => StatusCode::OK,
        PollOutcome::Refused(_) => StatusCode::BAD_REQUEST,
    };
    reply::json(status, outcome)
}
