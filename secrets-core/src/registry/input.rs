//! What an operation is asked with.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::model::{EnvironmentPath, Error, ProjectRef, Result, document, ids};
use crate::secrets::KeyRef;

/// An object whose fields are taken one after the other: first those that say where, then the rest,
/// which is what HTTP has in a body.
pub(super) struct Input(Map<String, Value>);

impl Input {
    /// What was given must be an object.
    pub(super) fn new(given: Value) -> Result<Self> {
        match given {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(Error::invalid("body", "must be an object")),
        }
    }

    /// Refuses what nobody took: a field that is misspelt changes nothing silently.
    pub(super) fn end(self) -> Result<()> {
        match self.0.keys().next() {
            None => Ok(()),
            // A name could be a value that went astray.
            Some(_) => Err(Error::invalid("body", "has a field that is not known here")),
        }
    }

    /// A text that must be there.
    pub(super) fn text(&mut self, name: &str) -> Result<String> {
        self.text_if_any(name)?.ok_or_else(|| Error::invalid(name, "is required"))
    }

    /// A text; null is none.
    pub(super) fn text_if_any(&mut self, name: &str) -> Result<Option<String>> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::invalid(name, "must be a string")),
        }
    }

    /// A text or several.
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

    /// A text that is made into something else by its own rule.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T>,
    ) -> Result<Option<T>> {
        self.text_if_any(name)?.map(|text| parse(&text)).transpose()
    }

    /// An id that must be there; what is none names nothing.
    pub(super) fn id<T: From<Uuid>>(&mut self, name: &str) -> Result<Option<T>> {
        Ok(ids::parse(&self.text(name)?).map(Into::into))
    }

    /// An id that narrows what is asked for.
    pub(super) fn id_if_any<T: From<Uuid>>(&mut self, name: &str) -> Result<Option<T>> {
        self.parsed(name, |text| {
            ids::parse(text).map(Into::into).ok_or_else(|| Error::invalid(name, "must be a UUID"))
        })
    }

    /// The project that is named.
    pub(super) fn project(&mut self) -> Result<ProjectRef> {
        Ok(self.text("project")?.into())
    }

    /// The environment that is named.
    pub(super) fn environment(&mut self) -> Result<EnvironmentPath> {
        self.environment_as("environment")
    }

    /// The environment that is named by a field of another name.
    pub(super) fn environment_as(&mut self, name: &str) -> Result<EnvironmentPath> {
        Ok(EnvironmentPath::new(self.project()?, self.text(name)?))
    }

    /// The key that is named.
    pub(super) fn key(&mut self) -> Result<KeyRef> {
        Ok(KeyRef::new(&self.text("key")?))
    }

    /// True or false.
    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(Error::invalid(name, "must be true or false")),
        }
    }

    /// A whole number.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u32>> {
        let number = match self.0.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(given) => given.as_u64().and_then(|number| u32::try_from(number).ok()),
        };
        number.map(Some).ok_or_else(|| Error::invalid(name, "must be a whole number"))
    }

    /// All that is left, read as HTTP reads a body.
    pub(super) fn rest<T: DeserializeOwned>(&mut self) -> Result<T> {
        let rest = serde_json::to_vec(&std::mem::take(&mut self.0)).map(Zeroizing::new);
        document::read(&rest.map_err(Error::internal)?)
    }

    /// All that is left, or what stands for nothing.
    pub(super) fn rest_if_any<T: DeserializeOwned + Default>(&mut self) -> Result<T> {
        if self.0.is_empty() { Ok(T::default()) } else { self.rest() }
    }
}
