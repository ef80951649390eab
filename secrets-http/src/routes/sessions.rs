//! `/api/v1/auth`: sessions of the caller, signing out, and the sign-in method for browsers.

use std::future::ready;

use secrets_core::sessions::{
    ListSessions, RevokeOtherSessions, RevokeSession, RevokedSessions, SignOut, UserSession,
};
use serde::Serialize;
use utoipa::ToSchema;
use warp::http::header::{HeaderName, SET_COOKIE};
use warp::http::{HeaderValue, Method, StatusCode};
use warp::reply::Response;

use super::known;
use crate::openapi::{Content, Described};
use crate::serve::api::Api;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::reply::{self, Envelope, Shape};
use crate::serve::request::{Request, route_filter};
use crate::serve::router::Route;
use crate::serve::session_cookie;

const CONFIG: &str = "/api/v1/auth/config";
const SESSIONS: &str = "/api/v1/auth/sessions";
const SESSION: &str = "/api/v1/auth/sessions/{id}";
const SIGN_OUT: &str = "/api/v1/auth/sign-out";

/// Ways in which browsers can sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct SignInConfig {
    /// True if browsers sign in with the identity provider, at `/sign-in`.
    browser_sign_in: bool,
    /// Host of the identity provider; absent if browsers do not sign in with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "login.example.com")]
    issuer: Option<String>,
    /// True if this is a development service, where browsers sign in with one-time links.
    dev: bool,
}

impl SignInConfig {
    fn of(sign_in: &BrowserSignIn) -> Self {
        let issuer = match sign_in {
            BrowserSignIn::Provider(flow) => flow.issuer().parse::<hyper::Uri>().ok(),
            BrowserSignIn::Off | BrowserSignIn::Dev(_) => None,
        };
        Self {
            browser_sign_in: sign_in.has_provider(),
            issuer: issuer.and_then(|issuer| issuer.host().map(str::to_owned)),
            dev: matches!(sign_in, BrowserSignIn::Dev(_)),
        }
    }
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let (config, envelope) = (SignInConfig::of(&api.sign_in), api.envelope);
    let config = move |_: Request| ready(reply::object(StatusCode::OK, &config, envelope));
    let list = |_: Request| known(ListSessions);
    let revoke = |request: Request| known(RevokeSession { session: request.target.id("id") });
    let revoke_others = |_: Request| known(RevokeOtherSessions);
    let sign_out = |_: Request| known(SignOut);
    vec![
        Route::public(Method::GET, CONFIG, "sign_in.config", route_filter(config))
            .id("getSignInConfig")
            .summary("Get the ways in which browsers sign in")
            .response(200, vec![Content::json(Described::of::<SignInConfig>())]),
        api.route(Method::GET, SESSIONS, Shape::Named("sessions"), list)
            .list_of::<UserSession>()
            .id("listSessions")
            .summary("List the caller's sessions, of browsers and of command-line clients"),
        api.route(Method::DELETE, SESSIONS, Shape::Bare, revoke_others)
            .id("revokeOtherSessions")
            .summary("Revoke all sessions of the caller except the current one")
            .response(200, vec![Content::json(Described::of::<RevokedSessions>())]),
        api.route(Method::DELETE, SESSION, Shape::Empty, revoke)
            .id("revokeSession")
            .summary("Revoke a session")
            .may_be_not_found(),
        api.route(Method::POST, SIGN_OUT, signed_out, sign_out)
            .id("signOut")
            .summary("Revoke the current session, and delete its cookie")
            .response(204, Vec::new()),
    ]
}

/// Renders the response to a sign-out. It deletes the session cookie, and the data that the browser
/// has stored for the pages of this service.
fn signed_out<T>(_output: &T, _envelope: Envelope) -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    for cookie in session_cookie::DELETIONS {
        headers.append(SET_COOKIE, cookie);
    }
    // The value "cookies" would also delete the cookies of other services of the domain.
    let data = HeaderValue::from_static(r#""cache", "storage""#);
    headers.insert(HeaderName::from_static("clear-site-data"), data);
    response
}
