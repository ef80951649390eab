//! Reader for the manifest of a Kubernetes Secret, in YAML or JSON.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::{Entry, Found};

/// Maximum size of a manifest, in bytes. Kubernetes limits the values of a Secret to 1 MiB, before
/// base64.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of opening brackets in a manifest. The YAML library takes a long time to parse
/// many nested brackets.
const MAX_BRACKETS: usize = 256;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    kind: String,
    #[serde(default)]
    data: BTreeMap<String, Zeroizing<String>>,
    #[serde(default)]
    string_data: BTreeMap<String, String>,
}

/// Reads the fields `data` and `stringData` of a manifest with one Secret.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if text.len() > MAX_BYTES || brackets > MAX_BRACKETS {
        return Err("must be at most 4 MiB with at most 256 opening brackets".to_owned());
    }
    let manifest: Manifest = yaml_serde::from_str(text)
        .map_err(|_| "must be one manifest with texts in `data` or `stringData`".to_owned())?;
    if manifest.kind != "Secret" {
        return Err("must be of the kind Secret".to_owned());
    }
    let mut found = Found::default();
    for (name, value) in &manifest.data {
        let text = STANDARD.decode(value.trim()).ok().and_then(|b| String::from_utf8(b).ok());
        found.entries.push(match text {
            Some(text) => Entry::text(name, text),
            None => Entry {
                name: name.clone(),
                value: Err("the value must be base64 of text in UTF-8".to_owned()),
                description: None,
            },
        });
    }
    let strings = manifest.string_data.into_iter();
    found.entries.extend(strings.map(|(name, value)| Entry::text(name, value)));
    Ok(found)
}
