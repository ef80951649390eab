//! Check whether a caller is an operator of the service.

use crate::engine::Person;

/// True if the caller is an operator of this service: the verified e-mail address in the identity
/// provider's token is on the list of operators. A session is not accepted, because it is valid
/// longer than such a token.
pub(super) fn is_operator(caller: &Person, operators: &[String]) -> bool {
    let email = caller.verified_email().filter(|_| caller.session.is_none());
    let is_email = |operator: &String| {
        email.as_ref().is_some_and(|email| operator.eq_ignore_ascii_case(email.as_str()))
    };
    operators.iter().any(is_email)
}
