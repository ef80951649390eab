//! Settings of a test server for the sign-in of browsers.

use std::sync::Arc;
use std::time::Duration;

use secrets_core::jwt::{DevKey, Expectations};
use secrets_core::model::{BaseUrl, Clock as _, ManualClock};
use secrets_http::adapters::fetch::Client;
use secrets_http::adapters::identity::{
    ClientSecret, CodeFlow, DevLinks, OidcClient, OidcSettings, OidcVerifier, Timings,
};
use secrets_http::serve::browser_sign_in::BrowserSignIn;
use zeroize::Zeroizing;

use crate::{App, Browser, Build, CLIENT, IdentityProvider};

/// Way in which browsers sign in to a test server.
#[derive(Clone, Default)]
pub(crate) enum SignIn {
    #[default]
    Off,
    /// Sign-in at the identity provider with this issuer URL.
    Provider(String),
    /// Sign-in with a link like those that the development service (`secrets-http dev`) prints.
    Dev,
}

impl SignIn {
    pub(crate) fn build(
        &self,
        clock: &Arc<ManualClock>,
        signer: &DevKey,
        public_url: Option<&BaseUrl>,
    ) -> BrowserSignIn {
        match self {
            Self::Off => BrowserSignIn::Off,
            Self::Dev => {
                let key = DevKey::from_seed(Zeroizing::new(*signer.seed())).unwrap();
                BrowserSignIn::Dev(DevLinks::new(key, clock.now()))
            }
            Self::Provider(issuer) => {
                let expectations =
                    Expectations { issuer: issuer.clone(), audience: "secrets".to_owned() };
                let timings =
                    Timings { retry_pause: Duration::from_millis(1), ..Timings::default() };
                let settings = OidcSettings { expectations, jwks_url: None, timings };
                let verifier = OidcVerifier::new(settings, clock.clone(), Client::new().unwrap());
                let client = OidcClient {
                    id: CLIENT.0.to_owned(),
                    secret: Some(ClientSecret::new(Zeroizing::new(CLIENT.1.to_owned()))),
                    scopes: "openid email".to_owned(),
                    redirect_url: public_url.unwrap().to("/sign-in/callback"),
                };
                BrowserSignIn::Provider(Box::new(CodeFlow::new(Arc::new(verifier), client)))
            }
        }
    }
}

impl Build {
    /// Lets browsers sign in at this provider. [`Build::public_url`] must be called too.
    #[must_use]
    pub fn sign_in(mut self, provider: &IdentityProvider) -> Self {
        self.sign_in = SignIn::Provider(provider.issuer());
        self
    }

    /// Lets browsers sign in with links like those that the development service prints.
    #[must_use]
    pub fn dev_links(mut self) -> Self {
        self.sign_in = SignIn::Dev;
        self
    }
}

impl App {
    /// Creates the code in the sign-in link of the user with this name.
    #[must_use]
    pub fn dev_code(&self, name: &str) -> String {
        self.signer.code(&format!("{name}@example.com"), self.clock.now())
    }

    /// Creates a browser that uses this server. Its `Host` header names the host of the public URL,
    /// or the address of the server if there is no public URL.
    #[must_use]
    pub fn browser(&self) -> Browser {
        let host = self.public_url.as_ref().map_or_else(
            || self.address.to_string(),
            |url| url.as_str().split_once("://").unwrap().1.to_owned(),
        );
        Browser::new(self.anonymous(), &host)
    }
}
