//! What an environment sees: for each key the nearest secret of its chain, be it hidden or not.

use std::collections::BTreeMap;

use crate::model::{EnvironmentName, SecretKey};
use crate::store::{Link, SecretRecord};

/// A secret, and where it comes from.
pub(crate) struct Visible {
    pub(crate) secret: SecretRecord,
    /// The ancestor that holds it; `None` if the environment itself does.
    pub(crate) inherited_from: Option<EnvironmentName>,
}

/// The secrets seen along a chain that runs from the environment itself to its furthest ancestor.
pub(crate) fn visible(chain: Vec<Link>) -> BTreeMap<SecretKey, Visible> {
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
