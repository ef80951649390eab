//! HTTP clients of a test server.

use std::net::SocketAddr;
use std::ops::Deref;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::{Reply, Watch, paths};

/// HTTP client with one credential, or none.
#[derive(Clone)]
pub struct Client {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    credential: Option<String>,
}

/// Signed-in user, with an HTTP client that sends the user's credential.
#[derive(Clone)]
pub struct Person {
    client: Client,
    /// User ID.
    pub id: String,
    /// ID of the user's personal team.
    pub team: String,
}

impl Client {
    /// Creates a client that sends its requests to this address, with this credential or without
    /// one.
    #[must_use]
    pub fn new(address: SocketAddr, credential: Option<&str>) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new()).build_http();
        Self { http, address, credential: credential.map(str::to_owned) }
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.request(Method::GET, path, &[]), Bytes::new()).await
    }

    /// Sends a DELETE request.
    pub async fn delete(&self, path: &str) -> Reply {
        self.send(self.request(Method::DELETE, path, &[]), Bytes::new()).await
    }

    /// Sends a POST request with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.json(Method::POST, path, body).await
    }

    /// Sends a PUT request with a JSON body.
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.json(Method::PUT, path, body).await
    }

    /// Sends a PATCH request with a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.json(Method::PATCH, path, body).await
    }

    /// Sends a POST request with a JSON body. Returns `None` if the connection broke.
    pub async fn try_post(&self, path: &str, body: &Value) -> Option<Reply> {
        self.try_json(Method::POST, path, body).await
    }

    /// Sends a PUT request with a JSON body. Returns `None` if the connection broke.
    pub async fn try_put(&self, path: &str, body: &Value) -> Option<Reply> {
        self.try_json(Method::PUT, path, body).await
    }

    async fn try_json(&self, method: Method, path: &str, body: &Value) -> Option<Reply> {
        let headers = [(CONTENT_TYPE.as_str(), "application/json")];
        let request = self.request(method, path, &headers);
        let request = request.body(Full::new(body.to_string().into())).unwrap();
        Reply::try_read(self.http.request(request).await.ok()?).await
    }

    /// Sends a request with this method and a JSON body.
    pub async fn json(&self, method: Method, path: &str, body: &Value) -> Reply {
        let headers = [(CONTENT_TYPE.as_str(), "application/json")];
        self.send(self.request(method, path, &headers), body.to_string().into()).await
    }

    /// Sends a request with this method, these headers and any body.
    pub async fn raw(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        self.send(self.request(method, path, headers), body.into()).await
    }

    /// Sends a GET request for an event stream, and returns the stream.
    pub async fn watch(&self, path: &str, headers: &[(&str, &str)]) -> Watch {
        let request = self.request(Method::GET, path, headers);
        let request = request.body(Full::new(Bytes::new())).unwrap();
        Watch::new(self.http.request(request).await.unwrap())
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> http::request::Builder {
        let uri = format!("http://{}{path}", self.address);
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(credential) = &self.credential {
            request = request.header(AUTHORIZATION, format!("Bearer {credential}"));
        }
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
    }

    async fn send(&self, request: http::request::Builder, body: Bytes) -> Reply {
        let request = request.body(Full::new(body)).unwrap();
        Reply::read(self.http.request(request).await.unwrap()).await
    }
}

impl Person {
    /// Creates a `Person` from the user's client and the response to the user's sign-in.
    #[must_use]
    pub fn new(client: Client, user: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self { client, id: text(&user["id"]), team: text(&user["teams"][0]["team_id"]) }
    }

    /// Creates a project in the user's personal team, and returns the URL path of the project.
    pub async fn project(&self, name: &str) -> String {
        let body = json!({ "name": name, "team_id": self.team });
        let project = self.post("/api/v1/projects", &body).await.is(201).json();
        format!("/api/v1/projects/{}", project["id"].as_str().unwrap())
    }

    /// Creates an environment, which inherits from the environment `parent` if given. Returns its
    /// ID.
    pub async fn environment(&self, project: &str, name: &str, parent: Option<&str>) -> String {
        let body = json!({ "name": name, "inherits_from": parent });
        let environment = self.post(&paths::environments(project), &body).await.is(201).json();
        environment["id"].as_str().unwrap().to_owned()
    }

    /// Creates a secret in an environment of a project.
    pub async fn secret(&self, project: &str, environment: &str, key: &str, value: &str) {
        let path = format!("{project}/environments/{environment}/secrets");
        self.post(&path, &json!({ "key": key, "value": value })).await.is(201);
    }

    /// Scans a string in the user's personal team, and returns the reply.
    pub async fn scan_text(&self, text: &str) -> Reply {
        let source = json!({ "type": "text" });
        let body = json!({ "team_id": self.team, "source": source, "content": text });
        self.post("/api/v1/scans", &body).await.is(201).clone()
    }

    /// Creates a service token of the user's personal team with the fields in `body`, and returns
    /// the token string.
    pub async fn token(&self, body: &Value) -> String {
        let mut body = body.clone();
        body["name"] = json!("test");
        body["team_id"] = json!(self.team);
        let token = self.post("/api/v1/tokens", &body).await.is(201).json();
        token["token"].as_str().unwrap().to_owned()
    }
}

impl Deref for Person {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
