//! `/device`: the page where a user approves or denies a device login.
//!
//! The user authenticates with a token of the identity provider, either entered in the form or sent
//! in the `Authorization` header by a reverse proxy that signs users in. An entered token is kept in a
//! cookie until the decision.

use std::fmt::Write as _;

use secrets_core::device_login::{
    self, DecideDeviceLogin, Decision, DeviceRequest, LookUpDeviceLogin, UserCode,
};
use secrets_core::engine::Caller;
use secrets_core::model::{BaseUrl, Error, Origin};
use serde::Deserialize;
use warp::Filter as _;
use warp::http::header::{COOKIE as COOKIE_HEADER, ORIGIN, SET_COOKIE};
use warp::http::{HeaderMap, HeaderValue, Method, StatusCode};
use warp::reply::Response;

use super::page::escape_html;
use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, body};
use crate::serve::fault::Fault;
use crate::serve::gate;
use crate::serve::links::base_url;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const PAGE: &str = "/device";

/// Cookies that hold the token between the two forms, so that no page contains the token. Browsers send
/// them to this page only, and not from other sites. A long token takes several.
const COOKIES: [&str; 4] = ["device_token", "device_token_2", "device_token_3", "device_token_4"];

/// Maximum length of a part of the token in one cookie. Browsers drop cookies of more than 4,096 bytes.
const MAX_PART: usize = 3_800;

/// Lifetime of the cookies, in seconds: that of a login.
const COOKIE_SECONDS: u32 = 600;

/// Message if the decision arrives without a token.
const NOT_SIGNED_IN: &str = "The access token is missing: it is kept in cookies for 10 minutes, up to a length of 15,000 characters.";

/// Fields of the submitted form.
#[derive(Default, Deserialize)]
struct Form {
    #[serde(default)]
    user_code: String,
    access_token: Option<String>,
    decision: Option<Decision>,
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let (for_open, for_send) = (api.clone(), api.clone());
    let open = target()
        .and(warp::header::headers_cloned())
        .and(warp::ext::get::<Origin>())
        .and(base_url())
        .then(move |target: Target, headers, origin, base: Result<BaseUrl, Error>| {
            let api = for_open.clone();
            async move {
                let user_code = target.query("user_code").ok().flatten().unwrap_or_default();
                let form = Form { user_code: user_code.to_owned(), ..Form::default() };
                Visit { api: &api, headers: &headers, base: base.ok() }.answer(form, origin).await
            }
        });
    let send = body(LIMIT)
        .and(warp::header::headers_cloned())
        .and(warp::ext::get::<Origin>())
        .and(base_url())
        .then(move |body: Body, headers: HeaderMap, origin, base: Result<BaseUrl, Error>| {
            let api = for_send.clone();
            async move {
                let visit = Visit { api: &api, headers: &headers, base: base.ok() };
                if is_cross_site(&headers, visit.base.as_ref()) {
                    return page(
                        StatusCode::FORBIDDEN,
                        visit.base.as_ref(),
                        "<p>Refused: this form was submitted from another site.</p>\n",
                    );
                }
                match body.form().await {
                    Ok(form) => visit.answer(form, origin).await,
                    Err(fault) => visit.error_page(fault, ""),
                }
            }
        });
    vec![
        Route::public(Method::GET, PAGE, "device_login.page", open.boxed()),
        Route::public(Method::POST, PAGE, "device_login.page", send.boxed()),
    ]
}

/// True if the form was submitted from another site (CSRF): according to Fetch Metadata, or, of a
/// browser that sends none, if `Origin` (RFC 6454) is not the host of this server.
///
/// Behind a proxy that signs users in, the browser is authenticated for such a request too.
fn is_cross_site(headers: &HeaderMap, own: Option<&BaseUrl>) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site != "same-origin";
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let own = own.and_then(|own| host(own.as_str()));
    own.is_none() || origin.to_str().ok().and_then(host) != own
}

/// Host and port of a URL.
fn host(url: &str) -> Option<&str> {
    url.split_once("://").and_then(|(_, rest)| rest.split('/').next())
}

/// Request of the page.
struct Visit<'a> {
    api: &'a Api,
    headers: &'a HeaderMap,
    base: Option<BaseUrl>,
}

impl Visit<'_> {
    async fn answer(&self, form: Form, origin: Origin) -> Response {
        let typed = form.access_token.as_deref().map(str::trim).filter(|token| !token.is_empty());
        // A link opens the page with the cookie, so the cookie counts only with a decision.
        let kept = kept_token(self.headers).filter(|_| form.decision.is_some());
        // The proxy is trusted before a cookie, which another site of the domain can set.
        let header = || gate::credential(self.headers).ok();
        let credential = typed.or_else(header).or(kept.as_deref());
        let Some(credential) = credential.filter(|_| !form.user_code.is_empty()) else {
            let message = if form.decision.is_some() { NOT_SIGNED_IN } else { "" };
            return self.page(StatusCode::OK, &code_form(&form.user_code, message));
        };
        let caller = match sign_in(self.api, credential, origin).await {
            Ok(caller) => caller,
            Err(error) => return self.forget(self.error_page(error.into(), &form.user_code)),
        };
        let code = UserCode::new(form.user_code.as_str());
        match form.decision {
            None => {
                let operation = async { Ok(LookUpDeviceLogin { code }) };
                match self.api.perform(operation, caller).await {
                    Ok(request) => {
                        let form = decision_form(&form.user_code, &request);
                        // Without an entered token, a cookie is that of an earlier visit.
                        self.keep(self.page(StatusCode::OK, &form), typed.unwrap_or_default())
                    }
                    Err(fault) => self.error_page(fault, &form.user_code),
                }
            }
            Some(decision) => {
                let operation = async { Ok(DecideDeviceLogin { code, decision }) };
                match self.api.perform(operation, caller).await {
                    Ok(decided) => {
                        let status = decided.status;
                        let content =
                            format!("<p>The login is {status}. You can close this page.</p>\n");
                        self.forget(self.page(StatusCode::OK, &content))
                    }
                    Err(fault) => self.forget(self.error_page(fault, &form.user_code)),
                }
            }
        }
    }

    fn page(&self, status: StatusCode, content: &str) -> Response {
        page(status, self.base.as_ref(), content)
    }

    fn error_page(&self, fault: Fault, user_code: &str) -> Response {
        match fault.status_and_message() {
            // The response of a server error also carries the cause, for the log.
            (status, _) if status.is_server_error() => fault.into_response(self.api.clock.now()),
            (StatusCode::NOT_FOUND, _) => {
                let message = "There is no login with this code. A code is valid for 10 minutes: \
                               start the login again, and check the code.";
                self.page(StatusCode::NOT_FOUND, &code_form(user_code, message))
            }
            (status, reason) => self.page(status, &code_form(user_code, &reason)),
        }
    }

    /// Keeps a token in cookies, except one that is too long for them, and deletes the other cookies that
    /// the request carried.
    fn keep(&self, mut response: Response, token: &str) -> Response {
        let parts: Vec<_> = token.as_bytes().chunks(MAX_PART).collect();
        let parts = if parts.len() <= COOKIES.len() { parts } else { Vec::new() };
        for (index, name) in COOKIES.into_iter().enumerate() {
            if let Some(part) = parts.get(index) {
                let part = String::from_utf8_lossy(part);
                self.set_cookie(&mut response, name, &part, COOKIE_SECONDS);
            } else if !cookies(self.headers, name).is_empty() {
                self.set_cookie(&mut response, name, "", 0);
            }
        }
        response
    }

    /// Deletes the cookies that the request carried.
    fn forget(&self, response: Response) -> Response {
        self.keep(response, "")
    }

    fn set_cookie(&self, response: &mut Response, name: &str, value: &str, seconds: u32) {
        let is_secure = self.base.as_ref().is_some_and(|base| base.as_str().starts_with("https:"));
        let secure = if is_secure { "; Secure" } else { "" };
        let base = self.base.as_ref().map_or("", BaseUrl::path);
        let cookie = format!(
            "{name}={value}; Path={base}{PAGE}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        );
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
}

/// Returns the token of the cookies. If a cookie is there twice, another site of the domain has set it:
/// none counts.
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

/// Returns the values of the cookies with this name.
fn cookies<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let lines = headers.get_all(COOKIE_HEADER).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';'));
    let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(found, _)| *found == name).map(|(_, value)| value).collect()
}

async fn sign_in(api: &Api, credential: &str, origin: Origin) -> Result<Caller, Error> {
    let Some(address) = origin.address else {
        return Err(Error::forbidden("the client address is unknown"));
    };
    if !device_login::may_attempt(api.service.engine(), address) {
        return Err(Error::RateLimited(api.clock.now() + chrono::TimeDelta::minutes(1)));
    }
    let outcome = api.service.authenticate(credential, origin).await;
    if outcome.as_ref().is_err_and(Error::refuses_credential) {
        device_login::count_failure(api.service.engine(), address);
    }
    outcome
}

/// Renders the form that asks for the user code and the access token.
fn code_form(user_code: &str, message: &str) -> String {
    let mut content = String::new();
    if !message.is_empty() {
        let _ = writeln!(
            content,
            "<p class=\"notice bad\" role=\"alert\">{}</p>",
            escape_html(message)
        );
    }
    let _ = write!(
        content,
        "<form method=\"post\" action=\"device\">
<div class=\"field\">
<label for=\"code\">Code shown by the command-line client</label>
<input id=\"code\" name=\"user_code\" value=\"{}\" placeholder=\"BCDF-GHJK\" required autocomplete=\"off\" autocapitalize=\"characters\" spellcheck=\"false\">
</div>
<div class=\"field\">
<label for=\"token\">Your access token</label>
<input id=\"token\" name=\"access_token\" type=\"password\" aria-describedby=\"about-token\" required autocomplete=\"off\">
<p id=\"about-token\" class=\"quiet\">A token of your identity provider, with which you have signed in to this service before. Service tokens are not accepted. The operators of this service know where to get a token.</p>
</div>
<div class=\"actions\"><button class=\"main\">Continue</button></div>
</form>
",
        escape_html(user_code)
    );
    content
}

/// Renders the details of the login request, with buttons to approve or deny it.
fn decision_form(user_code: &str, request: &DeviceRequest) -> String {
    let mut content = String::from(
        "<p>A command-line client requests access to your account for 30 days.</p>\n<dl class=\"facts\">\n",
    );
    let unknown = || "unknown".to_owned();
    let name = |name: &Option<secrets_core::model::DisplayName>| {
        name.as_ref().map_or_else(unknown, ToString::to_string)
    };
    for (term, value) in [
        ("Client", name(&request.client_name)),
        ("Host", name(&request.hostname)),
        ("Operating system", name(&request.os)),
        ("IP address", request.ip_address.map_or_else(unknown, |address| address.to_string())),
        ("Requested at", request.created_at.format("%Y-%m-%d %H:%M:%S UTC").to_string()),
        ("Status", request.status.to_owned()),
    ] {
        let _ = writeln!(content, "<div><dt>{term}</dt><dd>{}</dd></div>", escape_html(&value));
    }
    let _ = write!(
        content,
        "</dl>
<p>Approve only if you started this login yourself, on this host, just now.</p>
<form method=\"post\" action=\"device\">
<input type=\"hidden\" name=\"user_code\" value=\"{}\">
<div class=\"actions\">
<button class=\"main\" name=\"decision\" value=\"approve\">Approve</button>
<button name=\"decision\" value=\"deny\">Deny</button>
</div>
</form>
",
        escape_html(user_code)
    );
    content
}

/// Renders the page. `base` is the address of the service.
fn page(status: StatusCode, base: Option<&BaseUrl>, content: &str) -> Response {
    let content = format!("<section class=\"card\">\n{content}</section>\n");
    super::page::page(status, "Command-line login", base, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_chose_cannot_leave_its_place() {
        let content = code_form("\"><script>alert('x')</script>&", "<b>");

        assert!(!content.contains("<script>") && !content.contains("<b>"), "{content}");
        assert!(content.contains("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)"), "{content}");
    }
}
