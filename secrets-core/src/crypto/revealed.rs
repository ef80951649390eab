//! Serialization of confidential values. The types of such values do not implement `Serialize`: a
//! field that discloses one must name the function [`revealed`] in its `serde` attribute.

use serde::Serializer;
use zeroize::Zeroizing;

use super::{CodeText, InvitationToken, Plaintext, TokenText, WebhookSecret};

/// A confidential value that can be serialized as a string.
pub trait Revealed {
    /// Serializes the value as a string.
    fn serialize_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// Serializes a confidential value as a string, to put it into a response or into data that is then
/// encrypted. Used in the attribute `#[serde(serialize_with)]` of a field.
pub fn revealed<T: Revealed, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.serialize_text(serializer)
}

impl<T: Revealed> Revealed for Option<T> {
    fn serialize_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.serialize_text(serializer),
            None => serializer.serialize_none(),
        }
    }
}

impl Revealed for Zeroizing<String> {
    fn serialize_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// Implements [`Revealed`] for types with a method `reveal`.
macro_rules! implement_revealed {
    ($($name:ty)*) => {
        $(impl $crate::crypto::Revealed for $name {
            fn serialize_text<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.reveal())
            }
        })*
    };
}
pub(crate) use implement_revealed;

implement_revealed!(CodeText Plaintext TokenText InvitationToken WebhookSecret);
