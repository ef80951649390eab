//! Limits on the total size of the secrets in a response.

use std::borrow::Cow;

use crate::engine::{Access, Context};
use crate::model::{Code, Error, Result};
use crate::store::{ChainLink, ResolvedEnvironment};

/// Returns the size of the secrets of an inheritance chain, in bytes.
pub(crate) fn chain_size(chain: &[ChainLink]) -> usize {
    chain.iter().flat_map(|link| &link.secrets).map(|secret| secret.size()).sum()
}

/// Fails if the secrets of an inheritance chain (`bytes`), together with those that the operation
/// has read from other environments (`earlier`), exceed `limit`. All three are sizes in bytes.
pub(super) fn check_size(earlier: usize, bytes: usize, limit: usize) -> Result<()> {
    if earlier + bytes > limit {
        return Err(too_large(limit, earlier > 0));
    }
    Ok(())
}

/// Reserves memory for `bytes` more bytes of secrets. Fails if all secrets of the operation
/// together exceed the maximum size of a response. `reason` builds the error message from the text
/// of this maximum, such as `64 MiB`.
pub(crate) async fn reserve_within_limit<A: Access>(
    cx: &mut Context<'_, A>,
    bytes: usize,
    reason: impl FnOnce(&str) -> String,
) -> Result<()> {
    let limit = cx.options().max_answer_bytes;
    if cx.memory.total.saturating_add(bytes) > limit {
        let reason = reason(&size_text(limit)).into();
        return Err(Error::Refused { code: Code::AnswerTooLarge, reason });
    }
    cx.reserve_memory(bytes).await
}

/// Returns `earlier` plus `bytes`, the sizes of two groups of secrets of the requested keys. Fails
/// if the sum exceeds 64 MiB ([`ResolvedEnvironment::MAX_BYTES`]).
pub(super) fn add_size(earlier: usize, bytes: usize) -> Result<usize> {
    let sum = earlier + bytes;
    if sum > ResolvedEnvironment::MAX_BYTES {
        return Err(TOO_MANY_BYTES);
    }
    Ok(sum)
}

/// Returns the error for secrets that exceed `limit` bytes. `are_several` is true if they belong to
/// several exported environments, and false if they belong to one inheritance chain.
fn too_large(limit: usize, are_several: bool) -> Error {
    let limit = size_text(limit);
    let reason = if are_several {
        format!("the secrets of all environments exceed {limit}: export each by itself")
    } else {
        format!(
            "the secrets of this environment and of those it inherits from exceed {limit}: read \
             them one by one, or let it inherit from fewer environments"
        )
    };
    Error::Refused { code: Code::AnswerTooLarge, reason: reason.into() }
}

/// Formats a number of bytes in MiB if it is a multiple of 1 MiB, otherwise in KiB.
fn size_text(bytes: usize) -> String {
    if bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else {
        format!("{} KiB", bytes / 1024)
    }
}

const MIB: usize = 1024 * 1024;

/// Error if the secrets of the requested keys exceed 64 MiB in total
/// ([`ResolvedEnvironment::MAX_BYTES`]).
const TOO_MANY_BYTES: Error = Error::Refused {
    code: Code::AnswerTooLarge,
    reason: Cow::Borrowed("the secrets of these keys exceed 64 MiB: name fewer keys"),
};

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Service;
    use crate::crypto::Key;
    use crate::engine::{Caller, Options, Read};
    use crate::store::MemoryStore;

    #[tokio::test]
    async fn all_secrets_of_an_operation_may_have_exactly_the_size_of_a_response() {
        let options = Options { max_answer_bytes: 10 * 1024, ..Options::default() };
        let builder = Service::builder(Arc::new(MemoryStore::new()), &Key::generate());
        let service = builder.options(options).build().await.unwrap();
        let caller = Caller::system();
        let mut cx = Context::<Read>::open(service.engine(), &caller, false).await.unwrap();
        let reason = |size: &str| format!("larger than {size}");

        for bytes in [4 * 1024, 6 * 1024] {
            reserve_within_limit(&mut cx, bytes, reason).await.unwrap();
        }
        let refused = reserve_within_limit(&mut cx, 1, reason).await.unwrap_err();

        assert!(matches!(refused, Error::Refused { code: Code::AnswerTooLarge, .. }));
        assert!(refused.to_string().contains("larger than 10 KiB"), "{refused}");
    }

    #[test]
    fn secrets_of_exactly_the_limit_are_read() {
        for (earlier, bytes, expected) in [
            (0, 10, None),
            (0, 11, Some("this environment")),
            (4, 6, None),
            (4, 7, Some("all environments")),
        ] {
            let error = check_size(earlier, bytes, 10).err().map(|error| error.to_string());

            assert_eq!(error.is_some(), expected.is_some(), "{earlier} {bytes}");
            assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
    }

    #[test]
    fn secrets_of_keys_may_have_exactly_64_mebibytes() {
        let max = 64 * MIB;

        assert_eq!(add_size(3, 4).ok(), Some(7));
        assert_eq!(add_size(max - 1, 1).ok(), Some(max));
        assert!(matches!(add_size(max, 1), Err(Error::Refused { code: Code::AnswerTooLarge, .. })));
    }

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
