//! Wrapper for the values of secret settings.

use std::fmt;

/// Secret value, hidden from `Debug` output.
pub struct Hidden<T>(T);

impl<T> Hidden<T> {
    pub(super) fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns a reference to the value.
    pub fn reveal(&self) -> &T {
        &self.0
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}
