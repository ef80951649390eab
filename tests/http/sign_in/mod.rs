//! Tests of signing in with a browser.

mod cookies;
mod dev;
mod device;
mod flow;
mod hostile;
mod invitations;
mod sessions;
mod unavailable;

use secrets_core::model::Origin;
use secrets_core::store::UserRecord;
use secrets_tests::{App, Browser, Build, IdentityProvider, Kind, Reply};

const HOST: &str = "https://secrets.test";

/// Starts a server and a test identity provider, at which browsers sign in to the server.
pub(crate) async fn serve(kind: Kind) -> (App, IdentityProvider) {
    let build = Build::on(kind);
    let provider = IdentityProvider::start(&build.clock).await;
    // The tests move the clock by hours within the interval of the worker that deletes old sessions.
    let build = build.public_url(HOST).sign_in(&provider).without_workers();
    (build.start().await, provider)
}

/// Starts a sign-in with a browser, and signs in at the provider. Returns the path of the service
/// to which the provider then redirects the browser.
async fn begin(browser: &mut Browser, provider: &IdentityProvider, return_to: &str) -> String {
    let query = serde_urlencoded::to_string([("return_to", return_to)]).unwrap();
    let sent = browser.open(&format!("/sign-in?{query}")).await;
    provider.sign_in(sent.is(303).header("location").unwrap())
}

/// Signs in a user with this browser. Returns the reply to the last request.
async fn sign_in(browser: &mut Browser, provider: &IdentityProvider) -> Reply {
    let back = begin(browser, provider, "/").await;
    browser.arrive(&back).await.is(200).clone()
}

/// Returns the record of the user who is signed in with a browser.
async fn user(app: &App, browser: &Browser) -> UserRecord {
    let names = ["__Host-session", "secrets-session"];
    let token = names.iter().find_map(|name| browser.cookie(name)).unwrap();
    let caller = app.service.authenticate_browser(token, Origin::default()).await.unwrap();
    caller.person().unwrap().clone()
}

/// Returns the `Set-Cookie` header of a reply that sets the cookie with this name. Panics if there
/// is none.
fn set_cookie<'a>(reply: &'a Reply, name: &str) -> &'a str {
    let mut lines = reply.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
    let found = lines.find(|line| line.starts_with(&format!("{name}=")));
    found.unwrap_or_else(|| panic!("no {name}: {:?}", reply.headers))
}

/// Asserts that a reply sets no session cookie.
#[track_caller]
fn starts_no_session(reply: &Reply) {
    let lines = reply.headers.get_all("set-cookie").iter();
    assert!(!lines.into_iter().any(|line| line.to_str().unwrap().contains("session=")));
}
