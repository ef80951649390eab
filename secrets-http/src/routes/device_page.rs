//! `/device`: the page where a user approves or denies a device login.
//!
//! The user authenticates with a token of the identity provider, either entered in the form or sent
//! in the `Authorization` header by a reverse proxy that signs users in. The page has no script,
//! loads no resources, and cannot be framed.

use std::fmt::Write as _;

use secrets_core::device_login::{
    self, DecideDeviceLogin, Decision, DeviceRequest, LookUpDeviceLogin, UserCode,
};
use secrets_core::engine::Caller;
use secrets_core::model::{BaseUrl, Error, Origin};
use serde::Deserialize;
use warp::Filter as _;
use warp::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, ORIGIN};
use warp::http::{HeaderMap, HeaderValue, Method, StatusCode};
use warp::reply::Response;

use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, body};
use crate::serve::fault::Fault;
use crate::serve::gate;
use crate::serve::links::base_url;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const PAGE: &str = "/device";

const POLICY: &str =
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

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
    let open = target().and(warp::header::headers_cloned()).and(warp::ext::get::<Origin>()).then(
        move |target: Target, headers, origin| {
            let api = for_open.clone();
            async move {
                let user_code = target.query("user_code").ok().flatten().unwrap_or_default();
                let form = Form { user_code: user_code.to_owned(), ..Form::default() };
                answer(&api, form, &headers, origin).await
            }
        },
    );
    let send = body(LIMIT)
        .and(warp::header::headers_cloned())
        .and(warp::ext::get::<Origin>())
        .and(base_url())
        .then(move |body: Body, headers: HeaderMap, origin, base: Result<BaseUrl, Error>| {
            let api = for_send.clone();
            async move {
                if is_cross_site(&headers, base.ok().as_ref()) {
                    return page(
                        StatusCode::FORBIDDEN,
                        "<p>Refused: this form was submitted from another site.</p>",
                    );
                }
                match body.form().await {
                    Ok(form) => answer(&api, form, &headers, origin).await,
                    Err(fault) => error_page(&api, fault, ""),
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

async fn answer(api: &Api, form: Form, headers: &HeaderMap, origin: Origin) -> Response {
    let typed = form.access_token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    let credential = typed.or_else(|| gate::credential(headers).ok());
    let Some(credential) = credential.filter(|_| !form.user_code.is_empty()) else {
        return page(StatusCode::OK, &code_form(&form.user_code, ""));
    };
    let caller = match sign_in(api, credential, origin).await {
        Ok(caller) => caller,
        Err(error) => return error_page(api, error.into(), &form.user_code),
    };
    let code = UserCode::new(form.user_code.as_str());
    let outcome = match form.decision {
        None => {
            let operation = async { Ok(LookUpDeviceLogin { code }) };
            let found = api.perform(operation, caller).await;
            found.map(|request| decision_form(&form.user_code, typed, &request))
        }
        Some(decision) => {
            let operation = async { Ok(DecideDeviceLogin { code, decision }) };
            let decided = api.perform(operation, caller).await;
            decided.map(|decided| {
                format!("<p>The login is {}. You can close this page.</p>", decided.status)
            })
        }
    };
    match outcome {
        Ok(content) => page(StatusCode::OK, &content),
        Err(fault) => error_page(api, fault, &form.user_code),
    }
}

async fn sign_in(api: &Api, credential: &str, origin: Origin) -> Result<Caller, Error> {
    let Some(address) = origin.address else {
        return Err(Error::forbidden("the client address is unknown"));
    };
    if !device_login::may_attempt(api.service.engine(), address) {
        return Err(Error::RateLimited(api.clock.now() + chrono::TimeDelta::minutes(1)));
    }
    let outcome = api.service.authenticate(credential, origin).await;
    if let Err(Error::Unauthenticated(_) | Error::AddressNotAllowed(_)) = &outcome {
        device_login::count_failure(api.service.engine(), address);
    }
    outcome
}

fn error_page(api: &Api, fault: Fault, user_code: &str) -> Response {
    match fault.status_and_message() {
        // The response of a server error also carries the cause, for the log.
        (status, _) if status.is_server_error() => fault.into_response(api.clock.now()),
        (status, reason) => page(status, &code_form(user_code, &reason)),
    }
}

/// Renders the form that asks for the user code and the access token.
fn code_form(user_code: &str, message: &str) -> String {
    let mut content = String::new();
    if !message.is_empty() {
        let _ = write!(content, "<p role=\"alert\">{}</p>", escape_html(message));
    }
    let _ = write!(
        content,
        "<form method=\"post\" action=\"{PAGE}\">
<p><label>Code shown by the command-line client <input name=\"user_code\" value=\"{}\" required autocomplete=\"off\"></label></p>
<p><label>Your access token <input name=\"access_token\" type=\"password\" required autocomplete=\"off\"></label></p>
<p><button>Continue</button></p>
</form>",
        escape_html(user_code)
    );
    content
}

/// Renders the details of the login request, with buttons to approve or deny it.
fn decision_form(user_code: &str, typed: Option<&str>, request: &DeviceRequest) -> String {
    let mut content = String::from(
        "<p>A command-line client requests access to your account for 30 days.</p>\n<dl>\n",
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
        let _ = writeln!(content, "<dt>{term}</dt><dd>{}</dd>", escape_html(&value));
    }
    let token = typed.map_or_else(String::new, |token| {
        format!("<input type=\"hidden\" name=\"access_token\" value=\"{}\">", escape_html(token))
    });
    let _ = write!(
        content,
        "</dl>
<p>Approve only if you started this login yourself, on this host, just now.</p>
<form method=\"post\" action=\"{PAGE}\">
<input type=\"hidden\" name=\"user_code\" value=\"{}\">{token}
<button name=\"decision\" value=\"approve\">Approve</button>
<button name=\"decision\" value=\"deny\">Deny</button>
</form>",
        escape_html(user_code)
    );
    content
}

fn page(status: StatusCode, content: &str) -> Response {
    let document = format!(
        "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Command-line login</title>
<h1>Command-line login</h1>
{content}
</html>
"
    );
    let mut response = Response::new(document.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

/// Escapes text for HTML, between tags or in a quoted attribute.
fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
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
