//! Secrets to import, in whichever form they come.

use secrets_core::crypto::Plaintext;
use secrets_core::error::{Error, FieldError};
use secrets_core::formats::{BadDocument, dotenv, parse_json, parse_yaml};
use secrets_core::names::SecretKey;
use secrets_core::secrets::{Import, ImportedSecret, SubmittedImport};

use crate::body::Body;
use crate::fault::Fault;
use crate::target::Target;

/// How the secrets of an import are written, where that is no import request.
enum Form {
    Dotenv,
    Json,
    Yaml,
}

/// Secrets to import: a request in JSON, or, as `?format=` or the media type says, a `.env` file or
/// a plain object in JSON or YAML, with `?overwrite=`.
pub(super) async fn read(target: &Target, body: Body) -> Result<Import, Fault> {
    let form = form(target, &body)?;
    let overwrite = target.flag("overwrite")?.unwrap_or_default();
    let Some(form) = form else {
        return Ok(body.json::<SubmittedImport>().await?.try_into()?);
    };
    let text = body.text().await?;
    let secrets = match form {
        Form::Dotenv => {
            dotenv::parse(&text).map_err(|bad| Error::invalid("body", bad.to_string()))?
        }
        Form::Json => parse_json(&text).map_err(bad)?,
        Form::Yaml => parse_yaml(&text).map_err(bad)?,
    };
    Ok(Import { secrets: secrets.into_iter().map(imported).collect(), overwrite })
}

fn form(target: &Target, body: &Body) -> Result<Option<Form>, Error> {
    match target.query("format")? {
        Some("dotenv") => Ok(Some(Form::Dotenv)),
        Some("json") => Ok(Some(Form::Json)),
        Some("yaml") => Ok(Some(Form::Yaml)),
        Some(_) => Err(Error::invalid("format", "must be dotenv, json or yaml")),
        None if body.is("text/plain") => Ok(Some(Form::Dotenv)),
        None if body.is("application/yaml") => Ok(Some(Form::Yaml)),
        None => Ok(None),
    }
}

fn imported((key, value): (SecretKey, Plaintext)) -> ImportedSecret {
    ImportedSecret { key, value, description: None }
}

fn bad(bad: BadDocument) -> Error {
    match bad {
        BadDocument::NoObject | BadDocument::TooMuch => Error::invalid("body", bad.to_string()),
        BadDocument::Entry { index, key, is_key, broken } => {
            let field = if is_key { "key" } else { "value" };
            let error = broken.at(format!("secrets[{index}].{field}"));
            Error::Invalid(vec![FieldError { key: key.map(Into::into), ..error }])
        }
    }
}
