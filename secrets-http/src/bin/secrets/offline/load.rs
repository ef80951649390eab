//! Loads secrets from the service, or from the offline copy.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::copy::{CopyFile, Opened, now, refused};
use super::renew::renew;
use crate::arguments::duration;
use crate::failure::{Exit, Failure};
use crate::invocation::{Authentication, Invocation, Place};
use crate::output::ago;
use crate::run::{Values, fetch};
use crate::service::Service;
use crate::settings::OfflineMode;

/// Time limit for each of the two attempts to reach the service, if there is an offline copy to use
/// instead.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(4_900);

/// Time limit for connecting, if the project has offline copies.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Delay between the first and the second attempt.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Creates the client for [`load`]. If the project has offline copies, connecting has a shorter time
/// limit.
pub(crate) fn service(cx: &Invocation) -> Result<Service, Failure> {
    let file = cx.settings.project_file.as_ref();
    let has_copies = file.is_some_and(|file| file.offline.max_age.is_some());
    if has_copies && cx.settings.offline == OfflineMode::Fallback {
        cx.service_connecting_within(CONNECT_TIMEOUT)
    } else {
        cx.service()
    }
}

/// Loads the secrets of an environment from the service or from its offline copy, according to the
/// settings.
pub(crate) async fn load(
    cx: &Invocation,
    service: &Service,
    place: &Place,
) -> Result<Values, Failure> {
    let mode = cx.settings.offline;
    match (mode, max_age(cx, place)?) {
        (OfflineMode::Never, _) | (OfflineMode::Fallback, None) => fetched(service, place).await,
        (OfflineMode::Only, None) => Err(refused(
            "the section [offline] of the project file does not name this environment and `max_age`",
        )),
        (OfflineMode::Only, Some(_)) => {
            let Some(copy) = copy_file(cx, place)? else {
                return Err(refused("a copy needs `secrets login`, not a token in a variable"));
            };
            let opened = copy.open()?;
            warn_of_age(cx, &opened, "offline");
            Ok(opened.values)
        }
        (OfflineMode::Fallback, Some(max_age)) => match copy_file(cx, place)? {
            Some(copy) => load_with(cx, service, Arc::new(copy), place, max_age).await,
            None => fetched(service, place).await,
        },
    }
}

async fn fetched(service: &Service, place: &Place) -> Result<Values, Failure> {
    let values = fetch(service, place, None).await?;
    values.ok_or_else(|| Failure::new(Exit::Protocol, "unexpected status 304"))
}

/// Requests the secrets from the service. Uses the offline copy if the service reports that the
/// secrets are unchanged, or if the service is unreachable.
async fn load_with(
    cx: &Invocation,
    service: &Service,
    copy: Arc<CopyFile>,
    place: &Place,
    max_age: Duration,
) -> Result<Values, Failure> {
    // The same client, because creating one takes milliseconds: it loads the certificates.
    let mut service = service.clone();
    if copy.exists() {
        service = service.with_timeout(REQUEST_TIMEOUT.min(cx.settings.timeout));
    }
    let known = copy.etag();
    // The copy is opened while the service responds.
    let opening = spawn_blocking({
        let copy = Arc::clone(&copy);
        move || copy.open()
    });
    let (mut asked, opened) = tokio::join!(ask_twice(&service, place, known.as_deref()), opening);
    let kept = opened.unwrap_or_else(|_| Err(refused("opening it has failed")));
    if matches!(asked, Ok(None)) && !kept.as_ref().is_ok_and(Opened::is_fresh) {
        asked = ask_twice(&service, place, None).await;
    }
    let copy = &*copy;
    match (asked, kept) {
        (Ok(None), Ok(kept)) => Ok(kept.values),
        (Ok(None), Err(_)) => Err(Failure::new(Exit::Protocol, "unexpected status 304")),
        (Ok(Some(values)), _) => {
            if let Err(failure) = renew(copy, &service, place, max_age, values.etag.clone()).await {
                cx.output.warn(&format!("no new offline copy: {}", failure.message));
            }
            Ok(values)
        }
        (Err(failure), Ok(kept)) if is_outage(&failure) => {
            warn_of_age(cx, &kept, &failure.message);
            Ok(kept.values)
        }
        (Err(mut failure), Err(refusal)) if is_outage(&failure) => {
            failure.message = format!("{}\n{}", failure.message, refusal.message);
            Err(failure)
        }
        (Err(failure), _) => {
            if matches!(failure.exit, Exit::Forbidden | Exit::NotFound) {
                copy.delete()?;
            }
            Err(failure)
        }
    }
}

async fn ask_twice(
    service: &Service,
    place: &Place,
    known: Option<&str>,
) -> Result<Option<Values>, Failure> {
    match fetch(service, place, known).await {
        Err(failure) if is_outage(&failure) => {
            tokio::time::sleep(RETRY_DELAY).await;
            fetch(service, place, known).await
        }
        result => result,
    }
}

/// True if the service is unreachable or reports that it is unavailable. False for an internal
/// error of the service.
fn is_outage(failure: &Failure) -> bool {
    failure.exit == Exit::Unavailable && failure.code.as_deref() != Some("internal")
}

/// Returns the maximum age of offline copies of this environment. Returns `None` if the project
/// file does not enable offline copies of it.
fn max_age(cx: &Invocation, place: &Place) -> Result<Option<Duration>, Failure> {
    let Some(file) = &cx.settings.project_file else { return Ok(None) };
    let Some(text) = &file.offline.max_age else { return Ok(None) };
    if !file.offline.environments.contains(&place.environment) {
        return Ok(None);
    }
    let max_age = duration(text);
    max_age.map(Some).map_err(|rule| Failure::configuration(format!("[offline] max_age: {rule}")))
}

/// Returns the offline copy that belongs to the stored credential. Returns `None` if the credential
/// has no key pair, such as a token from an environment variable, or if its user is not known.
fn copy_file(cx: &Invocation, place: &Place) -> Result<Option<CopyFile>, Failure> {
    let server = cx.server()?;
    let Authentication::Stored(credential) = cx.authentication(&server)? else { return Ok(None) };
    let (Some(key), Some(user)) = (&credential.private_key, &credential.metadata.user) else {
        return Ok(None);
    };
    let key =
        key.parse().map_err(|_| Failure::configuration("the stored private key is invalid"))?;
    let signer = credential.metadata.signer.as_deref().map(str::parse).transpose();
    let signer = signer.map_err(|_| Failure::configuration("the stored signer is invalid"))?;
    let origin = server.value.origin();
    let names = [origin.as_str(), &place.project, &place.environment, user];
    Ok(Some(CopyFile::new(&cx.settings.folders.state, names, key, signer)))
}

fn warn_of_age(cx: &Invocation, opened: &Opened, reason: &str) {
    let age = ago(now() - opened.metadata.created_at);
    cx.output.warn(&format!("{reason}; the offline copy is used, which is {age} old"));
}
