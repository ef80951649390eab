//! Path parameters and query parameters of a request.

use secrets_core::model::{Code, EnvironmentPath, Error, FieldError, ProjectRef, ids};
use uuid::Uuid;

/// Decoded path parameters and query parameters of a request.
pub struct Target {
    parameters: Vec<(&'static str, String)>,
    query: Vec<(String, String)>,
}

impl Target {
    /// Creates the parameters of a request from its path parameters and its query. A malformed
    /// query is treated as empty.
    pub fn new(parameters: Vec<(&'static str, String)>, query: Option<&str>) -> Self {
        // Form-decoded, because External Secrets Operator encodes a space as `+`.
        let query =
            query.and_then(|query| serde_urlencoded::from_str(query).ok()).unwrap_or_default();
        Self { parameters, query }
    }

    /// Returns a path parameter. The result is empty only if the route has no parameter with this
    /// name.
    pub fn parameter(&self, name: &str) -> &str {
        let found = self.parameters.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Parses a path parameter as an ID. Returns `None` if the text is not a valid ID; such a
    /// resource counts as unknown.
    pub fn id<T: From<Uuid>>(&self, name: &str) -> Option<T> {
        ids::parse(self.parameter(name)).map(Into::into)
    }

    /// Returns the project that the path names, by ID or slug.
    pub fn project(&self) -> ProjectRef {
        self.parameter("projectId").into()
    }

    /// Returns the environment that the path names, with its project.
    pub fn environment(&self) -> EnvironmentPath {
        EnvironmentPath::new(self.project(), self.parameter("environmentId"))
    }

    /// Returns the value of a query parameter; `None` if it is absent. Fails if the parameter is
    /// given twice. Unknown parameters are ignored.
    pub fn query(&self, name: &str) -> Result<Option<&str>, Error> {
        let mut values = self.queries(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(Error::invalid(name, "must be given once"));
        }
        Ok(first)
    }

    /// Returns all values of a query parameter that may be repeated.
    pub fn queries(&self, name: &str) -> impl Iterator<Item = &str> {
        let parts = self.query.iter().filter(move |(known, _)| known == name);
        parts.map(|(_, value)| value.as_str())
    }

    /// Parses the value of a query parameter as `true` or `false`.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.query(name)? {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Error::invalid(name, "must be true or false")),
        }
    }

    /// Parses the value of a query parameter as a whole number.
    pub fn number(&self, name: &str) -> Result<Option<u32>, Error> {
        let Some(text) = self.query(name)? else { return Ok(None) };
        let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|text| text.parse().ok());
        number.map(Some).ok_or_else(|| Error::invalid(name, "must be a whole number"))
    }

    /// Returns the values of required query parameters. The error lists all missing parameters.
    pub fn required<const N: usize>(&self, names: [&'static str; N]) -> Result<[&str; N], Error> {
        let mut values = [""; N];
        let mut missing = Vec::new();
        for (slot, name) in values.iter_mut().zip(names) {
            match self.query(name)? {
                Some(value) if !value.is_empty() => *slot = value,
                _ => missing.push(FieldError::new(
                    name,
                    Code::InvalidRequest,
                    "is a required query parameter",
                )),
            }
        }
        if missing.is_empty() { Ok(values) } else { Err(Error::Invalid(missing)) }
    }
}
