//! Signing out: ending the session that made the request.

use super::revoke::revoke;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Error, Result, SessionKind, Subject};

/// Ends the session used for the request. Does nothing if the request was made with a token of the
/// identity provider, or if another request has just ended the session.
#[derive(Debug)]
pub struct SignOut;

impl Operation for SignOut {
    const NAME: &'static str = "session.sign_out";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("browser.signed_out");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let Some(session) = cx.caller.as_person()?.session.clone() else {
            cx.audit.skips_audit = true;
            return Ok(());
        };
        match revoke(cx, &session).await {
            Ok(()) => {}
            Err(Error::NotFound(Subject::Session)) => {
                cx.audit.skips_audit = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if session.kind == SessionKind::Browser {
            cx.audit.action = Some("browser.signed_out");
        }
        Ok(())
    }
}
