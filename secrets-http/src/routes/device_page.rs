//! `/device`: the page on which a person decides about a login from a command line.
//!
//! Whoever opens it shows who they are with a token of the identity provider: in the form, or by a
//! proxy before us that signs people in and sends the `Authorization` header. The page has no
//! script, loads nothing, and cannot be framed.

use std::fmt::Write as _;

use secrets_core::model::{Error, Origin};
use secrets_core::engine::Caller;
use secrets_core::device_login::{DecideDeviceLogin, Decision, DeviceRequest, LookUpDeviceLogin, UserCode};
use serde::Deserialize;
use warp::Filter as _;
use warp::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use warp::http::{HeaderMap, HeaderValue, Method, StatusCode};
use warp::reply::Response;

use crate::api::Api;
use crate::body::{Body, LIMIT, body};
use crate::fault::Fault;
use crate::gate;
use crate::router::Route;
use crate::target::{Target, target};

const PAGE: &str = "/device";

const POLICY: &str =
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What the form sends.
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
        .then(move |body: Body, headers: HeaderMap, origin| {
            let api = for_send.clone();
            async move {
                if is_foreign(&headers) {
                    return page(
                        StatusCode::FORBIDDEN,
                        "<p>This form was sent from another site.</p>",
                    );
                }
                match body.form().await {
                    Ok(form) => answer(&api, form, &headers, origin).await,
                    Err(fault) => refused(&api, fault, ""),
                }
            }
        });
    vec![
        Route::public(Method::GET, PAGE, "device_login.page", open.boxed()),
        Route::public(Method::POST, PAGE, "device_login.page", send.boxed()),
    ]
}

/// Where a proxy signs people in, their browser is signed in to every form that another site makes
/// it send; browsers say so (Fetch Metadata).
fn is_foreign(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin")
}

async fn answer(api: &Api, form: Form, headers: &HeaderMap, origin: Origin) -> Response {
    let typed = form.access_token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    let credential = typed.or_else(|| gate::credential(headers).ok());
    let Some(credential) = credential.filter(|_| !form.user_code.is_empty()) else {
        return page(StatusCode::OK, &question(&form.user_code, ""));
    };
    let caller = match sign_in(api, credential, origin).await {
        Ok(caller) => caller,
        Err(error) => return refused(api, error.into(), &form.user_code),
    };
    let code = UserCode::new(form.user_code.as_str());
    let shown = match form.decision {
        None => {
            let operation = async { Ok(LookUpDeviceLogin { code }) };
            let found = api.perform(operation, caller).await;
            found.map(|request| offer(&form.user_code, typed, &request))
        }
        Some(decision) => {
            let operation = async { Ok(DecideDeviceLogin { code, decision }) };
            let decided = api.perform(operation, caller).await;
            decided.map(|decided| {
                format!("<p>The login is {}. You can close this page.</p>", decided.status)
            })
        }
    };
    match shown {
        Ok(content) => page(StatusCode::OK, &content),
        Err(fault) => refused(api, fault, &form.user_code),
    }
}

async fn sign_in(api: &Api, credential: &str, origin: Origin) -> Result<Caller, Error> {
    let Some(address) = origin.address else { return Err(Error::Forbidden("no address")) };
    if !api.service.may_guess(address) {
        return Err(Error::RateLimited(api.clock.now() + chrono::TimeDelta::minutes(1)));
    }
    let outcome = api.service.authenticate(credential, origin).await;
    if let Err(Error::Unauthenticated(_)) = &outcome {
        api.service.guessed(address);
    }
    outcome
}

fn refused(api: &Api, fault: Fault, user_code: &str) -> Response {
    match fault.told() {
        // The log is told the cause of these with the plain answer.
        (status, _) if status.is_server_error() => fault.into_response(api.clock.now()),
        (status, reason) => page(status, &question(user_code, &reason)),
    }
}

/// Asks for the code and for who the person is.
fn question(user_code: &str, complaint: &str) -> String {
    let mut content = String::new();
    if !complaint.is_empty() {
        let _ = write!(content, "<p role=\"alert\">{}</p>", escaped(complaint));
    }
    let _ = write!(
        content,
        "<form method=\"post\" action=\"{PAGE}\">
<p><label>Code shown by the command line <input name=\"user_code\" value=\"{}\" required autocomplete=\"off\"></label></p>
<p><label>Your access token <input name=\"access_token\" type=\"password\" required autocomplete=\"off\"></label></p>
<p><button>Continue</button></p>
</form>",
        escaped(user_code)
    );
    content
}

/// Shows who asks, and asks what to say to it.
fn offer(user_code: &str, typed: Option<&str>, request: &DeviceRequest) -> String {
    let mut content = String::from("<p>A command line asks to act as you for 30 days.</p>\n<dl>\n");
    let unknown = || "not said".to_owned();
    let name = |name: &Option<secrets_core::model::DisplayName>| {
        name.as_ref().map_or_else(unknown, ToString::to_string)
    };
    for (term, value) in [
        ("Client", name(&request.client_name)),
        ("Host", name(&request.hostname)),
        ("System", name(&request.os)),
        ("Address", request.ip_address.map_or_else(unknown, |address| address.to_string())),
        ("Asked at", request.created_at.format("%Y-%m-%d %H:%M:%S UTC").to_string()),
        ("State", request.status.to_owned()),
    ] {
        let _ = writeln!(content, "<dt>{term}</dt><dd>{}</dd>", escaped(&value));
    }
    let token = typed.map_or_else(String::new, |token| {
        format!("<input type=\"hidden\" name=\"access_token\" value=\"{}\">", escaped(token))
    });
    let _ = write!(
        content,
        "</dl>
<p>Approve only if you started this login yourself, on that machine, just now.</p>
<form method=\"post\" action=\"{PAGE}\">
<input type=\"hidden\" name=\"user_code\" value=\"{}\">{token}
<button name=\"decision\" value=\"approve\">Approve</button>
<button name=\"decision\" value=\"deny\">Deny</button>
</form>",
        escaped(user_code)
    );
    content
}

fn page(status: StatusCode, content: &str) -> Response {
    let document = format!(
        "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Log in a command line</title>
<h1>Log in a command line</h1>
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

/// Text as it stands in HTML, between tags or in a quoted attribute.
fn escaped(text: &str) -> String {
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
        let content = question("\"><script>alert('x')</script>&", "<b>");

        assert!(!content.contains("<script>") && !content.contains("<b>"), "{content}");
        assert!(content.contains("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)"), "{content}");
    }
}
