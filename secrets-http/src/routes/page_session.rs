//! Session of the browser on pages that accept it: `/device` and `/invitations/{token}`.
//!
//! For other paths, the session cookie is accepted only in requests that scripts of this service
//! send. These pages are opened and submitted by the browser itself, so other rules apply to them.

use secrets_core::engine::Caller;
use secrets_core::model::Error;

use super::page::Visit;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::request::Head;
use crate::serve::session_cookie::{self, Initiator};

/// Content of the response to a form that another site has submitted.
pub(super) const CROSS_SITE: &str = "<p>Refused: this form was submitted from another site.</p>\n";

/// Authenticates the user by the session of the browser. Returns `None` if there is no session, if
/// the session has ended, or if another site caused the request.
pub(super) async fn caller(visit: &Visit) -> Result<Option<Caller>, Error> {
    let head = visit.head.as_ref();
    let Head { headers, method, caller, .. } = head;
    let Some(credential) = session_cookie::of_page(headers, method, head.base()) else {
        return Ok(None);
    };
    match visit.api.service.authenticate_browser(credential, caller.origin.clone()).await {
        Ok(caller) => Ok(Some(caller)),
        Err(error) if error.refuses_credential() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the link with which the user signs in and then returns to a path of this service.
/// Returns `None` if browsers do not sign in with the identity provider.
pub(super) fn sign_in_link(visit: &Visit, path: &str) -> Option<String> {
    match visit.api.sign_in.as_ref() {
        BrowserSignIn::Provider(_) => Some(super::sign_in::link(visit.head.base(), path)),
        BrowserSignIn::Off | BrowserSignIn::Dev(_) => None,
    }
}

/// True if the form was submitted from another site (CSRF).
///
/// Such a form must be refused, because a proxy in front of the service that signs users in would
/// authenticate it.
pub(super) fn is_cross_site(visit: &Visit) -> bool {
    let initiator = Initiator::of(&visit.head.headers, visit.head.base());
    matches!(initiator, Initiator::User | Initiator::Other)
}
