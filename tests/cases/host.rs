//! Hosts: the ways in which a test runs the calls of a behavioural case, such as directly or over
//! HTTP.

use async_trait::async_trait;
use secrets_core::engine::Caller;
use secrets_core::model::{ErrorBody, Identity, Origin};
use secrets_core::registry;
use secrets_tests::{App, Kind};
use serde_json::{Map, Value, json};

/// Caller of an operation.
pub(crate) enum Who<'a> {
    /// User with this e-mail address.
    Person(&'a str),
    /// Service token, given as the token string.
    Token(&'a str),
}

/// Error that a call returned, reduced to the parts that a case can check.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    pub(crate) kind: String,
    pub(crate) code: String,
    pub(crate) fields: Vec<String>,
}

/// Way to run the calls of a behavioural case, such as directly or over HTTP.
#[async_trait]
pub(crate) trait Host {
    /// Calls the operation with this name, such as `secret.get`. `who` is the caller.
    async fn call(
        &self,
        who: Who<'_>,
        name: &str,
        input: Map<String, Value>,
    ) -> Result<Value, Failure>;
}

/// Host that calls operations directly through the operation registry, without HTTP.
pub(crate) struct Registry {
    app: App,
}

impl Registry {
    pub(crate) async fn start(kind: Kind) -> Self {
        Self { app: App::start(kind).await }
    }

    async fn caller(&self, who: Who<'_>) -> secrets_core::model::Result<Caller> {
        match who {
            Who::Person(email) => {
                let identity = Identity::new("https://id.test", email, email);
                self.app.service.identify(identity, Origin::default()).await
            }
            Who::Token(text) => self.app.service.authenticate(text, Origin::default()).await,
        }
    }
}

#[async_trait]
impl Host for Registry {
    async fn call(
        &self,
        who: Who<'_>,
        name: &str,
        input: Map<String, Value>,
    ) -> Result<Value, Failure> {
        let caller = self.caller(who).await.map_err(|error| Failure::of(&error))?;
        let outcome = registry::call(&self.app.service, &caller, name, input.into()).await;
        outcome.map_err(|error| Failure::of(&error))
    }
}

impl Failure {
    fn of(error: &secrets_core::model::Error) -> Self {
        let body = json!(ErrorBody::of(error));
        Self { kind: error.kind().to_owned(), ..Self::from_body(&body) }
    }

    /// Parses the body of an error response. The body does not contain the kind of the error, so the
    /// caller must set `kind`.
    pub(crate) fn from_body(body: &Value) -> Self {
        let fields = body["details"]["fields"].as_array().into_iter().flatten();
        Self {
            kind: String::new(),
            code: body["code"].as_str().unwrap_or_default().to_owned(),
            fields: fields.map(|field| field["field"].as_str().unwrap().to_owned()).collect(),
        }
    }
}
