//! The web dashboard: its page, and its scripts and styles below `/assets`.
//!
//! The page is the same for everyone, so it needs no credential; its scripts call the API. The path
//! of an asset contains a hash of all assets, so that browsers can cache it. In debug builds, the
//! assets are read from the source folder, so that an edit needs no compilation.

mod assets;

use std::future::ready;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrets_core::model::{BaseUrl, Clock, Error, Subject};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use warp::http::header::{
    CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, VARY,
};
use warp::http::{HeaderMap, HeaderValue, Method};
use warp::reply::Response;

use self::assets::{Asset, Assets};
use crate::serve::api::Api;
use crate::serve::compression::accepts_gzip;
use crate::serve::fault::Fault;
use crate::serve::reply::Immutable;
use crate::serve::request::{Head, Request, route_filter};
use crate::serve::router::Route;

/// Path of the assets. Rate limits do not apply to requests for assets, because a page loads many.
pub(crate) const ASSET: &str = "/assets/{build}/{*file}";

/// Paths at which the page of the dashboard is served. Its scripts choose the screen according to
/// the path.
const PAGES: [&str; 4] = ["/projects", "/projects/{*rest}", "/teams/{*rest}", "/account"];

/// Opening and closing tag of the import map in the page.
const IMPORT_MAP: (&str, &str) = ("<script type=\"importmap\">", "</script>");

const HEADERS: [(HeaderName, &str); 4] = [
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "clipboard-write=(self), camera=(), microphone=(), geolocation=()",
    ),
];

pub(super) fn routes(api: &Api) -> Vec<Route> {
    if !api.has_dashboard {
        return Vec::new();
    }
    let clock = Arc::clone(&api.clock);
    let file = move |request: Request| ready(file(&request, clock.as_ref()));
    let file = Route::public(Method::GET, ASSET, "dashboard.file", route_filter(file));
    let pages = PAGES.map(|template| {
        let page = |request: Request| ready(page(request.base()));
        Route::public(Method::GET, template, "dashboard.page", route_filter(page)).compressed()
    });
    pages.into_iter().chain([file]).collect()
}

/// Renders the page of the dashboard, with links below the base URL.
pub(super) fn page(base: Option<&BaseUrl>) -> Response {
    let base = base.map_or("", BaseUrl::path);
    let assets = Assets::current();
    let folder = format!("{base}/assets/{}", assets.build());
    let preloads: Vec<_> = assets.preloads().map(|name| preload(&folder, name)).collect();
    let document = assets
        .page()
        .replace("{{base}}", base)
        .replace("{{assets}}", &folder)
        .replace("{{preloads}}", &preloads.join("\n"));
    let policy = policy(&document);
    let mut response = Response::new(document.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn preload(folder: &str, name: &str) -> String {
    format!("<link rel=\"modulepreload\" href=\"{folder}/{name}\">")
}

/// Returns the content security policy of the page. It allows one inline script, the import map.
fn policy(document: &str) -> String {
    let (start, end) = IMPORT_MAP;
    let map = document.split_once(start).and_then(|(_, rest)| rest.split_once(end));
    let hash = STANDARD.encode(Sha256::digest(map.map_or("", |(map, _)| map)));
    format!(
        "default-src 'none'; script-src 'self' 'sha256-{hash}'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

fn file(request: &Head, clock: &dyn Clock) -> Response {
    let assets = Assets::current();
    let asset = Some(request.target.parameter("file"))
        // Caches must not keep files of another version under the path of this version.
        .filter(|_| request.target.parameter("build") == assets.build())
        .and_then(|name| assets.get(name));
    match asset {
        Some(asset) => asset_response(asset, &request.headers),
        None => Fault::from(Error::NotFound(Subject::Resource)).into_response(clock.now()),
    }
}

fn asset_response(asset: &Asset, headers: &HeaderMap) -> Response {
    let is_compressed = accepts_gzip(headers);
    let body = if is_compressed { &asset.compressed } else { &asset.content };
    let mut response = Response::new(body.clone().into());
    response.extensions_mut().insert(Immutable);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    // Without this header, a page with the policy `require-corp` could not load its scripts.
    let same_origin = HeaderValue::from_static("same-origin");
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), same_origin);
    if is_compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_has_the_hash_of_the_import_map() {
        let document = page(Some(&"https://a.example/base".parse().unwrap()));

        let policy = document.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        let empty = STANDARD.encode(Sha256::digest(""));
        assert!(policy.contains("'sha256-") && !policy.contains(&empty), "{policy}");
    }
}
