//! Secrets of an environment, as they were when the user began to edit them.

use secrets_core::model::SecretKey;

use super::document::Entry;
use crate::failure::Failure;
use crate::invocation::Place;
use crate::secret_list::{self, Secret};
use crate::service::Service;

/// Note about a key that the environment hides.
const HIDDEN: &str = "hidden";

/// Secrets of an environment at a point in time.
#[derive(Debug)]
pub(crate) struct Environment {
    /// Project and environment of the secrets.
    pub(crate) place: Place,
    /// Secrets that the environment holds itself.
    pub(crate) own: Vec<Secret>,
    /// Keys that the environment inherits or hides, each with a note about its origin.
    pub(crate) others: Vec<(SecretKey, String)>,
}

impl Environment {
    /// Loads the secrets of an environment, with their values.
    pub(crate) async fn load(service: &Service, place: &Place) -> Result<Self, Failure> {
        let secrets = secret_list::export(service, place).await?;
        let listed = secret_list::list(service, place).await?;
        let (inherited, own): (Vec<_>, Vec<_>) =
            secrets.into_iter().partition(|secret| secret.inherited_from.is_some());
        let mut others: Vec<_> = inherited
            .into_iter()
            .map(|secret| {
                let from = secret.inherited_from.unwrap_or_default();
                (secret.key, format!("from {from}"))
            })
            .collect();
        let hidden = listed.into_iter().filter(|secret| secret.hidden);
        let hidden = hidden.filter_map(|secret| secret.key.parse().ok());
        others.extend(hidden.map(|key| (key, HIDDEN.to_owned())));
        others.sort();
        Ok(Self { place: place.clone(), own, others })
    }

    /// Returns the secret with this key that the environment itself holds.
    pub(crate) fn own(&self, key: &SecretKey) -> Option<&Secret> {
        self.own.iter().find(|secret| secret.key == *key)
    }

    /// True if the environment hides the key.
    pub(crate) fn is_hidden(&self, key: &SecretKey) -> bool {
        self.others.iter().any(|(other, note)| other == key && note == HIDDEN)
    }

    /// Returns the entries of the document: the secrets that the environment holds itself.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.own.iter().map(Entry::from).collect()
    }
}
