//! Effective secrets of an environment: for each secret key, the nearest secret in the inheritance
//! chain, hidden or not.

use std::mem;
use std::sync::Arc;

use crate::access::View;
use crate::model::EnvironmentName;
use crate::store::SecretRecord;

/// An effective secret and its origin.
pub(crate) struct Visible {
    pub(crate) secret: Arc<SecretRecord>,
    /// Ancestor that holds the secret; `None` if the environment itself holds it.
    pub(crate) inherited_from: Option<EnvironmentName>,
    /// True if the caller may not read the ancestor.
    pub(crate) is_restricted: bool,
}

/// Takes the effective secrets out of a view, sorted by secret key.
pub(crate) fn visible(view: &mut View) -> Vec<Visible> {
    let mut seen = Vec::with_capacity(view.chain.iter().map(|link| link.secrets.len()).sum());
    for (distance, link) in view.chain.iter_mut().enumerate() {
        let inherited_from = (distance > 0).then_some(&link.environment.name);
        let is_restricted = view.restricted.contains(&link.environment.id);
        seen.extend(mem::take(&mut link.secrets).into_iter().map(|secret| Visible {
            secret,
            inherited_from: inherited_from.cloned(),
            is_restricted,
        }));
    }
    // Stable: of several secrets with one key, the nearest is the first.
    seen.sort_by(|a, b| a.secret.key.cmp(&b.secret.key));
    seen.dedup_by(|later, first| later.secret.key == first.secret.key);
    seen
}
