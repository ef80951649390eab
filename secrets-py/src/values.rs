//! Conversion between Python objects and the JSON values of the operation registry.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use secrets_core::model::Error;
use serde_json::{Map, Number, Value};
use zeroize::Zeroize;

use crate::{failure, hidden};

/// Python function `secrets_service._input.encoded`, which converts a `datetime` to a string.
static ENCODED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Maximum nesting of objects and arrays; `serde_json` has the same limit when it parses JSON.
const MAX_DEPTH: usize = 127;

/// Converts the input of an operation from Python objects to JSON, as Python's `json.dumps` does. A
/// `datetime` becomes a string.
pub(crate) fn from_python(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(given, MAX_DEPTH)
}

/// Converts a Python object to JSON. Fails if the object has more than `depth` levels of nested
/// objects and arrays.
fn nested(given: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    let py = given.py();
    if let Ok(text) = given.cast::<PyString>() {
        return text_of(text).map(Value::String);
    }
    if given.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(number) = given.cast::<PyInt>() {
        return whole(number).map(Value::Number).ok_or_else(|| not_json(py));
    }
    if let Ok(number) = given.cast::<PyFloat>() {
        return Number::from_f64(number.value()).map(Value::Number).ok_or_else(|| not_json(py));
    }
    let encoded = |given: Bound<'_, PyAny>| {
        let depth = depth.checked_sub(1).ok_or_else(|| not_json(given.py()))?;
        nested(&given, depth)
    };
    if let Ok(fields) = given.cast::<PyDict>() {
        // A copy: another thread may change the dict while a time is converted.
        let fields = fields.items().into_iter().map(|field| {
            let (name, field) = field.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let name = name.cast::<PyString>().map_err(|_| not_text())?;
            Ok((text_of(name)?, encoded(field)?))
        });
        return fields.collect::<PyResult<Map<_, _>>>().map(Value::Object);
    }
    if let Ok(items) = given.cast::<PyList>() {
        return items.iter().map(encoded).collect::<PyResult<_>>().map(Value::Array);
    }
    if let Ok(items) = given.cast::<PyTuple>() {
        return items.iter().map(encoded).collect::<PyResult<_>>().map(Value::Array);
    }
    let encode = ENCODED.import(py, "secrets_service._input", "encoded")?;
    text_of(encode.call1((given,))?.cast()?).map(Value::String)
}

/// Converts a Python string to a Rust string. Fails if the string contains lone surrogates, which
/// UTF-8 cannot represent.
fn text_of(text: &Bound<'_, PyString>) -> PyResult<String> {
    text.to_str().map(str::to_owned).map_err(|_| not_json(text.py()))
}

fn whole(number: &Bound<'_, PyInt>) -> Option<Number> {
    if let Ok(number) = number.extract::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = number.extract::<u64>() {
        return Some(number.into());
    }
    Number::from_f64(number.extract().ok()?)
}

fn not_json(py: Python<'_>) -> PyErr {
    failure::refused(py, &Error::invalid("body", "must be a JSON document"), 0)
}

fn not_text() -> PyErr {
    PyTypeError::new_err("keys must be strings")
}

/// Converts the output of an operation from JSON to Python objects. Replaces secret strings by
/// `Hidden` strings, and overwrites the memory of the JSON strings with zeros.
pub(crate) fn into_python(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, flag).to_owned().into_any(),
        Value::Number(number) => number_of(py, &number)?,
        Value::String(mut text) => {
            let made = PyString::new(py, &text);
            text.zeroize();
            made.into_any()
        }
        Value::Array(items) => {
            let made = PyList::empty(py);
            for item in items {
                made.append(into_python(py, item)?)?;
            }
            made.into_any()
        }
        Value::Object(fields) => {
            let made = PyDict::new(py);
            for (name, field) in fields {
                made.set_item(name, into_python(py, field)?)?;
            }
            hidden::hide(made)?.into_any()
        }
    })
}

fn number_of<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    if let Some(number) = number.as_i64() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    if let Some(number) = number.as_u64() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    Ok(PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any())
}
