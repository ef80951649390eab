//! Limits on the total size of the secrets in a response.

use std::borrow::Cow;

use crate::model::{Code, Error};
use crate::store::ChainLink;

/// Returns the size of the secrets of an inheritance chain, in bytes.
pub(super) fn chain_size(chain: &[ChainLink]) -> usize {
    chain.iter().flat_map(|link| &link.secrets).map(|secret| secret.size()).sum()
}

/// Returns the error for secrets of an inheritance chain that exceed `limit` bytes, or, if
/// `are_several`, for the secrets of several environments that exceed it in total.
pub(super) fn too_large(limit: usize, are_several: bool) -> Error {
    let (limit, unit) =
        if limit.is_multiple_of(MIB) { (limit / MIB, "MiB") } else { (limit / 1024, "KiB") };
    let reason = if are_several {
        format!("the secrets of all environments exceed {limit} {unit}: export each by itself")
    } else {
        format!(
            "the secrets of this environment and of those it inherits from exceed {limit} {unit}: \
             read them one by one, or let it inherit from fewer environments"
        )
    };
    Error::Refused { code: Code::AnswerTooLarge, reason: reason.into() }
}

const MIB: usize = 1024 * 1024;

/// Error if the secrets of the requested keys exceed 64 MiB in total
/// ([`ResolvedEnvironment::MAX_BYTES`]).
///
/// [`ResolvedEnvironment::MAX_BYTES`]: crate::store::ResolvedEnvironment::MAX_BYTES
pub(super) const TOO_MANY_BYTES: Error = Error::Refused {
    code: Code::AnswerTooLarge,
    reason: Cow::Borrowed("the secrets of these keys exceed 64 MiB: name fewer keys"),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_limit_in_the_largest_whole_unit() {
        for (limit, named) in [(3 * MIB, "exceed 3 MiB:"), (MIB + 1024, "exceed 1025 KiB:")] {
            for are_several in [false, true] {
                let error = too_large(limit, are_several).to_string();
                assert!(error.contains(named), "{error}");
            }
        }
    }
}
