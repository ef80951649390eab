//! Imports as submitted by clients. The validation errors of all secrets are reported together.

use serde::{Deserialize, Deserializer};

use super::{Import, ImportedSecret};
use crate::crypto::{Description, Plaintext};
use crate::model::{Error, FieldError, Result, SecretKey, Violation, object};

/// Maximum number of validation errors in one response.
pub(super) const MAX_ERRORS: usize = 100;

/// Secrets to import, as submitted by the client. The values are not validated yet.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmittedImport {
    /// Secrets to import: 1 to 100, each secret key at most once.
    #[serde(deserialize_with = "object::bounded_list::<{ Import::MAX_SECRETS }, _, _>")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100))]
    secrets: Vec<SubmittedSecret>,
    /// True to replace the values of existing secrets. By default, existing secrets are left
    /// unchanged.
    overwrite: Option<bool>,
    /// True for a dry run: the response contains the effect on each secret, and nothing is
    /// imported. The default is `false`.
    dry_run: Option<bool>,
}

/// A secret to import.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct SubmittedSecret {
    /// Key (name) of the secret to import.
    #[cfg_attr(feature = "openapi", schema(value_type = SecretKey))]
    key: Checked<SecretKey>,
    /// Value of the secret.
    #[cfg_attr(feature = "openapi", schema(value_type = Plaintext))]
    value: Checked<Plaintext>,
    /// New description. If absent, an existing secret keeps its description.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Description>))]
    description: Option<Checked<Description>>,
}

/// Result of validating a string: the valid value, or the violated rule.
#[derive(Debug)]
pub(super) struct Checked<T>(pub(super) std::result::Result<T, Violation>);

impl TryFrom<SubmittedImport> for Import {
    type Error = Error;

    fn try_from(submitted: SubmittedImport) -> Result<Self> {
        let mut broken = Vec::new();
        let secrets = (0..).zip(submitted.secrets);
        let secrets =
            secrets.filter_map(|(index, secret)| secret.checked(index, &mut broken)).collect();
        if broken.is_empty() {
            let [overwrite, dry_run] =
                [submitted.overwrite, submitted.dry_run].map(Option::unwrap_or_default);
            return Ok(Self { secrets, overwrite, dry_run });
        }
        broken.truncate(MAX_ERRORS);
        Err(Error::Invalid(broken))
    }
}

impl SubmittedSecret {
    /// Validates one secret and appends its errors to `broken`. Returns `None` if the secret is
    /// invalid. An error includes the secret key only if the key is valid.
    fn checked(self, index: usize, broken: &mut Vec<FieldError>) -> Option<ImportedSecret> {
        let Self { key: Checked(key), value: Checked(value), description } = self;
        let description = description.map(|Checked(description)| description).transpose();
        let name = key.as_ref().ok().map(ToString::to_string);
        let rules = [
            ("key", key.as_ref().err()),
            ("value", value.as_ref().err()),
            ("description", description.as_ref().err()),
        ];
        for (field, rule) in rules {
            let Some(rule) = rule else { continue };
            let error = rule.at(format!("secrets[{index}].{field}"));
            broken.push(FieldError { key: name.clone(), ..error });
        }
        Some(ImportedSecret { key: key.ok()?, value: value.ok()?, description: description.ok()? })
    }
}

impl<'de, T: TryFrom<String, Error = Violation>> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(text.try_into()))
    }
}
