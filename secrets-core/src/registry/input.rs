//! Input of a call by name: a JSON object.

use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::model::whole::Whole;
use crate::model::{EnvironmentPath, Error, ProjectRef, Result, document, ids};
use crate::secrets::KeyRef;

/// A JSON object whose fields are consumed one by one: first the fields that the HTTP API takes
/// from the path or query, then the rest, which it takes from the body.
pub(super) struct Input(Map<String, Value>);

impl Input {
    /// Creates the input from a JSON value. Fails unless the value is an object.
    pub(super) fn new(given: Value) -> Result<Self> {
        match given {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(Error::invalid("body", "must be an object")),
        }
    }

    /// Fails if fields are left, so that a misspelled field name is an error.
    pub(super) fn end(self) -> Result<()> {
        match self.0.keys().next() {
            None => Ok(()),
            // Do not repeat the field name: it could be a secret value in the wrong place.
            Some(_) => Err(Error::invalid("body", "has a field that is not known here")),
        }
    }

    /// Takes a required string.
    pub(super) fn text(&mut self, name: &str) -> Result<String> {
        self.text_if_any(name)?.ok_or_else(|| Error::invalid(name, "is required"))
    }

    /// Takes an optional string. Null counts as absent.
    pub(super) fn text_if_any(&mut self, name: &str) -> Result<Option<String>> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::invalid(name, "must be a string")),
        }
    }

    /// Takes a string or an array of strings.
    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        let Some(Value::Array(items)) = self.0.get_mut(name) else {
            return Ok(self.text_if_any(name)?.into_iter().collect());
        };
        let items = std::mem::take(items);
        self.0.remove(name);
        let texts = items.into_iter().map(|item| match item {
            Value::String(text) => Some(text),
            _ => None,
        });
        let texts: Option<Vec<_>> = texts.collect();
        texts.ok_or_else(|| Error::invalid(name, "must be strings"))
    }

    /// Takes an optional string and parses it with `parse`.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T>,
    ) -> Result<Option<T>> {
        self.text_if_any(name)?.map(|text| parse(&text)).transpose()
    }

    /// Takes a required ID; `None` if the given text is not a valid ID, which is treated as an
    /// unknown resource.
    pub(super) fn id<T: From<Uuid>>(&mut self, name: &str) -> Result<Option<T>> {
        Ok(ids::parse(&self.text(name)?).map(Into::into))
    }

    /// Takes an optional ID, used as a filter. Fails if the text is not a valid ID.
    pub(super) fn id_if_any<T: From<Uuid>>(&mut self, name: &str) -> Result<Option<T>> {
        self.parsed(name, |text| {
            ids::parse(text).map(Into::into).ok_or_else(|| Error::invalid(name, "must be a UUID"))
        })
    }

    /// Takes a project reference from the field `project`.
    pub(super) fn project(&mut self) -> Result<ProjectRef> {
        Ok(self.text("project")?.into())
    }

    /// Takes an environment path from the fields `project` and `environment`.
    pub(super) fn environment(&mut self) -> Result<EnvironmentPath> {
        self.environment_as("environment")
    }

    /// Takes an environment path: the project from the field `project`, the environment from the
    /// field `name`.
    pub(super) fn environment_as(&mut self, name: &str) -> Result<EnvironmentPath> {
        Ok(EnvironmentPath::new(self.project()?, self.text(name)?))
    }

    /// Takes a secret key from the field `key`. Any text is accepted: an invalid key matches no
    /// secret.
    pub(super) fn key(&mut self) -> Result<KeyRef> {
        Ok(KeyRef::new(&self.text("key")?))
    }

    /// Takes an optional Boolean.
    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(Error::invalid(name, "must be true or false")),
        }
    }

    /// Takes an optional unsigned integer.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u32>> {
        let number = match self.0.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(given) => Whole::deserialize(given).ok(),
        };
        let number = number.and_then(|Whole(number)| u32::try_from(number).ok());
        number.map(Some).ok_or_else(|| Error::invalid(name, "must be a whole number"))
    }

    /// Takes all remaining fields and deserializes them like an HTTP body.
    pub(super) fn rest<T: DeserializeOwned>(&mut self) -> Result<T> {
        let rest = serde_json::to_vec(&std::mem::take(&mut self.0)).map(Zeroizing::new);
        document::read(&rest.map_err(Error::internal)?)
    }

    /// Takes all remaining fields, or returns the default if there are none.
    pub(super) fn rest_if_any<T: DeserializeOwned + Default>(&mut self) -> Result<T> {
        if self.0.is_empty() { Ok(T::default()) } else { self.rest() }
    }
}
