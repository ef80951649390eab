//! Sign-in methods for browsers.

use crate::adapters::identity::{CodeFlow, DevLinks};

/// Configured sign-in method for browsers.
pub enum BrowserSignIn {
    /// Browsers cannot sign in.
    Off,
    /// Browsers sign in with the identity provider.
    Provider(Box<CodeFlow>),
    /// Browsers sign in with one-time links of the development service.
    Dev(DevLinks),
}

impl BrowserSignIn {
    /// True if browsers sign in with the identity provider, so that a page can link to the sign-in.
    #[must_use]
    pub fn has_provider(&self) -> bool {
        matches!(self, Self::Provider(_))
    }
}
