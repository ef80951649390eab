//! Input of an operation that is called by name: a JSON object.

use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::model::whole::Whole;
use crate::model::{EnvironmentPath, Error, ProjectRef, Result, document, ids};
use crate::secrets::KeyRef;

/// JSON input of an operation, whose fields are removed one by one as they are read. The fields
/// that the HTTP API takes from the path or query are read first; the remaining fields correspond
/// to the HTTP body.
pub(super) struct Input(Map<String, Value>);

impl Input {
    /// Creates the input from a JSON value. Fails if the value is not an object.
    pub(super) fn new(given: Value) -> Result<Self> {
        match given {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(Error::invalid("body", "must be an object")),
        }
    }

    /// Fails if any fields have not been read, so that a misspelled field name causes an error.
    pub(super) fn end(self) -> Result<()> {
        match self.0.keys().next() {
            None => Ok(()),
            // Do not repeat the field name: it could be a secret value in the wrong place.
            Some(_) => Err(Error::invalid("body", "has a field that is not known here")),
        }
    }

    /// Reads and removes a required string field.
    pub(super) fn text(&mut self, name: &str) -> Result<String> {
        self.text_if_any(name)?.ok_or_else(|| Error::invalid(name, "is required"))
    }

    /// Reads and removes an optional string field. Null counts as absent.
    pub(super) fn text_if_any(&mut self, name: &str) -> Result<Option<String>> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::invalid(name, "must be a string")),
        }
    }

    /// Reads and removes a field that is a string or an array of strings. Returns an empty list if
    /// the field is absent.
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

    /// Reads and removes an optional string field, and parses the string with `parse`.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T>,
    ) -> Result<Option<T>> {
        self.text_if_any(name)?.map(|text| parse(&text)).transpose()
    }

    /// Reads and removes a required ID field. Returns `None` if the string is not a valid ID.
    /// Operations treat `None` like the ID of an unknown resource.
    pub(super) fn id<T: From<Uuid>>(&mut self, name: &str) -> Result<Option<T>> {
        Ok(ids::parse(&self.text(name)?).map(Into::into))
    }

    /// Reads and removes an optional ID field, used as a filter. Fails if the string is not a valid
    /// ID.
    pub(super) fn id_if_any<T: From<Uuid>>(&mut self, name: &str) -> Result<Option<T>> {
        self.parsed(name, |text| {
            ids::parse(text).map(Into::into).ok_or_else(|| Error::invalid(name, "must be a UUID"))
        })
    }

    /// Reads and removes the field `project`, which is the ID or slug of a project.
    pub(super) fn project(&mut self) -> Result<ProjectRef> {
        Ok(self.text("project")?.into())
    }

    /// Reads and removes the fields `project` and `environment`, and returns the path of the
    /// environment.
    pub(super) fn environment(&mut self) -> Result<EnvironmentPath> {
        self.environment_as("environment")
    }

    /// Reads and removes the field `project` and the field with this name, which refers to an
    /// environment of the project. Returns the path of the environment.
    pub(super) fn environment_as(&mut self, name: &str) -> Result<EnvironmentPath> {
        Ok(EnvironmentPath::new(self.project()?, self.text(name)?))
    }

    /// Reads and removes the field `key`, which is a secret key. Accepts any string: an invalid key
    /// matches no secret.
    pub(super) fn key(&mut self) -> Result<KeyRef> {
        Ok(KeyRef::new(&self.text("key")?))
    }

    /// Reads and removes an optional Boolean field.
    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(Error::invalid(name, "must be true or false")),
        }
    }

    /// Reads and removes an optional field that is an unsigned integer.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u32>> {
        let number = match self.0.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(given) => Whole::deserialize(given).ok(),
        };
        let number = number.and_then(|Whole(number)| u32::try_from(number).ok());
        number.map(Some).ok_or_else(|| Error::invalid(name, "must be a whole number"))
    }

    /// Removes all remaining fields and deserializes them like an HTTP body.
    pub(super) fn rest<T: DeserializeOwned>(&mut self) -> Result<T> {
        let rest = serde_json::to_vec(&std::mem::take(&mut self.0)).map(Zeroizing::new);
        document::read(&rest.map_err(Error::internal)?)
    }

    /// Removes all remaining fields and deserializes them like an HTTP body. Returns the default
    /// value if no fields remain.
    pub(super) fn rest_if_any<T: DeserializeOwned + Default>(&mut self) -> Result<T> {
        if self.0.is_empty() { Ok(T::default()) } else { self.rest() }
    }
}
