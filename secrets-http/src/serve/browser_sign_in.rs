//! Sign-in of browsers, as configured.

use crate::adapters::identity::{CodeFlow, DevLinks};

/// Way in which browsers sign in.
pub enum BrowserSignIn {
    /// Browsers cannot sign in.
    Off,
    /// With the identity provider.
    Provider(Box<CodeFlow>),
    /// With one-time links of the development service.
    Dev(DevLinks),
}

impl BrowserSignIn {
    /// True if a page can offer a link to the identity provider.
    #[must_use]
    pub fn has_provider(&self) -> bool {
        matches!(self, Self::Provider(_))
    }
}
