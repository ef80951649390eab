//! `/sign-in`: sign-in of browsers, with the identity provider or with a link of the development
//! service.
//!
//! The state of a sign-in is in an encrypted cookie, so any node can finish the sign-in.

use secrets_core::model::{BaseUrl, Error, Identity, Subject};
use secrets_core::sessions::StartBrowserSession;
use serde::{Deserialize, Serialize};
use warp::http::header::{LOCATION, SET_COOKIE};
use warp::http::{HeaderValue, Method, StatusCode};
use warp::reply::Response;

use super::page::{self, Visit, escape_html, page_filter};
use crate::adapters::identity::{AuthorizationResponse, CodeFlow, SignInSecrets};
use crate::serve::api::Api;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::cookies::cookies;
use crate::serve::fault::Fault;
use crate::serve::router::Route;
use crate::serve::session_cookie::SessionCookie;

const BEGIN: &str = "/sign-in";
const CALLBACK: &str = "/sign-in/callback";
const DEV: &str = "/sign-in/dev";

const TITLE: &str = "Sign in";

/// Lifetime of the data of a sign-in, in seconds.
const STATE_SECONDS: i64 = 600;

/// Maximum length of the path to open after the sign-in, in bytes.
const MAX_RETURN_PATH: usize = 1024;

const ENDED: Error = Error::Refused {
    code: secrets_core::model::Code::InvalidRequest,
    reason: std::borrow::Cow::Borrowed(
        "This sign-in has ended, or it was started in another browser. Sign in again.",
    ),
};

const REFUSED: Error = Error::Forbidden(std::borrow::Cow::Borrowed(
    "The identity provider did not confirm the sign-in. Sign in again; if it fails again, give the request ID to the operators of this service.",
));

const UNUSABLE_CODE: Error = Error::Forbidden(std::borrow::Cow::Borrowed(
    "This link is invalid, expired or used. Run `secrets-http dev link` for another.",
));

/// Data of a sign-in that is in progress. It is stored in an encrypted cookie of the browser.
#[derive(Serialize, Deserialize)]
struct SignInState {
    secrets: SignInSecrets,
    /// Path to open after the sign-in.
    return_to: String,
    /// Expiry time, as Unix time in seconds.
    expires_at: i64,
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    vec![
        Route::public(Method::GET, BEGIN, "sign_in.begin", page_filter(api, Visit::begin)),
        Route::public(Method::GET, CALLBACK, "sign_in.finish", page_filter(api, Visit::finish)),
        Route::public(Method::GET, DEV, "sign_in.dev", page_filter(api, Visit::redeem_link)),
    ]
}

/// Returns the link with which a browser signs in and then returns to the path `return_to` of this
/// service.
pub(super) fn link(base: Option<&BaseUrl>, return_to: &str) -> String {
    let query = serde_urlencoded::to_string([("return_to", return_to)]).unwrap_or_default();
    format!("{}{BEGIN}?{query}", base.map_or("", BaseUrl::path))
}

impl Visit {
    /// Starts a sign-in: redirects the browser to the identity provider.
    async fn begin(self) -> Response {
        match self.start().await {
            Ok(response) => response,
            Err(fault) => self.sign_in_failure(fault),
        }
    }

    async fn start(&self) -> Result<Response, Fault> {
        let flow = self.flow()?;
        let return_to = self.head.target.query("return_to")?.unwrap_or("/");
        if !is_own_path(return_to) {
            let rule = "must be a path of this service";
            return Err(Error::invalid("return_to", rule).into());
        }
        let state = SignInState {
            secrets: SignInSecrets::draw(),
            return_to: return_to.to_owned(),
            expires_at: self.api.clock.now().timestamp() + STATE_SECONDS,
        };
        let url = flow.authorization_url(&state.secrets).await.map_err(Error::from)?;
        let location = HeaderValue::try_from(url).map_err(Error::internal)?;
        let json = serde_json::to_vec(&state).map_err(Error::internal)?;
        let mut response = Response::default();
        *response.status_mut() = StatusCode::SEE_OTHER;
        response.headers_mut().insert(LOCATION, location);
        self.set_state(&mut response, &self.api.service.seal_sign_in(&json), STATE_SECONDS);
        Ok(response)
    }

    /// Completes a sign-in: handles the response of the identity provider, and creates a session.
    async fn finish(self) -> Response {
        let mut response = match self.signed_in().await {
            Ok(response) => response,
            Err(fault) => self.sign_in_failure(fault),
        };
        self.set_state(&mut response, "", 0);
        response
    }

    async fn signed_in(&self) -> Result<Response, Fault> {
        let flow = self.flow()?;
        let state = self.state().ok_or(ENDED)?;
        let parameter = |name| self.head.target.query(name).map_err(|_| ENDED);
        if parameter("state")? != Some(state.secrets.state.as_str()) {
            return Err(ENDED.into());
        }
        let is_error = parameter("error")?.is_some();
        let code = parameter("code")?.filter(|_| !is_error);
        let response = AuthorizationResponse { code, issuer: parameter("iss")? };
        let identity = flow.finish(response, &state.secrets).await.map_err(|reason| {
            let error = Error::from(reason);
            if error.refuses_credential() { REFUSED } else { error }
        })?;
        self.start_session(identity, &state.return_to).await
    }

    /// Signs the browser in with a one-time link of the development service.
    async fn redeem_link(self) -> Response {
        let identity = match self.api.sign_in.as_ref() {
            BrowserSignIn::Dev(links) => {
                let code = self.head.target.query("code").ok().flatten().unwrap_or_default();
                links.redeem(code, self.api.clock.now()).ok_or(UNUSABLE_CODE)
            }
            BrowserSignIn::Off | BrowserSignIn::Provider(_) => {
                Err(Error::NotFound(Subject::Resource))
            }
        };
        let response = match identity {
            Ok(identity) => self.start_session(identity, "/").await,
            Err(error) => Err(error.into()),
        };
        response.unwrap_or_else(|fault| self.sign_in_failure(fault))
    }

    async fn start_session(&self, identity: Identity, path: &str) -> Result<Response, Fault> {
        let user_agent = self.head.caller.origin.agent.as_deref().map(str::to_owned);
        let task = async { Ok(StartBrowserSession { identity, user_agent }) };
        let session = self.api.perform(task, self.head.caller.clone()).await?;
        let seconds = session.expires_at.timestamp() - self.api.clock.now().timestamp();
        let base = self.head.base();
        let mut response = page::forwarding_page(TITLE, base, path);
        let cookie = SessionCookie::of(base).set(&session.token, seconds);
        response.headers_mut().append(SET_COOKIE, cookie);
        Ok(response)
    }

    fn flow(&self) -> Result<&CodeFlow, Error> {
        match self.api.sign_in.as_ref() {
            BrowserSignIn::Provider(flow) => Ok(flow),
            BrowserSignIn::Dev(_) => Err(Error::forbidden(
                "The development service signs in with a link: run `secrets-http dev link` and open it.",
            )),
            BrowserSignIn::Off => Err(Error::NotFound(Subject::Resource)),
        }
    }

    /// Decrypts the data of the sign-in from the cookie. Returns `None` if there is none, or if it
    /// has expired.
    fn state(&self) -> Option<SignInState> {
        let [sealed] = cookies(&self.head.headers, self.state_cookie())[..] else { return None };
        let json = self.api.service.open_sign_in(sealed).ok()?;
        let state: SignInState = serde_json::from_slice(&json).ok()?;
        (self.api.clock.now().timestamp() < state.expires_at).then_some(state)
    }

    fn set_state(&self, response: &mut Response, value: &str, seconds: i64) {
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let cookie = format!(
            "{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}",
            self.state_cookie()
        );
        if let Ok(mut cookie) = HeaderValue::try_from(cookie) {
            cookie.set_sensitive(true);
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }

    fn state_cookie(&self) -> &'static str {
        // Browsers refuse a cookie with the prefix `__Host-` unless it is `Secure`. Over plain
        // HTTP, for example on a loopback address, it is not.
        if self.is_secure() { "__Host-signin" } else { "secrets-signin" }
    }

    fn sign_in_failure(&self, fault: Fault) -> Response {
        let link = if self.api.sign_in.has_provider() {
            let again = escape_html(&link(self.head.base(), "/"));
            format!("<p><a class=\"main\" href=\"{again}\">Sign in</a></p>\n")
        } else {
            String::new()
        };
        self.failure_page(fault, TITLE, &link)
    }
}

/// True if a string is a path of this service, with or without a query, that no browser interprets
/// as the address of another site.
fn is_own_path(text: &str) -> bool {
    let is_absolute =
        text.starts_with('/') && !["//", "/.", "\\"].iter().any(|part| text.contains(part));
    // A path that begins a sign-in would lead to an endless loop.
    let is_page = !text.starts_with(BEGIN);
    text.len() <= MAX_RETURN_PATH
        && is_absolute
        && is_page
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_path_stays_at_this_service() {
        let long = format!("/{}", "a".repeat(MAX_RETURN_PATH));
        let hostile = [
            "",
            "projects",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "\\/evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "\t//evil.example",
            " //evil.example",
            "https://evil.example",
            "https:evil.example",
            "javascript:alert(1)",
            "data:text/html,x",
            "@evil.example",
            ".evil.example",
            "/a//evil.example",
            "/../evil",
            "/./sign-in",
            "/\u{7f}",
            "/\u{0}",
            "/\u{a0}",
            "/\u{2028}evil",
            "?return_to=/",
            "#/evil",
            "/sign-in?return_to=/",
            &long,
        ];

        for text in hostile {
            assert!(!is_own_path(text), "{text:?}");
        }
        for text in ["/", "/projects/web-api", "/device?user_code=BCDF-GHJK", "/a#b", "/%2f%2fx"] {
            assert!(is_own_path(text), "{text:?}");
        }
    }
}
