//! `/device`: the page where a user approves or denies a device login.
//!
//! The user is signed in with the browser, or authenticates with a token of the identity provider:
//! entered in the form, or sent in the `Authorization` header by a reverse proxy that signs users
//! in. An entered token is kept in a cookie until the decision.

mod forms;

use secrets_core::device_login::{self, DecideDeviceLogin, Decision, LookUpDeviceLogin, UserCode};
use secrets_core::engine::Caller;
use secrets_core::model::{BaseUrl, Error, Origin};
use serde::Deserialize;
use warp::http::header::SET_COOKIE;
use warp::http::{HeaderMap, HeaderValue, Method, StatusCode};
use warp::reply::Response;

use self::forms::{Entry, code_form, decision_form};
use super::page::{Visit, email, page_filter};
use super::page_session;
use crate::serve::api::Api;
use crate::serve::body::{Body, PUBLIC_LIMIT};
use crate::serve::cookies::cookies;
use crate::serve::fault::Fault;
use crate::serve::gate;
use crate::serve::request::{Request, route_filter};
use crate::serve::router::Route;

const PAGE: &str = "/device";

const TITLE: &str = "Command-line login";

/// Names of the cookies that keep an entered token between the two forms of the page, so that no
/// page contains the token. Browsers send these cookies only to this page, and not in requests from
/// other sites. A long token is split over several cookies.
const COOKIES: [&str; 4] = ["device_token", "device_token_2", "device_token_3", "device_token_4"];

/// Maximum length of the part of a token in one cookie, in bytes. Browsers drop cookies of more
/// than 4,096 bytes.
const MAX_PART: usize = 3_800;

/// Lifetime of the token cookies, in seconds. It equals the lifetime of a device login.
const COOKIE_SECONDS: u32 = 600;

/// Error message if the user approves or denies a login, but the request contains no token.
const NOT_SIGNED_IN: &str = "The access token is missing: it is kept in cookies for 10 minutes, up to a length of 15,000 characters.";

/// Error message if the user approves or denies a login, but the session of the browser has ended.
const SESSION_ENDED: &str = "You are not signed in any more: sign in again, and decide then.";

/// Fields of the submitted form.
#[derive(Default, Deserialize)]
struct Form {
    #[serde(default)]
    user_code: String,
    access_token: Option<String>,
    decision: Option<Decision>,
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let open = page_filter(api, Visit::open);
    let api = api.clone();
    let send = route_filter(move |request: Request| {
        Visit::new(&api, &request).send(request.body(PUBLIC_LIMIT))
    });
    vec![
        Route::public(Method::GET, PAGE, "device_login.page", open),
        Route::public(Method::POST, PAGE, "device_login.page", send),
    ]
}

impl Visit {
    /// Shows the page, with the user code of the query.
    async fn open(self) -> Response {
        let user_code = self.head.target.query("user_code").ok().flatten().unwrap_or_default();
        self.answer(Form { user_code: user_code.to_owned(), ..Form::default() }).await
    }

    /// Handles a submitted form. Refuses a form that another site has submitted.
    async fn send(self, body: Body) -> Response {
        if page_session::is_cross_site(&self) {
            return self.device_page(StatusCode::FORBIDDEN, page_session::CROSS_SITE);
        }
        match body.form().await {
            Ok(form) => self.answer(form).await,
            Err(fault) => self.error_page(fault, "", None),
        }
    }

    async fn answer(&self, form: Form) -> Response {
        let typed = form.access_token.as_deref().map(str::trim).filter(|token| !token.is_empty());
        let caller = match self.authenticated(&form, typed).await {
            Ok(Some(caller)) => caller,
            Ok(None) => {
                let entry = self.entry(&form.user_code, None);
                let message = match (form.decision, &entry) {
                    (None, _) => "",
                    (Some(_), Entry::SignIn { .. }) => SESSION_ENDED,
                    (Some(_), _) => NOT_SIGNED_IN,
                };
                let content = code_form(&form.user_code, message, &entry);
                return self.device_page(StatusCode::OK, &content);
            }
            Err(error) => return self.forget(self.error_page(error.into(), &form.user_code, None)),
        };
        if form.user_code.is_empty() {
            let entry = self.entry("", Some(&caller));
            return self.device_page(StatusCode::OK, &code_form("", "", &entry));
        }
        self.decide(&form, typed, caller).await
    }

    /// Authenticates the user with the first credential that is present: an entered token, the
    /// header of a proxy, the session of the browser, or the cookies with a token that was entered
    /// before. Returns `None` if the request has no credential, or the session has ended.
    async fn authenticated(
        &self,
        form: &Form,
        typed: Option<&str>,
    ) -> Result<Option<Caller>, Error> {
        let has_code = !form.user_code.is_empty();
        // A header, which a proxy may add, takes precedence over a cookie: another site of the
        // domain can set a cookie.
        let bearer =
            typed.or_else(|| gate::credential(&self.head.headers).ok()).filter(|_| has_code);
        if let Some(credential) = bearer {
            return authenticate(&self.api, credential, self.head.caller.origin.clone())
                .await
                .map(Some);
        }
        // The session takes precedence over the cookie with a token, which another site of the
        // domain can set.
        if let Some(caller) = page_session::caller(self).await? {
            return Ok(Some(caller));
        }
        // A request that only opens the page can also contain the cookies, so they are used only if
        // the form contains a decision.
        match kept_token(&self.head.headers).filter(|_| form.decision.is_some() && has_code) {
            Some(kept) => {
                authenticate(&self.api, &kept, self.head.caller.origin.clone()).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// Handles a form of a signed-in user: without a decision, shows the login with the entered
    /// code; with a decision, approves or denies it.
    async fn decide(&self, form: &Form, typed: Option<&str>, caller: Caller) -> Response {
        let code = UserCode::new(form.user_code.as_str());
        let asked = caller.clone();
        match form.decision {
            None => {
                let operation = async { Ok(LookUpDeviceLogin { code }) };
                match self.api.perform(operation, caller).await {
                    Ok(request) => {
                        let form = decision_form(&form.user_code, &request, &email(&asked));
                        // If no token was entered, this deletes the cookies with the token of an
                        // earlier visit.
                        self.keep(
                            self.device_page(StatusCode::OK, &form),
                            typed.unwrap_or_default(),
                        )
                    }
                    Err(fault) => self.error_page(fault, &form.user_code, Some(&asked)),
                }
            }
            Some(decision) => {
                let operation = async { Ok(DecideDeviceLogin { code, decision }) };
                match self.api.perform(operation, caller).await {
                    Ok(decided) => {
                        let status = decided.status;
                        let content =
                            format!("<p>The login is {status}. You can close this page.</p>\n");
                        self.forget(self.device_page(StatusCode::OK, &content))
                    }
                    Err(fault) => {
                        self.forget(self.error_page(fault, &form.user_code, Some(&asked)))
                    }
                }
            }
        }
    }

    /// Returns the way in which a user signs in on the form: by a session, by a link to the
    /// identity provider, or by entering a token.
    fn entry(&self, user_code: &str, caller: Option<&Caller>) -> Entry {
        let is_session = caller.is_some_and(|caller| caller.session().is_some());
        if let Some(caller) = caller.filter(|_| is_session) {
            return Entry::Session { email: email(caller) };
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let path = match user_code {
            "" => PAGE.to_owned(),
            code if code.len() <= 32 && code.chars().all(is_plain) => {
                format!("{PAGE}?user_code={code}")
            }
            _ => PAGE.to_owned(),
        };
        match page_session::sign_in_link(self, &path) {
            Some(link) => Entry::SignIn { link },
            None => Entry::Token,
        }
    }

    fn device_page(&self, status: StatusCode, content: &str) -> Response {
        self.card_page(status, TITLE, content)
    }

    fn error_page(&self, fault: Fault, user_code: &str, caller: Option<&Caller>) -> Response {
        let form = |message: &str| code_form(user_code, message, &self.entry(user_code, caller));
        match fault.status_and_message() {
            // The response of a server error also carries the cause, for the log.
            (status, _) if status.is_server_error() => fault.into_response(self.api.clock.now()),
            (StatusCode::NOT_FOUND, _) => {
                let message = "There is no login with this code. A code is valid for 10 minutes: \
                               start the login again, and check the code.";
                self.device_page(StatusCode::NOT_FOUND, &form(message))
            }
            (status, reason) => self.device_page(status, &form(&reason)),
        }
    }

    /// Stores a token in cookies of the response, unless it is too long for them. Deletes the token
    /// cookies of the request that are no longer needed.
    fn keep(&self, mut response: Response, token: &str) -> Response {
        let parts: Vec<_> = token.as_bytes().chunks(MAX_PART).collect();
        let parts = if parts.len() <= COOKIES.len() { parts } else { Vec::new() };
        for (index, name) in COOKIES.into_iter().enumerate() {
            if let Some(part) = parts.get(index) {
                let part = String::from_utf8_lossy(part);
                self.set_cookie(&mut response, name, &part, COOKIE_SECONDS);
            } else if !cookies(&self.head.headers, name).is_empty() {
                self.set_cookie(&mut response, name, "", 0);
            }
        }
        response
    }

    /// Deletes the token cookies that the request contained.
    fn forget(&self, response: Response) -> Response {
        self.keep(response, "")
    }

    fn set_cookie(&self, response: &mut Response, name: &str, value: &str, seconds: u32) {
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let base = self.head.base().map_or("", BaseUrl::path);
        let cookie = format!(
            "{name}={value}; Path={base}{PAGE}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        );
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
}

/// Returns the token in the cookies of a request. Returns `None` if a cookie occurs twice, because
/// another site of the same domain may have set one of them.
fn kept_token(headers: &HeaderMap) -> Option<String> {
    let mut token = String::new();
    for name in COOKIES {
        match cookies(headers, name)[..] {
            [] => break,
            [part] => token.push_str(part),
            _ => return None,
        }
    }
    Some(token).filter(|token| !token.is_empty())
}

async fn authenticate(api: &Api, credential: &str, origin: Origin) -> Result<Caller, Error> {
    let Some(address) = origin.address else {
        return Err(Error::forbidden("the client address is unknown"));
    };
    device_login::check_attempts(api.service.engine(), address)?;
    let outcome = api.service.authenticate(credential, origin).await;
    if outcome.as_ref().is_err_and(Error::refuses_credential) {
        device_login::count_failure(api.service.engine(), address);
    }
    outcome
}
