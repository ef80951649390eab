//! Effective secrets of an environment: for each secret key, the secret of the environment itself
//! or else of the nearest ancestor, hidden or not.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use crate::access::View;
use crate::model::{EnvironmentId, EnvironmentName};
use crate::store::{ChainLink, SecretRecord};

/// The secret that is effective for a key in an environment, and the environment that defines it:
/// the environment itself or its nearest ancestor with this key.
pub(crate) struct Visible {
    pub(crate) secret: Arc<SecretRecord>,
    /// Name of the ancestor that defines the secret; `None` if the environment itself does.
    pub(crate) inherited_from: Option<EnvironmentName>,
    /// True if the secret is inherited from an environment that the caller may not read.
    pub(crate) is_restricted: bool,
}

/// Takes all secrets out of a resolved environment ([`View`]) and returns the effective ones,
/// sorted by key: for each key, the secret of the environment or of its nearest ancestor, hidden or
/// not. Overridden secrets are dropped.
pub(crate) fn visible(view: &mut View) -> Vec<Visible> {
    nearest(&mut view.chain, &view.restricted)
}

/// Takes all secrets out of an inheritance chain, which begins with the environment itself, and
/// returns the effective ones, sorted by key: for each key, the secret of the nearest environment
/// that has one, hidden or not. Overridden secrets are dropped.
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

    /// Creates an environment of an inheritance chain that has secrets with these keys. A `-`
    /// before a key marks the secret as hidden.
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

    /// Returns the effective secrets as strings: the key, the ancestor's name if inherited, and
    /// marks for hidden and restricted secrets.
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
