//! Imitation of the webhook provider of the External Secrets Operator, limited to the functions
//! that the manifests use: templates, requests, `JSONPath`, and the meaning of a status. It follows
//! versions 1 and 2 of the operator (folder `providers/v1/webhook` of its source).

use std::collections::BTreeMap;

use hyper::Method;
use secrets_tests::Client;
use serde_json::{Map, Value};

/// Values that a template can use: for each object, its fields by name.
pub(super) type Data = BTreeMap<String, BTreeMap<String, String>>;

/// Reason why the operator got no value from the service.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoValue {
    /// The service responded with 404. The operator applies the `deletionPolicy`.
    Missing,
    /// The service responded with this other status. The operator then leaves the Kubernetes Secret
    /// unchanged.
    Failed(u16),
}

/// `SecretStore` resource, which defines the requests that the operator sends.
pub(super) struct Store {
    /// Field `spec.provider.webhook` of the manifest.
    pub(super) webhook: Value,
    /// Fields of the Kubernetes Secrets that the store resource refers to, by the name under which
    /// templates use the Secret.
    pub(super) secrets: Data,
    pub(super) client: Client,
}

impl Store {
    /// Requests one value, as the operator does for an entry of `data` in an `ExternalSecret`.
    pub(super) async fn value(&self, key: &str) -> Result<String, NoValue> {
        match self.fetch(key).await? {
            Value::String(text) => Ok(text),
            other => Ok(other.to_string()),
        }
    }

    /// Requests a map of values, as the operator does for `extract` in `dataFrom` of an
    /// `ExternalSecret`.
    pub(super) async fn values(&self, key: &str) -> Result<Map<String, Value>, NoValue> {
        let found = self.fetch(key).await?;
        Ok(found.as_object().unwrap().clone())
    }

    async fn fetch(&self, key: &str) -> Result<Value, NoValue> {
        let raw = BTreeMap::from([("key".to_owned(), key.to_owned())]);
        let body = self.send(&raw, Method::GET).await?;
        let path = self.webhook["result"]["jsonPath"].as_str().unwrap_or("$");
        let mut found: &Value = &serde_json::from_str(&body).unwrap();
        for field in path.split('.').skip(1) {
            found = found.get(field).unwrap();
        }
        Ok(found.clone())
    }

    /// Sends one value to the service, as the operator does for a `PushSecret`.
    pub(super) async fn push(&self, remote_key: &str, value: &str) -> Result<(), NoValue> {
        let raw = BTreeMap::from([
            ("remoteKey".to_owned(), remote_key.to_owned()),
            (remote_key.to_owned(), value.to_owned()),
        ]);
        self.send(&raw, Method::POST).await.map(drop)
    }

    /// Sends the request that the store resource defines. Inserts the values percent-encoded into
    /// the URL, and unchanged into headers and body.
    async fn send(
        &self,
        reference: &BTreeMap<String, String>,
        default: Method,
    ) -> Result<String, NoValue> {
        let escaped = reference.iter().map(|(name, value)| (name.clone(), query_escaped(value)));
        let (raw, escaped) = (self.data(reference.clone()), self.data(escaped.collect()));
        let text = |field: &str| self.webhook[field].as_str();
        let method = text("method").map_or(default, |method| method.parse().unwrap());
        let url = executed(text("url").unwrap(), &escaped);
        let path = url.strip_prefix("https://secrets.example.com").unwrap();
        let body = executed(text("body").unwrap_or_default(), &raw);
        let headers = self.webhook["headers"].as_object().unwrap().iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.as_str(), executed(value.as_str().unwrap(), &raw)))
            .collect();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let reply = self.client.raw(method, path, &headers, body).await;
        match reply.status {
            404 => Err(NoValue::Missing),
            200..300 => Ok(reply.text()),
            other => Err(NoValue::Failed(other)),
        }
    }

    fn data(&self, reference: BTreeMap<String, String>) -> Data {
        let mut data = self.secrets.clone();
        data.insert("remoteRef".to_owned(), reference);
        data
    }
}

/// Escapes a string for a URL query as Go's `url.QueryEscape` does.
fn query_escaped(text: &str) -> String {
    serde_urlencoded::to_string([("", text)]).unwrap().trim_start_matches('=').to_owned()
}

/// Executes a template with actions such as `{{ .auth.token }}`, `{{ index .a .a.b }}` and
/// `{{ … | toJson }}`. Panics on a field that does not exist, for which the operator would send
/// `<no value>`.
fn executed(template: &str, data: &Data) -> String {
    let (mut result, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        let (action, after) = after.split_once("}}").unwrap();
        result += before;
        result += &evaluated(action.trim(), data);
        rest = after;
    }
    result + rest
}

fn evaluated(action: &str, data: &Data) -> String {
    if let Some((inner, function)) = action.rsplit_once('|') {
        assert_eq!(function.trim(), "toJson", "unknown function in {action}");
        return Value::from(evaluated(inner.trim(), data)).to_string();
    }
    let words: Vec<_> = action.split_whitespace().collect();
    match words[..] {
        [field] => field_of(field, data),
        ["index", object, field] => {
            let object = object.strip_prefix('.').unwrap();
            data[object][&field_of(field, data)].clone()
        }
        _ => panic!("unknown action {action}"),
    }
}

fn field_of(path: &str, data: &Data) -> String {
    let (object, field) = path.strip_prefix('.').and_then(|path| path.split_once('.')).unwrap();
    let found = data.get(object).and_then(|object| object.get(field));
    found.unwrap_or_else(|| panic!("no such field: {path}")).clone()
}
