//! `/api/v1/auth/cli`: device logins and command-line sessions.

use secrets_core::device_login::{
    ApproveDeviceLogin, CliGrant, DenyDeviceLogin, LookUpDeviceLogin, NewDeviceLogin,
    PollDeviceLogin, PollOutcome, StartDeviceLogin, UserCode,
};
use secrets_core::model::{Error, SessionId};
use secrets_core::sessions::{ListCliSessions, RevokeCliSession, UserSession};
use serde::Deserialize;
use utoipa::ToSchema;
use warp::http::{Method, StatusCode};
use warp::reply::Response;

use super::known;
use crate::openapi::{Content, Described};
use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, PUBLIC_LIMIT};
use crate::serve::fault::Fault;
use crate::serve::reply::{self, Envelope, Shape};
use crate::serve::request::Request;
use crate::serve::router::Route;

const START: &str = "/api/v1/auth/cli/device";
const POLL: &str = "/api/v1/auth/cli/token";
const LOOK_UP: &str = "/api/v1/auth/cli/device/{userCode}";
const APPROVE: &str = "/api/v1/auth/cli/approve";
const DENY: &str = "/api/v1/auth/cli/deny";
const REVOKE: &str = "/api/v1/auth/cli/revoke";
const SESSIONS: &str = "/api/v1/auth/cli/sessions";

/// Device login to approve or deny.
#[derive(Debug, Deserialize, ToSchema)]
struct CodeBody {
    /// User code shown by the client.
    #[schema(value_type = String, example = "BCDF-GHJK")]
    user_code: UserCode,
}

/// OAuth error response of the token endpoint (RFC 6749, section 5.2).
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes the serialized form of `PollError`")]
struct GrantError {
    /// OAuth error code, such as `authorization_pending`.
    error: String,
    /// Human-readable explanation of the error.
    error_description: Option<String>,
}

/// Session to revoke.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct SessionBody {
    /// Session ID. If absent, the session that sends the request is revoked.
    #[schema(value_type = Option<uuid::Uuid>)]
    id: Option<SessionId>,
}

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn routes(api: &Api) -> Vec<Route> {
    let start = |request: Request| async {
        let base = request.base_url();
        let login: NewDeviceLogin = request.body(PUBLIC_LIMIT).json_or_form().await?;
        Ok(StartDeviceLogin { login, base: base? })
    };
    let poll = |request: Request| read_poll(request.body(PUBLIC_LIMIT));
    let look_up = |request: Request| {
        known(LookUpDeviceLogin { code: UserCode::new(request.target.parameter("userCode")) })
    };
    let approve = |request: Request| async {
        Ok(ApproveDeviceLogin { code: read_user_code(request.body(LIMIT)).await? })
    };
    let deny = |request: Request| async {
        Ok(DenyDeviceLogin { code: read_user_code(request.body(LIMIT)).await? })
    };
    let revoke = |request: Request| async {
        let named: SessionBody = request.body(LIMIT).json_if_any().await?;
        Ok(RevokeCliSession { session: named.id })
    };
    let sessions = |_: Request| known(ListCliSessions);
    vec![
        api.public(Method::POST, START, Shape::Bare, start)
            .id("startDeviceLogin")
            .summary("Start a device login (RFC 8628)")
            .json_body::<NewDeviceLogin>()
            .form_body::<NewDeviceLogin>(),
        api.public(Method::POST, POLL, token_response, poll)
            .id("pollDeviceLogin")
            .summary("Poll for the access token of a device login (RFC 8628)")
            .json_body::<PollDeviceLogin>()
            .form_body::<PollDeviceLogin>()
            .response(200, vec![Content::json(Described::of::<CliGrant>())])
            .response(400, vec![Content::json(Described::of::<GrantError>().unwrapped())]),
        api.route(Method::GET, LOOK_UP, Shape::Bare, look_up)
            .id("getDeviceLogin")
            .summary("Get a pending device login by its user code"),
        api.route(Method::POST, APPROVE, Shape::Bare, approve)
            .id("approveDeviceLogin")
            .summary("Approve a device login")
            .may_be_not_found()
            .json_body::<CodeBody>(),
        api.route(Method::POST, DENY, Shape::Bare, deny)
            .id("denyDeviceLogin")
            .summary("Deny a device login")
            .may_be_not_found()
            .json_body::<CodeBody>(),
        api.route(Method::POST, REVOKE, Shape::Empty, revoke)
            .id("revokeCliSession")
            .summary("Revoke a command-line session")
            .optional_json_body::<SessionBody>()
            .may_be_not_found(),
        api.route(Method::GET, SESSIONS, Shape::Named("sessions"), sessions)
            .list_of::<UserSession>()
            .id("listCliSessions")
            .summary("List the caller's command-line sessions"),
    ]
}

async fn read_user_code(body: Body) -> Result<UserCode, Fault> {
    let CodeBody { user_code } = body.json().await?;
    Ok(user_code)
}

/// Reads the body of a poll. A malformed body is read as an empty poll, whose response is an OAuth
/// error.
async fn read_poll(body: Body) -> Result<PollDeviceLogin, Fault> {
    match body.json_or_form().await {
        Err(Fault::Operation(Error::Invalid(_))) => Ok(PollDeviceLogin::default()),
        read => read,
    }
}

fn token_response(outcome: &PollOutcome, envelope: Envelope) -> Response {
    match outcome {
        PollOutcome::Granted(_) => reply::object(StatusCode::OK, outcome, envelope),
        PollOutcome::Refused(_) => reply::json(StatusCode::BAD_REQUEST, outcome),
    }
}
