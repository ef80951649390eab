//! Invocation: the settings, the output and the connection to the service of one run of this
//! program.

use std::sync::Once;
use std::time::Duration;

use secrets_core::model::{Clock as _, SystemClock};
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::arguments::Global;
use crate::credentials::{Credential, CredentialFile, ends_soon};
use crate::failure::{Exit, Failure};
use crate::output::{Output, date};
use crate::service::{Options, Service};
use crate::settings::{Server, Setting, Settings, Source, Variables};

/// Time limit for connecting. It is part of the time limit of a request.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings and output of one run of this program.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// Settings, each with its source.
    pub(crate) settings: Settings,
    /// Output to the terminal or to pipes.
    pub(crate) output: Output,
    prints_requests: bool,
    /// Makes sure that the warning that the session ends soon is shown only once.
    end_warning: Once,
}

/// Project and environment that a command acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Slug or ID of the project.
    pub(crate) project: String,
    /// Name or ID of the environment.
    pub(crate) environment: String,
}

/// Credential for requests, with its source.
#[derive(Debug)]
pub(crate) enum Authentication {
    /// Token from `SECRETS_TOKEN` or `SECRETS_TOKEN_FILE`.
    Variable(Token),
    /// Credential stored by `secrets login`.
    Stored(Credential),
}

/// Text of a credential; `Debug` does not show it.
pub(crate) struct Token(pub(crate) Zeroizing<String>);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Authentication {
    /// Returns the text of the credential.
    pub(crate) fn reveal(&self) -> &str {
        match self {
            Self::Variable(token) => &token.0,
            Self::Stored(credential) => &credential.token,
        }
    }
}

/// Scope of a service token, from the response to `users/me`.
#[derive(Deserialize)]
struct TokenScope {
    #[serde(default)]
    project_ids: Vec<String>,
    #[serde(default)]
    environment_ids: Vec<String>,
}

impl Invocation {
    /// Loads the settings from the global options, environment variables and files.
    pub(crate) fn new(global: &Global) -> Result<Self, Failure> {
        let settings = Settings::load(global, Variables::check()?)?;
        let output = Output::new(global);
        let (prints_requests, end_warning) = (global.verbose, Once::new());
        Ok(Self { settings, output, prints_requests, end_warning })
    }

    /// Returns the file of stored credentials.
    pub(crate) fn credentials(&self) -> CredentialFile {
        CredentialFile::of(&self.settings.folders)
    }

    /// Returns the server of the settings, or else the only server with a stored credential. Fails
    /// if there is neither.
    pub(crate) fn server(&self) -> Result<Setting<Server>, Failure> {
        if let Some(server) = &self.settings.server {
            return Ok(server.clone());
        }
        let file = self.credentials();
        match file.origins()?.as_slice() {
            [origin] => {
                let metadata = file.metadata(origin)?.map(|(_, metadata)| metadata);
                let address = metadata.and_then(|metadata| metadata.address);
                let value = Server::parse(address.as_ref().unwrap_or(origin), true)?;
                Ok(Setting { value, source: Source::OnlySession })
            }
            [] => Err(Failure::new(
                Exit::NotSignedIn,
                "not signed in; `secrets login URL` signs in, or SECRETS_URL and SECRETS_TOKEN name \
                 a server and a token",
            )),
            _ => Err(Failure::configuration(
                "signed in to several servers; --server or a project file must name one",
            )),
        }
    }

    /// Returns the credential for the server: the token in the environment variable if it may be
    /// sent to this server, otherwise the stored credential.
    pub(crate) fn authentication(
        &self,
        server: &Setting<Server>,
    ) -> Result<Authentication, Failure> {
        if let Some(token) = self.variable_token(server)? {
            return Ok(Authentication::Variable(Token(token)));
        }
        let origin = server.value.origin();
        let stored = self.credentials().get(&origin)?.ok_or_else(|| {
            let message = format!("not signed in to {origin}; `secrets login {origin}` signs in");
            Failure::new(Exit::NotSignedIn, message)
        })?;
        self.warn_of_end(&origin, &stored);
        Ok(Authentication::Stored(stored))
    }

    /// Returns the token in `SECRETS_TOKEN` or `SECRETS_TOKEN_FILE` if it may be sent to the
    /// server: if the token belongs to this server, or if a credential is stored for this server.
    /// Returns `None` otherwise, or if neither variable is set.
    pub(crate) fn variable_token(
        &self,
        server: &Setting<Server>,
    ) -> Result<Option<Zeroizing<String>>, Failure> {
        let is_signed_in = || self.credentials().metadata(&server.value.origin());
        if self.is_for_variable(server)? || is_signed_in()?.is_some() {
            return self.settings.variables.token();
        }
        Ok(None)
    }

    /// True if the token in the environment variable belongs to this server: if `SECRETS_URL` has
    /// the same origin as the server, or if there is no `SECRETS_URL` and the server does not come
    /// from a project file. So the project file of a cloned repository cannot make this program
    /// send the token to another server.
    fn is_for_variable(&self, server: &Setting<Server>) -> Result<bool, Failure> {
        match self.settings.variables.get("SECRETS_URL")? {
            Some(url) => Ok(Server::parse(&url, true)?.origin() == server.value.origin()),
            None => Ok(!matches!(server.source, Source::ProjectFile(..))),
        }
    }

    fn warn_of_end(&self, origin: &str, credential: &Credential) {
        let Some(end) = credential.metadata.expires_at else { return };
        if ends_soon(Some(end), SystemClock.now()) {
            self.end_warning.call_once(|| {
                let end = date(end);
                self.output.warn(&format!(
                    "the session at {origin} ends on {end}; `secrets login {origin}` renews it"
                ));
            });
        }
    }

    /// Creates a client for the server of the settings, with its credential.
    pub(crate) fn service(&self) -> Result<Service, Failure> {
        self.service_connecting_within(CONNECT_TIMEOUT)
    }

    /// Creates a client like [`service`](Self::service), with this time limit for connecting.
    pub(crate) fn service_connecting_within(
        &self,
        connect_timeout: Duration,
    ) -> Result<Service, Failure> {
        let server = self.server()?;
        let authentication = self.authentication(&server)?;
        let options = Options { connect_timeout, ..self.options() };
        Service::new(server.value, Some(authentication.reveal()), &options)
    }

    /// Creates a client for a server. Requests are sent with the token if there is one.
    pub(crate) fn connect(&self, server: Server, token: Option<&str>) -> Result<Service, Failure> {
        Service::new(server, token, &self.options())
    }

    fn options(&self) -> Options<'_> {
        Options {
            timeout: self.settings.timeout,
            ca_file: self.settings.ca_file.as_ref().map(|setting| setting.value.as_path()),
            connect_timeout: CONNECT_TIMEOUT,
            prints_requests: self.prints_requests,
        }
    }

    /// Returns the project of the settings, or else the only project in the scope of the service
    /// token.
    pub(crate) async fn project(&self, service: &Service) -> Result<String, Failure> {
        if let Some(project) = &self.settings.project {
            return Ok(project.value.clone());
        }
        only(self.scope(service).await?.project_ids, "project", "-p PROJECT")
    }

    /// Returns the project and environment of the settings, or else the only project and
    /// environment in the scope of the service token.
    pub(crate) async fn place(&self, service: &Service) -> Result<Place, Failure> {
        let environment = self.settings.environment.as_ref().map(|setting| setting.value.clone());
        if let (Some(project), Some(environment)) = (&self.settings.project, &environment) {
            return Ok(Place { project: project.value.clone(), environment: environment.clone() });
        }
        let project = self.project(service).await?;
        if let Some(environment) = environment {
            return Ok(Place { project, environment });
        }
        let scope = self.scope(service).await?;
        let environment = only(scope.environment_ids, "environment", "-e ENVIRONMENT")?;
        Ok(Place { project, environment })
    }

    async fn scope(&self, service: &Service) -> Result<TokenScope, Failure> {
        service.get(&["users", "me"]).await
    }
}

impl Place {
    /// Returns the path segments of this environment below `/api/v1`, followed by the segments
    /// `rest`.
    pub(crate) fn path<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        let mut path = vec!["projects", self.project.as_str(), "environments", &self.environment];
        path.extend(rest);
        path
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.project, self.environment)
    }
}

fn only(mut names: Vec<String>, what: &str, option: &str) -> Result<String, Failure> {
    match (names.pop(), names.is_empty()) {
        (Some(name), true) => Ok(name),
        _ => Err(Failure::usage(format!(
            "no {what}: name one with {option}, a variable or a project file (`secrets init`)"
        ))),
    }
}
