//! Hidden fields of an output: their strings are replaced by `secrets_service.Hidden` strings,
//! which are not shown in logs.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};

/// Names of the JSON fields whose strings are hidden, at any depth of an output.
const FIELDS: [&str; 8] =
    ["accept_url", "access_token", "device_code", "passphrase", "secret", "text", "token", "value"];

/// Prefix of a bundle key. The string in a field `key` is hidden only if it begins with this
/// prefix; otherwise the field contains the name of a secret.
const BUNDLE_KEY: &str = "scbk_";

/// Names of the hidden fields as Python strings, created once per process.
struct Names {
    fields: Vec<Py<PyString>>,
    secrets: Py<PyString>,
    key: Py<PyString>,
}

/// Replaces the strings in the hidden fields of a JSON object by `Hidden` strings, and returns the
/// object.
#[pyfunction]
pub(crate) fn hide(fields: Bound<'_, PyDict>) -> PyResult<Bound<'_, PyDict>> {
    static NAMES: PyOnceLock<Names> = PyOnceLock::new();
    let py = fields.py();
    let names = NAMES.get_or_init(py, || {
        let name = |name| PyString::intern(py, name).unbind();
        Names { fields: FIELDS.map(name).into(), secrets: name("secrets"), key: name("key") }
    });
    for name in &names.fields {
        hide_text(&fields, name.bind(py).as_any())?;
    }
    // A map of values by key.
    if let Some(values) = fields.get_item(&names.secrets)?
        && let Ok(values) = values.cast_exact::<PyDict>()
    {
        for key in values.keys() {
            hide_text(values, &key)?;
        }
    }
    // Any other `key` is the name of a secret.
    if let Some(key) = fields.get_item(&names.key)?
        && let Ok(key) = key.cast_exact::<PyString>()
        && key.to_str().is_ok_and(|text| text.starts_with(BUNDLE_KEY))
    {
        fields.set_item(&names.key, hidden(key)?)?;
    }
    Ok(fields)
}

/// Replaces the string in a field by a `Hidden` string. Does nothing if the object has no such
/// field, or the field is not a string.
fn hide_text(fields: &Bound<'_, PyDict>, name: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Some(text) = fields.get_item(name)?
        && let Ok(text) = text.cast_exact::<PyString>()
    {
        fields.set_item(name, hidden(text)?)?;
    }
    Ok(())
}

fn hidden<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    static HIDDEN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    HIDDEN.import(text.py(), "secrets_service._hidden", "Hidden")?.call1((text,))
}
