//! Parsing and writing of the text formats for import and export, with the same errors for all host
//! applications.

use std::str::FromStr;

use zeroize::Zeroizing;

use super::{BadDocument, Format, ObjectName, Unfit, documents, dotenv};
use crate::crypto::Plaintext;
use crate::model::{Code, Error, FieldError, Result, SecretKey};

/// Text format from which secrets are imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A `.env` file.
    Dotenv,
    /// A JSON object.
    Json,
    /// A YAML mapping.
    Yaml,
}

impl Form {
    /// Parses the secrets in `text`, and returns them in the order of the text. Errors name
    /// `field`, the field of the request that contained the text.
    pub fn read(self, text: &str, field: &'static str) -> Result<Vec<(SecretKey, Plaintext)>> {
        self.read_at_most(text, field, usize::MAX)
    }

    /// Parses the first secrets in `text`, at most `max`, like [`read`](Self::read). The memory for
    /// the secrets is thus bounded, however many the text contains.
    pub fn read_at_most(
        self,
        text: &str,
        field: &'static str,
        max: usize,
    ) -> Result<Vec<(SecretKey, Plaintext)>> {
        match self {
            Self::Dotenv => dotenv::parse_at_most(text, max)
                .map_err(|bad| Error::invalid(field, bad.to_string())),
            Self::Json => {
                documents::json_at_most(text, max).map_err(|bad| document_error(bad, field))
            }
            Self::Yaml => {
                documents::yaml_at_most(text, max).map_err(|bad| document_error(bad, field))
            }
        }
    }
}

impl Format {
    /// Writes secrets like [`Format::write`]. The error names the secret keys that the format
    /// cannot represent and the violated rules, but no values.
    pub fn render(
        self,
        secrets: &[(SecretKey, Plaintext)],
        name: &ObjectName,
    ) -> Result<Zeroizing<String>> {
        self.write(secrets, name).map_err(unfit_error)
    }
}

fn document_error(bad: BadDocument, text: &'static str) -> Error {
    match bad {
        BadDocument::NoObject | BadDocument::TooMuch => Error::invalid(text, bad.to_string()),
        BadDocument::Entry { index, key, is_key, broken } => {
            let field = if is_key { "key" } else { "value" };
            let error = broken.at(format!("secrets[{index}].{field}"));
            Error::Invalid(vec![FieldError { key: key.map(Into::into), ..error }])
        }
    }
}

fn unfit_error(unfit: Vec<Unfit>) -> Error {
    let fields = unfit.into_iter().map(|Unfit { key, rule }| {
        let field = key.as_ref().map_or_else(|| "format".to_owned(), ToString::to_string);
        let error = FieldError::new(field, Code::InvalidRequest, rule);
        FieldError { key: key.map(Into::into), ..error }
    });
    Error::Invalid(fields.collect())
}

impl FromStr for Form {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text {
            "dotenv" => Ok(Self::Dotenv),
            "json" => Ok(Self::Json),
            "yaml" => Ok(Self::Yaml),
            _ => Err("must be dotenv, json or yaml"),
        }
    }
}
