//! Text formats of secrets, such as dotenv: parsing and rendering.

use std::str::FromStr;

use js_sys::Error;
use secrets_core::crypto::Plaintext;
use secrets_core::formats::{Form, Format, ObjectName};
use secrets_core::model::{Error as Refused, SecretKey, Violation};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

use crate::failure::refused;
use crate::json::{from_js, to_js};

/// Secret key and value as a JavaScript object.
#[derive(Serialize, Deserialize)]
struct Pair {
    key: String,
    value: String,
}

/// Parses the secrets in a text of the given format. Their order is kept.
#[wasm_bindgen(skip_typescript)]
pub fn parse(text: &str, format: &str) -> Result<JsValue, Error> {
    let secrets = known::<Form>(format).and_then(|form| form.read(text, "text"));
    let pairs: Vec<Pair> = secrets.map_err(|error| refused(&error))?.iter().map(pair).collect();
    to_js(&pairs)
}

/// Renders secrets as text in a format. `name` is the name of the Kubernetes Secret, for the format
/// `k8s`.
#[wasm_bindgen(skip_typescript)]
pub fn render(secrets: &JsValue, format: &str, name: Option<String>) -> Result<String, Error> {
    let secrets: Vec<Pair> = from_js("secrets", secrets)?;
    let text = write(secrets, format, &name.unwrap_or_else(|| "secrets".to_owned()));
    text.map_err(|error| refused(&error))
}

fn write(secrets: Vec<Pair>, format: &str, name: &str) -> Result<String, Refused> {
    let format: Format = known(format)?;
    let name: ObjectName = name.parse().map_err(|rule| broken(rule, "name"))?;
    let secrets = (0..).zip(secrets).map(|(index, pair)| secret(index, pair));
    let secrets = secrets.collect::<Result<Vec<_>, _>>()?;
    Ok(format.render(&secrets, &name)?.to_string())
}

fn known<F: FromStr<Err = &'static str>>(format: &str) -> Result<F, Refused> {
    format.parse().map_err(|rule| Refused::invalid("format", rule))
}

fn pair((key, value): &(SecretKey, Plaintext)) -> Pair {
    Pair { key: key.to_string(), value: value.reveal().to_owned() }
}

fn secret(index: usize, pair: Pair) -> Result<(SecretKey, Plaintext), Refused> {
    let field = |name: &str| format!("secrets[{index}].{name}");
    let key = pair.key.parse().map_err(|rule| broken(rule, &field("key")))?;
    let value = Plaintext::new(pair.value).map_err(|rule| broken(rule, &field("value")))?;
    Ok((key, value))
}

fn broken(rule: Violation, field: &str) -> Refused {
    Refused::Invalid(vec![rule.at(field)])
}
