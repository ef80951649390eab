//! Columns of a comparison: for each environment, the secrets that it has or inherits.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::Arc;

use super::comparison::{ComparedEnvironment, ComparedSecret, SecretState};
use super::comparison_size::ComparisonSize;
use super::sealing::{open_description, open_value};
use super::{Visible, visible};
use crate::access::{EnvironmentScope, View, chain_size};
use crate::crypto::{Fingerprint, FingerprintKey, Plaintext};
use crate::engine::{Context, Read};
use crate::model::{EnvironmentName, Result, RotationName, SecretId, SecretKey};
use crate::store::SecretRecord;

/// Column of a comparison: an environment with its cells, one for each secret that it has or
/// inherits.
pub(super) struct Column {
    pub(super) environment: ComparedEnvironment,
    pub(super) cells: BTreeMap<SecretKey, ComparedSecret>,
}

/// A secret that an environment has or inherits, before its cell is built.
pub(super) struct Found {
    pub(super) secret: Arc<SecretRecord>,
    state: SecretState,
    /// Name of the ancestor from which the secret is inherited, or whose secret it overrides or
    /// hides; `None` if there is no such ancestor.
    pub(super) from: Option<EnvironmentName>,
    is_restricted: bool,
}

/// Decrypted descriptions and compared values of the secrets in a comparison. A secret that several
/// environments inherit is decrypted only once.
pub(super) struct Contents {
    size: ComparisonSize,
    descriptions: HashMap<SecretId, Option<Plaintext>>,
    /// Groups of equal values; `None` if they were not requested.
    equality: Option<Equality>,
}

/// Groups of secrets with equal values. Values are compared by a MAC, whose key exists only during
/// one comparison.
struct Equality {
    key: FingerprintKey,
    groups: HashMap<Fingerprint, u32>,
    by_secret: HashMap<SecretId, u32>,
}

impl Contents {
    /// Creates the contents of a comparison of `environments` environments; with groups of equal
    /// values if `equal` is true.
    pub(super) fn new(equal: bool, environments: usize) -> Self {
        let equality = equal.then(|| Equality {
            key: FingerprintKey::draw(),
            groups: HashMap::new(),
            by_secret: HashMap::new(),
        });
        let size = ComparisonSize::new(environments);
        Self { size, descriptions: HashMap::new(), equality }
    }

    /// Returns the number of secrets whose values were compared for equality.
    pub(super) fn compared(&self) -> usize {
        self.equality.as_ref().map_or(0, |equality| equality.by_secret.len())
    }

    /// Builds the cells of one environment. `managed` contains the secret keys that rotations of
    /// the environment write. Fails if the comparison becomes too large.
    pub(super) async fn cells(
        &mut self,
        cx: &mut Context<'_, Read>,
        mut view: View,
        managed: &BTreeMap<SecretKey, RotationName>,
    ) -> Result<BTreeMap<SecretKey, ComparedSecret>> {
        let chain = chain_size(&view.chain);
        let found = found(&mut view);
        // Before anything is decrypted.
        self.size.reserve(cx, chain, &found, managed).await?;
        let mut cells = BTreeMap::new();
        for Found { secret, state, from, is_restricted } in found {
            let mut cell = if is_restricted {
                restricted(&secret, (state, from))
            } else {
                self.cell(cx, &view.scope, &secret, (state, from)).await?
            };
            cell.rotation = managed.get(&secret.key).cloned();
            cells.insert(secret.key.clone(), cell);
        }
        Ok(cells)
    }

    async fn cell(
        &mut self,
        cx: &mut Context<'_, Read>,
        scope: &EnvironmentScope,
        secret: &SecretRecord,
        origin: (SecretState, Option<EnvironmentName>),
    ) -> Result<ComparedSecret> {
        let description = if let Some(known) = self.descriptions.get(&secret.id) {
            known.clone()
        } else {
            let opened = open_description(cx, scope, secret).await?;
            self.descriptions.insert(secret.id, opened.clone());
            opened
        };
        let group = match &mut self.equality {
            Some(equality) => equality.group(cx, scope, secret).await?,
            None => None,
        };
        Ok(ComparedSecret {
            description,
            group,
            updated_by: secret.updated_by,
            ..cell(secret, origin)
        })
    }
}

impl Equality {
    /// Returns the number that identifies the group of secrets with the same value as this secret;
    /// `None` for a hidden secret.
    async fn group(
        &mut self,
        cx: &mut Context<'_, Read>,
        scope: &EnvironmentScope,
        secret: &SecretRecord,
    ) -> Result<Option<u32>> {
        if let Some(group) = self.by_secret.get(&secret.id) {
            return Ok(Some(*group));
        }
        // Hidden secrets are decrypted too: this verifies the hidden flag.
        let value = open_value(cx, scope, secret).await?;
        if secret.hidden {
            return Ok(None);
        }
        let fingerprint = self.key.fingerprint(&[value.reveal().as_bytes()]);
        let next = u32::try_from(self.groups.len()).unwrap_or(u32::MAX).saturating_add(1);
        let group = *self.groups.entry(fingerprint).or_insert(next);
        self.by_secret.insert(secret.id, group);
        Ok(Some(group))
    }
}

/// Takes all secrets out of a resolved environment, and returns those that the environment has or
/// inherits: one for each key.
fn found(view: &mut View) -> Vec<Found> {
    let own = view.chain.first_mut().map(|link| mem::take(&mut link.secrets)).unwrap_or_default();
    let inherited = visible(view).into_iter();
    let mut inherited: BTreeMap<_, _> =
        inherited.map(|seen| (seen.secret.key.clone(), seen)).collect();
    let mut found = Vec::with_capacity(own.len());
    for secret in own {
        let instead_of = inherited.remove(&secret.key);
        let from = instead_of.filter(|other| !other.secret.hidden);
        let from = from.and_then(|other| other.inherited_from);
        let state = match (secret.hidden, &from) {
            (true, _) => SecretState::Hidden,
            (false, Some(_)) => SecretState::Override,
            (false, None) => SecretState::Own,
        };
        found.push(Found { secret, state, from, is_restricted: false });
    }
    for Visible { secret, inherited_from, is_restricted } in inherited.into_values() {
        let state =
            if secret.hidden { SecretState::InheritedHidden } else { SecretState::Inherited };
        found.push(Found { secret, state, from: inherited_from, is_restricted });
    }
    found
}

/// Builds the cell for a secret that the caller may not read.
fn restricted(
    secret: &SecretRecord,
    origin: (SecretState, Option<EnvironmentName>),
) -> ComparedSecret {
    ComparedSecret { restricted: true, ..cell(secret, origin) }
}

/// Builds the cell for a secret. The fields `description`, `rotation`, `group` and `updated_by` are
/// empty.
fn cell(
    secret: &SecretRecord,
    (state, from): (SecretState, Option<EnvironmentName>),
) -> ComparedSecret {
    ComparedSecret {
        state,
        from,
        version: secret.version,
        description: None,
        rotation: None,
        restricted: false,
        group: None,
        updated_at: secret.updated_at,
        updated_by: None,
    }
}
