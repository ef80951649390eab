//! Effective secrets of an environment: for each secret key, the nearest secret in the inheritance
//! chain, hidden or not.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use crate::access::View;
use crate::model::{EnvironmentId, EnvironmentName};
use crate::store::{ChainLink, SecretRecord};

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
    nearest(&mut view.chain, &view.restricted)
}

/// Takes the nearest secret of each key out of a chain, which begins with the environment itself.
fn nearest(chain: &mut [ChainLink], restricted: &BTreeSet<EnvironmentId>) -> Vec<Visible> {
    let mut seen = Vec::with_capacity(chain.iter().map(|link| link.secrets.len()).sum());
    for (distance, link) in chain.iter_mut().enumerate() {
        let inherited_from = (distance > 0).then_some(&link.environment.name);
        let is_restricted = restricted.contains(&link.environment.id);
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

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::testing::fixtures::{environment, project, secret, team, user};

    /// Creates a link of a chain with secrets of these keys; `-` before a key hides the secret.
    fn link(name: &str, keys: &[&str]) -> ChainLink {
        let creator = user("alice");
        let environment = environment(&project(&team(&creator, "ops"), "shop"), name);
        let secret = |key: &&str| {
            let (hidden, key) = key.strip_prefix('-').map_or((false, *key), |key| (true, key));
            Arc::new(SecretRecord { hidden, ..secret(&environment, key) })
        };
        let secrets = keys.iter().map(secret).collect();
        ChainLink { environment, in_scope: true, granted: None, secrets }
    }

    /// Returns the effective secrets as text: key, origin if inherited, and marks.
    fn shown(chain: &mut [ChainLink], restricted: &[usize]) -> Vec<String> {
        let restricted = restricted.iter().map(|place| chain[*place].environment.id).collect();
        let show = |seen: Visible| {
            let key = &seen.secret.key;
            let from = seen.inherited_from.map(|from| format!(" from {from}")).unwrap_or_default();
            let hidden = if seen.secret.hidden { " hidden" } else { "" };
            let restricted = if seen.is_restricted { " restricted" } else { "" };
            format!("{key}{from}{hidden}{restricted}")
        };
        nearest(chain, &restricted).into_iter().map(show).collect()
    }

    #[test]
    fn the_nearest_secret_of_each_key_is_effective() {
        let mut chain = [
            link("staging", &["URL"]),
            link("production", &["KEY", "URL"]),
            link("base", &["BASE", "KEY", "URL"]),
        ];

        let shown = shown(&mut chain, &[]);

        assert_eq!(shown, ["BASE from base", "KEY from production", "URL"]);
    }

    #[test]
    fn a_hidden_secret_covers_those_of_its_ancestors() {
        let mut chain = [
            link("staging", &["-KEY"]),
            link("production", &["KEY", "-URL"]),
            link("base", &["KEY", "URL"]),
        ];

        let shown = shown(&mut chain, &[]);

        assert_eq!(shown, ["KEY hidden", "URL from production hidden"]);
    }

    #[test]
    fn only_secrets_of_a_restricted_ancestor_are_restricted() {
        let mut chain = [
            link("staging", &["OWN"]),
            link("production", &["OWN", "KEY"]),
            link("base", &["KEY", "BASE"]),
        ];

        let shown = shown(&mut chain, &[1]);

        assert_eq!(shown, ["BASE from base", "KEY from production restricted", "OWN"]);
    }
}
