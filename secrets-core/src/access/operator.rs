//! Check whether a caller is an operator of the service.

use super::address::proves_address;
use crate::engine::{Options, Person};
use crate::model::{Error, Time};

pub(super) const OPERATORS_ONLY: Error = Error::forbidden(
    "only the operator of this service may do this, with a token of the identity provider: if you are the operator, sign in again",
);

/// True if the caller is an operator of this service: the caller's verified e-mail address is on
/// the list of operators, and the credential is a token of the identity provider that proves this
/// address. A session is not accepted, because it is valid longer than such a token.
pub(super) fn is_operator(caller: &Person, options: &Options, now: Time) -> bool {
    if caller.session.is_some() || !proves_address(caller, options.sessions.absolute, now) {
        return false;
    }
    let email = caller.verified_email();
    let is_email = |operator: &String| {
        email.as_ref().is_some_and(|email| operator.eq_ignore_ascii_case(email.as_str()))
    };
    options.operators.iter().any(is_email)
}
