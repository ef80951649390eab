//! Configuration of the sign-in of browsers in tests.

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

/// Configured sign-in of browsers.
#[derive(Clone, Default)]
pub(crate) enum SignIn {
    #[default]
    Off,
    /// Sign-in with the provider of this issuer.
    Provider(String),
    /// Sign-in with links of the development service.
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
                let timings = Timings {
                    fetch: Duration::from_secs(1),
                    retry_pause: Duration::from_millis(1),
                    ..Timings::default()
                };
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
    /// Lets browsers sign in with this provider. Needs a public URL.
    #[must_use]
    pub fn sign_in(mut self, provider: &IdentityProvider) -> Self {
        self.sign_in = SignIn::Provider(provider.issuer());
        self
    }

    /// Lets browsers sign in with links, as the development service does.
    #[must_use]
    pub fn dev_links(mut self) -> Self {
        self.sign_in = SignIn::Dev;
        self
    }
}

impl App {
    /// Creates a code for a link of the development service.
    #[must_use]
    pub fn dev_code(&self, name: &str) -> String {
        self.signer.code(&format!("{name}@example.com"), self.clock.now())
    }

    /// Creates a browser that uses this server under its public URL, or under its address.
    #[must_use]
    pub fn browser(&self) -> Browser {
        let host = self.public_url.as_ref().map_or_else(
            || self.address.to_string(),
            |url| url.as_str().split_once("://").unwrap().1.to_owned(),
        );
        Browser::new(self.anonymous(), &host)
    }
}
