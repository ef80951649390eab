//! Functions of the fuzz targets.
//!
//! Each function passes its input to a parser, and panics if a rule is violated that holds for
//! every input. The folder `fuzz` runs the functions with libFuzzer; `tests/fuzz` runs them with
//! the corpora and with random inputs.

mod addresses;
mod formats;
#[cfg(feature = "jwt")]
mod jwt;
mod names;
mod operations;
mod tokens;

pub use addresses::{egress, webhook_url};
pub use formats::import;
#[cfg(feature = "jwt")]
pub use jwt::{jwt, key_set};
pub use names::names;
pub use operations::{KNOWN_WORDS, operation, populate};
pub use tokens::token;

pub use crate::bundle::fuzz::bundle;
pub use crate::crypto::fuzz::record;
#[cfg(feature = "rotators")]
pub use crate::rotators::drivers::fuzz::{mysql_login, postgres_login, quoting};
pub use crate::rotators::envelope::fuzz::proxy_response;

/// Function of a fuzz target, with its name.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// Fuzz targets of this crate.
pub const TARGETS: &[FuzzTarget] = &[
    ("bundle", bundle),
    ("egress", egress),
    ("import", import),
    #[cfg(feature = "jwt")]
    ("jwt", jwt),
    #[cfg(feature = "jwt")]
    ("key_set", key_set),
    #[cfg(feature = "rotators")]
    ("mysql_login", mysql_login),
    ("names", names),
    ("operation", operation),
    #[cfg(feature = "rotators")]
    ("postgres_login", postgres_login),
    ("proxy_response", proxy_response),
    #[cfg(feature = "rotators")]
    ("quoting", quoting),
    ("record", record),
    ("token", token),
    ("webhook_url", webhook_url),
];

/// Minimum number of consecutive bytes of the input that an error text must contain to count as
/// repeating the input.
const ECHO: usize = 8;

/// Panics if an error text repeats at least 8 bytes of the input. Bytes that are a part of `known`,
/// a list of constant words, are permitted.
pub fn assert_no_echo(input: &[u8], text: &str, known: &str) {
    for part in text.as_bytes().windows(ECHO) {
        let is_echo = contains(input, part) && !contains(known.as_bytes(), part);
        assert!(!is_echo, "an error repeats the input: {text}");
    }
}

/// True if `bytes` contains `part`, which is not empty.
fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
