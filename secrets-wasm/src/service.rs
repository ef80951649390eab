//! Service with a store in memory, and its sessions.

use std::sync::Arc;

use js_sys::{Array, Error, JsString, Object, Promise};
use secrets_core::crypto::Key;
use secrets_core::engine::Caller;
use secrets_core::model::{Identity, Origin, Result as CoreResult};
use secrets_core::registry;
use secrets_core::store::MemoryStore;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use zeroize::Zeroizing;

use crate::arguments::{Arguments, key};
use crate::clock::HostClock;
use crate::failure::{failure, refused};
use crate::json::{from_js, to_js};

/// Returns the names of all operations, such as `secret.create`.
#[must_use]
#[wasm_bindgen(js_name = operations, skip_typescript)]
pub fn operations() -> Array {
    registry::NAMES.iter().map(|name| JsString::from(*name)).collect()
}

/// Service with its data in memory. The data is lost when the page or process ends.
#[wasm_bindgen(skip_typescript)]
pub struct Service(Arc<secrets_core::Service>);

/// Session of a user or a token.
#[wasm_bindgen(skip_typescript)]
pub struct Session {
    service: Arc<secrets_core::Service>,
    credential: Arc<Credential>,
}

/// Credential of a session. Every call authenticates it again, so a revoked credential fails.
enum Credential {
    User(Identity),
    Token(Zeroizing<String>),
}

#[wasm_bindgen]
impl Service {
    /// Opens an empty service. `options` is `{rootKey?}`, with a root key of 32 bytes.
    pub fn memory(options: &JsValue) -> Result<Promise, Error> {
        let root = Arguments(options).get_if_any("rootKey", key)?.unwrap_or_else(Key::generate);
        Ok(future_to_promise(async move {
            let service = secrets_core::Service::builder(Arc::new(MemoryStore::new()))
                .root_key(&root)
                .clock(Arc::new(HostClock))
                .build()
                .await;
            let service = service.map_err(|error| failure("internal", &error.to_string()))?;
            Ok(Self(Arc::new(service)).into())
        }))
    }

    /// Signs in a user that the caller has authenticated: `{issuer, subject, email, name?}`. A new
    /// user gets an account and a personal team.
    #[wasm_bindgen(js_name = signIn)]
    pub fn sign_in(&self, person: &JsValue) -> Result<Promise, Error> {
        let given = Arguments(person);
        let text = |name| given.get(name, JsValue::as_string);
        let name = given.get_if_any("name", JsValue::as_string)?;
        let identity = Identity::new(text("issuer")?, text("subject")?, text("email")?);
        let identity = Identity { name, ..identity };
        let service = Arc::clone(&self.0);
        Ok(future_to_promise(async move {
            let signed_in = service.sign_in(identity.clone(), Origin::default()).await;
            signed_in.map_err(|error| refused(&error))?;
            Ok(Session { service, credential: Arc::new(Credential::User(identity)) }.into())
        }))
    }

    /// Creates a session for a service token (`env_…`) or a command line credential (`cli_…`).
    #[must_use]
    #[wasm_bindgen(js_name = asToken)]
    pub fn as_token(&self, text: String) -> Session {
        let credential = Arc::new(Credential::Token(Zeroizing::new(text)));
        Session { service: Arc::clone(&self.0), credential }
    }
}

#[wasm_bindgen]
impl Session {
    /// Calls the operation `name`, such as `secret.create`.
    pub fn call(&self, name: String, input: &JsValue) -> Result<Promise, Error> {
        let given = if input.is_undefined() { &Object::new().into() } else { input };
        let input: Value = from_js("input", given)?;
        let (service, credential) = (Arc::clone(&self.service), Arc::clone(&self.credential));
        Ok(future_to_promise(async move {
            let outcome = perform(&service, &credential, &name, input).await;
            Ok(to_js(&outcome.map_err(|error| refused(&error))?)?)
        }))
    }
}

async fn perform(
    service: &secrets_core::Service,
    credential: &Credential,
    name: &str,
    input: Value,
) -> CoreResult<Value> {
    let caller = caller(service, credential).await?;
    registry::call(service, &caller, name, input).await
}

async fn caller(service: &secrets_core::Service, credential: &Credential) -> CoreResult<Caller> {
    match credential {
        Credential::User(identity) => service.identify(identity.clone(), Origin::default()).await,
        Credential::Token(text) => service.authenticate(text, Origin::default()).await,
    }
}
