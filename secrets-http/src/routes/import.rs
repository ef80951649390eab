//! Parsing of the body of an import request, in each supported format.

use secrets_core::crypto::Plaintext;
use secrets_core::formats::Form;
use secrets_core::model::{Error, SecretKey};
use secrets_core::secrets::{Import, ImportedSecret, SubmittedImport};

use crate::serve::body::{BULK_LIMIT, Body};
use crate::serve::fault::Fault;
use crate::serve::request::Request;
use crate::serve::target::Target;

/// Reads the secrets to import from the request body.
///
/// The body is an import request in JSON, or a file: a `.env` file, or a plain object in JSON or
/// YAML. The query parameter `format`, or else the media type, selects the file format; `overwrite`
/// applies only to files. `dry_run` applies to import requests and files, so that a request with
/// this parameter never writes.
pub(super) async fn read(request: Request) -> Result<Import, Fault> {
    let head = request.head();
    let target = &head.target;
    let body = request.body(BULK_LIMIT);
    let form = requested_form(target, &body)?;
    let overwrite = target.flag("overwrite")?.unwrap_or_default();
    let dry_run = target.flag("dry_run")?.unwrap_or_default();
    let Some(form) = form else {
        let import: Import = body.json::<SubmittedImport>().await?.try_into()?;
        return Ok(Import { dry_run: dry_run || import.dry_run, ..import });
    };
    let text = body.text().await?;
    // If the file contains too many secrets, one more than the maximum is read, so that the import
    // is refused.
    let secrets = form.read_at_most(&text, "body", Import::MAX_SECRETS + 1)?;
    Ok(Import { secrets: secrets.into_iter().map(imported).collect(), overwrite, dry_run })
}

fn requested_form(target: &Target, body: &Body) -> Result<Option<Form>, Error> {
    match target.query("format")? {
        Some(name) => {
            name.parse().map(Some).map_err(|rule: &str| Error::invalid("format", rule.to_owned()))
        }
        None if body.is("text/plain") => Ok(Some(Form::Dotenv)),
        None if body.is("application/yaml") => Ok(Some(Form::Yaml)),
        None => Ok(None),
    }
}

fn imported((key, value): (SecretKey, Plaintext)) -> ImportedSecret {
    ImportedSecret { key, value, description: None }
}
