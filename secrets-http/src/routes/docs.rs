//! `/api/v1/openapi.json` and `/api/docs`: the OpenAPI document and its Swagger UI page.

use std::future::ready;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use secrets_core::model::{BaseUrl, Error, Subject};
use utoipa_swagger_ui::Config;
use warp::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use warp::http::{HeaderValue, Method};
use warp::reply::Response;

use crate::openapi::{Content, Described, document};
use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::request::{Request, route_filter};
use crate::serve::router::Route;
use secrets_core::runtime::Supervisor;

const DOCUMENT: &str = "/api/v1/openapi.json";
const PAGE: &str = "/api/docs";
const FILE: &str = "/api/docs/{file}";

/// Swagger UI files that the documentation page loads. The files are embedded in the program.
const SWAGGER_UI_FILES: [&str; 2] = ["swagger-ui.css", "swagger-ui-bundle.js"];

/// Name of the script that starts Swagger UI. It is a separate file because the content security
/// policy forbids inline scripts.
const START_FILE: &str = "start.js";

const START_SCRIPT: &str = "SwaggerUIBundle({
  url: 'v1/openapi.json', dom_id: '#interface', deepLinking: true, filter: true, docExpansion: 'list',
  defaultModelsExpandDepth: 0, persistAuthorization: false,
});
";

const PAGE_HTML: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>secrets API reference</title>
<link rel=\"icon\" href=\"data:,\">
<link rel=\"stylesheet\" href=\"docs/swagger-ui.css\">
<header class=\"swagger-ui\"><div class=\"wrapper\">
<h1>secrets API reference</h1>
<p>To begin: press <b>Authorize</b> and enter an access token of your identity provider, call <code>POST
/api/v1/auth/sync</code> once to sign in, then create a project and its first secret. The field <b>Filter by tag</b> shows
one group of operations. The address of an opened operation can be shared.</p>
</div></header>
<main id=\"interface\"></main>
<script src=\"docs/swagger-ui-bundle.js\"></script>
<script src=\"docs/start.js\"></script>
</html>
";

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes(api: &Api, supervisor: &Supervisor) -> Vec<Route> {
    let clock = Arc::clone(&api.clock);
    let (api, supervisor) = (api.clone(), supervisor.clone());
    // Built on the first request, so that it does not delay the start.
    let cached = Arc::new(OnceLock::new());
    let describe = move |request: Request| {
        let text: &Bytes = cached.get_or_init(|| {
            let mut document = document(&super::table(&api, &supervisor), api.envelope);
            // The same for all requests: only a configured URL has a path.
            let path = request.base().map_or("", BaseUrl::path);
            document["servers"][0]["url"] = if path.is_empty() { "/" } else { path }.into();
            Bytes::from(document.to_string())
        });
        ready(file_response("application/json", text.clone()))
    };
    let page = |_: Request| {
        let mut response =
            file_response("text/html; charset=utf-8", Bytes::from_static(PAGE_HTML.as_bytes()));
        let policy = HeaderValue::from_static(POLICY);
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        ready(response)
    };
    let file = move |request: Request| {
        ready(file(request.target.parameter("file")).unwrap_or_else(|| {
            Fault::from(Error::NotFound(Subject::Resource)).into_response(clock.now())
        }))
    };
    vec![
        Route::public(Method::GET, DOCUMENT, "openapi.document", route_filter(describe))
            .id("getOpenApiDocument")
            .summary("Get this OpenAPI document")
            .response(200, vec![Content::json(Described::anything().unwrapped())]),
        Route::public(Method::GET, PAGE, "openapi.page", route_filter(page)),
        Route::public(Method::GET, FILE, "openapi.file", route_filter(file)),
    ]
}

fn file(name: &str) -> Option<Response> {
    if name == START_FILE {
        return Some(file_response("text/javascript", Bytes::from_static(START_SCRIPT.as_bytes())));
    }
    SWAGGER_UI_FILES.contains(&name).then_some(())?;
    let file = utoipa_swagger_ui::serve(name, Arc::new(Config::from(DOCUMENT))).ok()??;
    let kind = if name == SWAGGER_UI_FILES[0] { "text/css" } else { "text/javascript" };
    Some(file_response(kind, Bytes::from(file.bytes.into_owned())))
}

fn file_response(kind: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
