//! Effective secrets of an environment: for each secret key, the nearest secret in the inheritance
//! chain, hidden or not.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::access::View;
use crate::model::{EnvironmentName, SecretKey};
use crate::store::SecretRecord;

/// An effective secret and its origin.
pub(crate) struct Visible {
    pub(crate) secret: Arc<SecretRecord>,
    /// Ancestor that holds the secret; `None` if the environment itself holds it.
    pub(crate) inherited_from: Option<EnvironmentName>,
    /// True if the caller may not read the ancestor.
    pub(crate) is_restricted: bool,
}

/// Takes the effective secrets out of a view, by secret key.
pub(crate) fn visible(view: &mut View) -> BTreeMap<SecretKey, Visible> {
    let mut seen = BTreeMap::new();
    for (distance, link) in view.chain.iter_mut().enumerate() {
        let inherited_from = (distance > 0).then_some(&link.environment.name);
        let is_restricted = view.restricted.contains(&link.environment.id);
        for secret in std::mem::take(&mut link.secrets) {
            seen.entry(secret.key.clone()).or_insert_with(|| Visible {
                secret,
                inherited_from: inherited_from.cloned(),
                is_restricted,
            });
        }
    }
    seen
}
