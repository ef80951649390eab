//! Reader for the output of `sops -d FILE`: the decrypted file, in the format it had before.

use std::path::Path;

use secrets_core::formats::Form;

use super::{Found, Source, by_core, detect};

/// Prefix of values that sops has encrypted.
const ENCRYPTED: &str = "ENC[AES256_GCM,";

/// Reads a file that sops has decrypted, as JSON, YAML or dotenv.
pub(super) fn read(text: &str) -> Result<Found, String> {
    if text.contains(ENCRYPTED) {
        return Err("is encrypted; pipe the output of `sops -d FILE`".to_owned());
    }
    match detect::source(Path::new("-"), text) {
        Source::Dotenv => by_core(Form::Dotenv, text),
        Source::Yaml => by_core(Form::Yaml, text),
        _ => by_core(Form::Json, text),
    }
}
