//! Requests for kinds of objects that are all listed, created, changed and deleted in the same way,
//! such as environments and tokens.

use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;
use crate::service::{Request, Service};

/// Kind of objects of the service, such as environments or tokens.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Noun for one object of this kind, used in messages.
    pub(crate) noun: &'static str,
    /// Field of a list response that contains the list of objects.
    pub(crate) list: &'static str,
    /// Field of an object that contains its ID.
    pub(crate) id: &'static str,
    /// Fields, besides the ID, by which an object can be named on the command line.
    pub(crate) names: &'static [&'static str],
    /// Columns of a printed list; the first column is the name of an object.
    pub(crate) columns: &'static [Column],
}

/// Sends requests for objects of one kind, and prints the responses.
pub(crate) struct Resource<'a> {
    cx: &'a Invocation,
    /// Client of the service.
    pub(crate) service: Service,
    kind: &'static Kind,
}

impl<'a> Resource<'a> {
    /// Creates a client of the service for objects of this kind.
    pub(crate) fn connect(cx: &'a Invocation, kind: &'static Kind) -> Result<Self, Failure> {
        Ok(Self { cx, service: cx.service()?, kind })
    }

    /// Prints the list of all objects at this path.
    pub(crate) async fn list(&self, path: &[&str]) -> Result<Outcome, Failure> {
        self.print_list(&self.service.value(path).await?)
    }

    /// Prints the object at this path.
    pub(crate) async fn show(&self, path: &[&str]) -> Result<Outcome, Failure> {
        self.print(&self.service.value(path).await?)
    }

    /// Creates an object, and prints it.
    pub(crate) async fn create(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<Outcome, Failure> {
        self.change(Method::POST, path, body).await
    }

    /// Changes the object at this path, and prints the changed object.
    pub(crate) async fn change(
        &self,
        method: Method,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<Outcome, Failure> {
        self.print(&self.service.call(method, path, body).await?)
    }

    /// Sends a POST request without a body, and prints the response.
    pub(crate) async fn post(&self, path: &[&str]) -> Result<Outcome, Failure> {
        self.print(&self.service.send(Request::new(Method::POST, path)).await?.json()?)
    }

    /// Deletes the object at this path, after asking `question` for confirmation unless `yes` is
    /// true.
    pub(crate) async fn delete(
        &self,
        path: &[&str],
        question: &str,
        yes: bool,
    ) -> Result<Outcome, Failure> {
        self.cx.output.confirm(question, yes)?;
        self.service.delete(path).await?;
        if self.cx.output.format.is_json() {
            self.cx.output.json(&json!({ "deleted": path.last() }))?;
        }
        self.cx.output.hint("done");
        Ok(Outcome::Done)
    }

    /// Prints a list response.
    pub(crate) fn print_list(&self, response: &Value) -> Result<Outcome, Failure> {
        self.cx.output.list(response, self.kind.list, self.kind.columns)?;
        Ok(Outcome::Done)
    }

    /// Prints one object.
    pub(crate) fn print(&self, object: &Value) -> Result<Outcome, Failure> {
        self.cx.output.object(object, self.kind.columns)?;
        Ok(Outcome::Done)
    }

    /// Returns the ID of the object with this name or ID. The objects are listed at this path.
    pub(crate) async fn id(&self, path: &[&str], name: &str) -> Result<String, Failure> {
        id(self.kind, &self.service.value(path).await?, name)
    }
}

/// Returns the ID of the object with this name or ID from a list response. An object whose ID
/// matches takes precedence over an object whose name matches.
pub(crate) fn id(kind: &Kind, response: &Value, name: &str) -> Result<String, Failure> {
    let objects = response.get(kind.list).unwrap_or(response).as_array();
    let objects = objects.map(Vec::as_slice).unwrap_or_default();
    let text = text_of;
    let id = |object| text(object, kind.id).map(str::to_owned);
    if let Some(object) = objects.iter().find(|object| text(object, kind.id) == Some(name)) {
        return id(object).ok_or_else(|| unknown(kind));
    }
    let is_named =
        |object: &&Value| kind.names.iter().any(|field| text(object, field) == Some(name));
    let mut named = objects.iter().filter(is_named);
    match (named.next(), named.next()) {
        (Some(object), None) => id(object).ok_or_else(|| unknown(kind)),
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "several {}s have this name; pass the ID instead",
            kind.noun
        ))),
        (None, _) => Err(unknown(kind)),
    }
}

fn unknown(kind: &Kind) -> Failure {
    let mut failure = Failure::new(Exit::NotFound, format!("{} not found", kind.noun));
    failure.code = Some("not_found".to_owned());
    failure
}

fn text_of<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get(field).and_then(Value::as_str)
}
