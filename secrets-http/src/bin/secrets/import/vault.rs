//! Reader for the output of `vault kv get -format=json`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Entry, Found, ReadOptions, json};

#[derive(Deserialize)]
struct Document {
    data: Map<String, Value>,
}

/// Reads the secrets in the JSON output of Vault: in `data.data` (KV engine version 2) or in `data`
/// (version 1).
pub(super) fn read(text: &str, options: ReadOptions) -> Result<Found, String> {
    let Document { data } = json(text, "the JSON output of `vault kv get`")?;
    let inner = match (data.get("data"), data.get("metadata")) {
        (Some(Value::Object(inner)), Some(Value::Object(_))) => inner,
        (Some(Value::Null), Some(Value::Object(_))) => {
            return Err("this version of the secret is deleted".to_owned());
        }
        _ => &data,
    };
    let entry = |(name, value): (&String, &Value)| Entry::json(name, value, options.stringify);
    Ok(Found { entries: inner.iter().map(entry).collect(), notes: Vec::new() })
}
