//! An import as it is submitted: what breaks a rule is told for all of its secrets at once.

use serde::{Deserialize, Deserializer};

use super::{Import, ImportedSecret};
use crate::crypto::{Description, Plaintext};
use crate::model::{Broken, Error, FieldError, Result, SecretKey, object};

/// The most rules broken that are told of one import.
const TOLD: usize = 100;

/// An import whose fields are there and text, and may still break rules.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmittedImport {
    #[serde(deserialize_with = "object::list")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100))]
    secrets: Vec<SubmittedSecret>,
    overwrite: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct SubmittedSecret {
    #[cfg_attr(feature = "openapi", schema(value_type = SecretKey))]
    key: Checked<SecretKey>,
    #[cfg_attr(feature = "openapi", schema(value_type = Plaintext))]
    value: Checked<Plaintext>,
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Description>))]
    description: Option<Checked<Description>>,
}

/// A text that was held against its rule.
#[derive(Debug)]
struct Checked<T>(std::result::Result<T, Broken>);

impl TryFrom<SubmittedImport> for Import {
    type Error = Error;

    fn try_from(submitted: SubmittedImport) -> Result<Self> {
        let mut broken = Vec::new();
        let secrets = (0..).zip(submitted.secrets);
        let secrets =
            secrets.filter_map(|(index, secret)| secret.checked(index, &mut broken)).collect();
        if broken.is_empty() {
            return Ok(Self { secrets, overwrite: submitted.overwrite.unwrap_or_default() });
        }
        broken.truncate(TOLD);
        Err(Error::Invalid(broken))
    }
}

impl SubmittedSecret {
    /// The secret, unless it breaks a rule. Its key is told only where it is one.
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

impl<'de, T: TryFrom<String, Error = Broken>> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(text.try_into()))
    }
}
