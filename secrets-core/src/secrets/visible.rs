//! Effective secrets of an environment: for each secret key, the nearest secret in the inheritance
//! chain, hidden or not.

use std::collections::BTreeMap;

use crate::model::{EnvironmentName, SecretKey};
use crate::store::{ChainLink, SecretRecord};

/// An effective secret and its origin.
pub(crate) struct Visible {
    pub(crate) secret: SecretRecord,
    /// Ancestor that holds the secret; `None` if the environment itself holds it.
    pub(crate) inherited_from: Option<EnvironmentName>,
}

/// Returns the effective secrets of an inheritance chain by secret key. The chain begins with the
/// environment itself and ends with its furthest ancestor.
pub(crate) fn visible(chain: Vec<ChainLink>) -> BTreeMap<SecretKey, Visible> {
    let mut seen = BTreeMap::new();
    for (distance, link) in chain.into_iter().enumerate() {
        let holder = (distance > 0).then_some(link.environment.name);
        for secret in link.secrets {
            seen.entry(secret.key.clone())
                .or_insert_with(|| Visible { secret, inherited_from: holder.clone() });
        }
    }
    seen
}
