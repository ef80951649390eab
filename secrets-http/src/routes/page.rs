//! Layout of the HTML pages, and the start page `/`. For a signed-in browser, the start page is the
//! dashboard.
//!
//! The pages have no scripts, load no resources, and cannot be shown in a frame. Their style is
//! that of `examples/offline-viewer`.

use std::future::ready;
use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrets_core::engine::Caller;
use secrets_core::model::BaseUrl;
use sha2::{Digest as _, Sha256};
use warp::filters::BoxedFilter;
use warp::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, RETRY_AFTER};
use warp::http::{HeaderValue, Method, StatusCode};
use warp::reply::Response;

use super::dashboard;
use crate::serve::api::Api;
use crate::serve::fault::{Fault, Logged};
use crate::serve::request::{Head, Request, route_filter};
use crate::serve::router::Route;
use crate::serve::session_cookie::SessionCookie;

const STYLE: &str = include_str!("page.css");

/// Content security policy of the HTML pages. It allows only the style of the page itself, and
/// forms that are submitted to this server.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; form-action 'self'; style-src 'sha256-{style}'; base-uri 'none'; \
         frame-ancestors 'none'"
    )
});

/// Request of a browser for a page, without the body of the request.
pub(super) struct Visit {
    pub(super) api: Api,
    pub(super) head: Arc<Head>,
}

/// Returns the warp filter of a page's route, which responds to each visit with the result of
/// `answer`.
pub(super) fn page_filter<R>(
    api: &Api,
    answer: impl Fn(Visit) -> R + Send + Sync + 'static,
) -> BoxedFilter<(Response,)>
where
    R: Future<Output = Response> + Send + 'static,
{
    let api = api.clone();
    route_filter(move |request| answer(Visit::new(&api, &request)))
}

impl Visit {
    /// Creates the visit of this request.
    pub(super) fn new(api: &Api, request: &Request) -> Self {
        Self { api: api.clone(), head: request.head() }
    }

    /// True if the service has a public address with the scheme `https`.
    pub(super) fn is_secure(&self) -> bool {
        self.head.base().is_some_and(|base| base.as_str().starts_with("https:"))
    }

    /// Renders an HTML page with this content in a card.
    pub(super) fn card_page(&self, status: StatusCode, title: &str, content: &str) -> Response {
        page(status, title, self.head.base(), &card(content))
    }

    /// Renders the page for a failed request, with the HTML of a link. The page contains the
    /// request ID, with which the operator can find the request in the log. The response has the
    /// status and the headers of the error, and carries its cause for the log.
    pub(super) fn failure_page(&self, fault: Fault, title: &str, link: &str) -> Response {
        let (status, message) = fault.status_and_message();
        let request = self.head.caller.origin.request.map_or_else(String::new, |id| {
            format!("<p class=\"quiet\">Request <code>{id}</code></p>\n")
        });
        let message = escape_html(&message);
        let content =
            format!("<p class=\"notice bad\" role=\"alert\">{message}</p>\n{link}{request}");
        let mut response = self.card_page(status, title, &content);
        let (parts, _) = fault.into_response(self.api.clock.now()).into_parts();
        if let Some(wait) = parts.headers.get(RETRY_AFTER) {
            response.headers_mut().insert(RETRY_AFTER, wait.clone());
        }
        if let Some(logged) = parts.extensions.get::<Logged>() {
            response.extensions_mut().insert(logged.clone());
        }
        response
    }
}

/// Returns the e-mail address of the signed-in user. Empty if the caller is not a user with an
/// account.
pub(super) fn email(caller: &Caller) -> String {
    caller.person().map(|user| user.email.clone()).unwrap_or_default()
}

/// Renders the content of the start page, with links below the path `base`.
fn start_content(base: &str, has_dashboard: bool) -> String {
    let dashboard = if has_dashboard {
        format!(
            r#"<li><a href="{base}/projects">Dashboard</a><p class="quiet">The secrets of your projects, for people who are signed in.</p></li>
"#
        )
    } else {
        String::new()
    };
    format!(
        r#"<section class="card">
<p>A secrets manager for development teams. Programs and people use it through its API.</p>
<ul class="links">
{dashboard}<li><a href="{base}/api/docs">API documentation</a><p class="quiet">All operations, with examples to try. The OpenAPI document is at <a href="{base}/api/v1/openapi.json">/api/v1/openapi.json</a>.</p></li>
<li><a href="{base}/device">Approve a command-line login</a><p class="quiet">For users: enter the code that a command-line client shows.</p></li>
<li><a href="{base}/health">Health</a><p class="quiet">For operators: the status of the database, the encryption and the workers.</p></li>
</ul>
</section>
"#
    )
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let has_dashboard = api.has_dashboard;
    let start = move |request: Request| {
        let base = request.base();
        // The session is not verified here, but when scripts of the page call the API.
        let has_session = SessionCookie::of(base).read(&request.headers).is_some();
        ready(if has_dashboard && has_session {
            dashboard::page(base)
        } else {
            let content = start_content(base.map_or("", BaseUrl::path), has_dashboard);
            page(StatusCode::OK, "secrets", base, &content)
        })
    };
    vec![Route::public(Method::GET, "/", "start.page", route_filter(start))]
}

/// Renders an HTML page with a header that contains its title, and the name and the address of the
/// service.
pub(super) fn page(
    status: StatusCode,
    title: &str,
    base: Option<&BaseUrl>,
    content: &str,
) -> Response {
    render(status, title, base, ("", content))
}

/// Renders a page that immediately opens a path of this service. A redirect cannot be used, because
/// browsers send no `SameSite=Strict` cookies in a navigation that began at another site.
pub(super) fn forwarding_page(title: &str, base: Option<&BaseUrl>, path: &str) -> Response {
    let path = escape_html(&format!("{}{path}", base.map_or("", BaseUrl::path)));
    let head = format!("<meta http-equiv=\"refresh\" content=\"0; url={path}\">\n");
    let content = card(&format!("<p>You are signed in. <a href=\"{path}\">Continue</a></p>\n"));
    render(StatusCode::OK, title, base, (&head, &content))
}

/// Renders a card. `content` must end with a line break.
fn card(content: &str) -> String {
    format!("<section class=\"card\">\n{content}</section>\n")
}

/// Renders an HTML page from its title, additional lines for the `<head>` element, and its content.
fn render(
    status: StatusCode,
    title: &str,
    base: Option<&BaseUrl>,
    (head, content): (&str, &str),
) -> Response {
    let place = base.map(|base| format!(" at {}", escape_html(base.as_str()))).unwrap_or_default();
    let title = escape_html(title);
    let full_title = if title == "secrets" { title.clone() } else { format!("{title} · secrets") };
    let document = format!(
        "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<meta name=\"robots\" content=\"noindex\">
<title>{full_title}</title>
{head}<style>{STYLE}</style>
</head>
<body>
<main>
<header>
<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M7 10V7a5 5 0 0 1 10 0v3m-11 0h12a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2zm6 4v3\"/></svg>
<div>
<h1>{title}</h1>
<p class=\"quiet\">secrets{place}</p>
</div>
</header>
{content}</main>
</body>
</html>
"
    );
    let mut response = Response::new(document.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    if let Ok(policy) = HeaderValue::from_str(&POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Escapes text for HTML, between tags or in a quoted attribute.
pub(super) fn escape_html(text: &str) -> String {
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
