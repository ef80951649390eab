//! Device login (RFC 8628): the user approves the sign-in on a web page of the service.

use std::time::Duration;

use chrono::TimeDelta;
use reqwest::{Method, Url};
use secrets_core::model::{Clock as _, SystemClock};
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep_until};
use zeroize::Zeroizing;

use crate::browser;
use crate::credentials::{Credential, CredentialMetadata};
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::output::printable;
use crate::service::{Request, Response, Service};

const CLIENT_ID: &str = "cli";
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Time that `slow_down` adds to the poll interval (RFC 8628, section 3.5).
const SLOW_DOWN: Duration = Duration::from_secs(5);

/// Maximum poll interval while the service is unreachable.
const MAX_INTERVAL: Duration = Duration::from_mins(1);

/// Maximum time to wait for the approval, in seconds. The service itself ends a login earlier.
const MAX_SECONDS: u64 = 3_600;

/// Response of the service to the start of a device login.
#[derive(Deserialize)]
struct Started {
    device_code: Zeroizing<String>,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    #[serde(default = "default_interval")]
    interval: u64,
}

/// Session that the service grants after the user has approved the login.
#[derive(Deserialize)]
struct Grant {
    access_token: Zeroizing<String>,
    expires_in: Option<u32>,
    user: Option<User>,
}

#[derive(Deserialize)]
struct User {
    email: String,
}

/// Error response of the token endpoint (RFC 6749, section 5.2).
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// Result of one request that asks whether the user has approved the login.
enum Answer {
    Granted(Grant),
    Pending,
    SlowDown,
}

/// Starts a device login, and waits until the user has approved or refused it.
pub(super) async fn sign_in(
    cx: &Invocation,
    service: &Service,
    with_browser: bool,
) -> Result<Credential, Failure> {
    let grant = tokio::select! {
        // `ctrl_c` installs the signal handler when it is first polled. It comes first, so that the
        // handler is installed before `show` prints that Ctrl-C ends the sign-in.
        biased;
        Ok(()) = tokio::signal::ctrl_c() => {
            return Err(Failure::new(Exit::Interrupted, "interrupted, and not signed in"));
        }
        grant = async {
            let device = ["auth", "cli", "device"];
            let started: Started = service.call(Method::POST, &device, &client()).await?;
            show(cx, &started, with_browser)?;
            wait(service, &started, cx.settings.timeout).await
        } => grant?,
    };
    let expires_at =
        grant.expires_in.map(|seconds| SystemClock.now() + TimeDelta::seconds(seconds.into()));
    let user = grant.user.map(|user| printable(&user.email));
    let metadata = CredentialMetadata { user, expires_at, ..CredentialMetadata::default() };
    Ok(Credential { token: grant.access_token, metadata, private_key: None })
}

/// Returns details about this program and machine. The approval page shows them to the user.
fn client() -> serde_json::Value {
    let mut client = json!({
        "client_id": CLIENT_ID,
        "client_name": concat!("secrets ", env!("CARGO_PKG_VERSION")),
        "os": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    });
    if let Some(name) = hostname() {
        client["hostname"] = json!(name);
    }
    client
}

/// Returns the name of this machine, if the service accepts the name: 1 to 100 characters.
fn hostname() -> Option<String> {
    #[cfg(unix)]
    let name = nix::unistd::gethostname().ok()?.into_string().ok()?;
    #[cfg(not(unix))]
    let name = std::env::var_os("COMPUTERNAME")?.into_string().ok()?;
    let name: String = name.chars().filter(char::is_ascii_graphic).take(100).collect();
    Some(name).filter(|name| !name.is_empty())
}

/// Shows the code of the login, and opens the approval page if there is a browser.
fn show(cx: &Invocation, started: &Started, with_browser: bool) -> Result<(), Failure> {
    let page = page(&started.verification_uri)?;
    cx.output.instruct(&format!("Open {page} and enter the code"));
    cx.output.instruct(&format!("\n    {}\n", printable(&started.user_code)));
    let complete = started.verification_uri_complete.as_deref().unwrap_or(page.as_str());
    if with_browser && browser::open_page(&self::page(complete)?, cx.settings.variables) {
        cx.output.note("The page should open in your browser.");
    }
    let minutes = started.expires_in.div_ceil(60);
    cx.output.note(&format!("The code is valid for {minutes} minutes. Ctrl-C ends the sign-in."));
    Ok(())
}

fn page(url: &str) -> Result<Url, Failure> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
    url.ok_or_else(|| {
        Failure::new(Exit::Protocol, "the service names no page for the approval; check --server")
    })
}

/// Polls the service until the user has approved or refused the login, or until the login expires.
async fn wait(service: &Service, started: &Started, timeout: Duration) -> Result<Grant, Failure> {
    let until = Instant::now() + Duration::from_secs(started.expires_in.min(MAX_SECONDS));
    let mut interval = Duration::from_secs(started.interval.clamp(1, MAX_SECONDS));
    loop {
        sleep_until(until.min(Instant::now() + interval)).await;
        if Instant::now() >= until {
            return Err(expired());
        }
        match poll(service, started, Instant::now() + timeout).await {
            Ok(Answer::Granted(grant)) => return Ok(grant),
            Ok(Answer::Pending) => {}
            Ok(Answer::SlowDown) => interval += SLOW_DOWN,
            // The network may come back before the codes expire.
            Err(failure) if failure.exit == Exit::Unavailable => {
                interval = (interval * 2).min(MAX_INTERVAL);
            }
            Err(failure) => return Err(failure),
        }
    }
}

async fn poll(service: &Service, started: &Started, until: Instant) -> Result<Answer, Failure> {
    let body = json!({
        "client_id": CLIENT_ID, "grant_type": GRANT_TYPE, "device_code": *started.device_code,
    });
    let request = Request::new(Method::POST, &["auth", "cli", "token"]).json(&body)?;
    let response = service.send_once(&request, until).await?;
    match response.status().as_u16() {
        200 => response.json().map(Answer::Granted),
        400 => refused(&response),
        429 => Ok(Answer::SlowDown),
        _ => Err(response.failure()),
    }
}

fn refused(response: &Response) -> Result<Answer, Failure> {
    let refusal: Refusal = response.json()?;
    match refusal.error.as_str() {
        "authorization_pending" => Ok(Answer::Pending),
        "slow_down" => Ok(Answer::SlowDown),
        "access_denied" => Err(Failure::new(Exit::NotSignedIn, "the sign-in was denied")),
        "expired_token" => Err(expired()),
        _ => Err(response.failure()),
    }
}

fn expired() -> Failure {
    Failure::new(Exit::NotSignedIn, "the code has expired; `secrets login` starts again")
}

fn default_interval() -> u64 {
    5
}
