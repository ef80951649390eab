//! Size of a comparison: memory that a comparison needs, and its limit.

use std::collections::{BTreeMap, BTreeSet};

use super::column::Found;
use super::comparison::ComparedSecret;
use crate::access::reserve_within_limit;
use crate::engine::{Context, Read};
use crate::model::{EnvironmentName, Result, RotationName, SecretKey};
use crate::store::SecretRecord;

/// Size of a cell without its texts, in bytes. A cell without a secret has the same size.
const CELL_BYTES: usize = size_of::<Option<ComparedSecret>>();

/// Size of a comparison: the secrets of the largest inheritance chain, because only one chain is in
/// memory at a time, and all cells of the response.
pub(super) struct ComparisonSize {
    /// Number of compared environments.
    environments: usize,
    /// Secret keys of the environments so far: one row of cells for each key.
    keys: BTreeSet<SecretKey>,
    /// Size of the encrypted secrets of the largest chain so far, in bytes.
    largest_chain: usize,
}

impl ComparisonSize {
    /// Creates the size of a comparison of `environments` environments, without any secrets.
    pub(super) fn new(environments: usize) -> Self {
        Self { environments, keys: BTreeSet::new(), largest_chain: 0 }
    }

    /// Adds the secrets of one environment, and reserves the additional memory. `chain` is the size
    /// of the encrypted secrets of its inheritance chain, in bytes. Fails if the comparison is
    /// larger than a response may be.
    pub(super) async fn reserve(
        &mut self,
        cx: &mut Context<'_, Read>,
        chain: usize,
        found: &[Found],
        managed: &BTreeMap<SecretKey, RotationName>,
    ) -> Result<()> {
        let mut bytes = chain.saturating_sub(self.largest_chain);
        self.largest_chain = self.largest_chain.max(chain);
        for Found { secret, from, .. } in found {
            let key = &secret.key;
            if self.keys.insert(key.clone()) {
                bytes += self.environments * CELL_BYTES;
            }
            bytes += text_bytes(secret, from.as_ref(), managed.get(key));
        }
        let advice = if self.environments == 1 {
            "read the secrets one by one, or let the environment inherit from fewer environments"
        } else {
            "select fewer environments"
        };
        reserve_within_limit(cx, bytes, |size| format!("the comparison exceeds {size}: {advice}"))
            .await
    }
}

/// Returns the size of the texts of a cell, in bytes: the secret key, the description, and the
/// names of the ancestor environment and of the rotation.
fn text_bytes(
    secret: &SecretRecord,
    from: Option<&EnvironmentName>,
    rotation: Option<&RotationName>,
) -> usize {
    let description = secret.description.as_ref().map_or(0, |text| text.as_bytes().len());
    let from = from.map_or(0, |from| from.as_str().len());
    let rotation = rotation.map_or(0, |rotation| rotation.as_str().len());
    secret.key.as_str().len() + description + from + rotation
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::testing::fixtures::{environment, project, sealed, secret, team, user};

    #[test]
    fn every_text_of_a_cell_counts() {
        let place = environment(&project(&team(&user("owner"), "acme"), "billing"), "staging");
        let from: EnvironmentName = "production".parse().unwrap();
        let rotation: RotationName = "orders".parse().unwrap();
        let bare = secret(&place, "KEY");
        let description = sealed(b"text");
        let length = description.as_bytes().len();
        let described = SecretRecord { description: Some(description), ..bare.clone() };

        let sizes = [
            text_bytes(&bare, None, None),
            text_bytes(&described, None, None),
            text_bytes(&bare, Some(&from), None),
            text_bytes(&bare, None, Some(&rotation)),
            text_bytes(&described, Some(&from), Some(&rotation)),
        ];

        assert_eq!(sizes, [3, 3 + length, 13, 9, 19 + length]);
    }
}
