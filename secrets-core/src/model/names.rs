//! Names given by users. Each is validated once, when it is parsed. Cloning a name does not copy
//! its characters.

use std::sync::Arc;

use serde::Deserialize;
use uuid::Uuid;

use crate::model::rule::{RESERVED_KEY, SECRET_KEY, SUMMARY};
use crate::model::{ValidationRule, Violation, ids};

/// Name of a deleted team and of its projects, and of the row that is kept for a deleted
/// environment. The slugs of the team and of this row begin with it.
pub(crate) const DELETED: &str = "deleted";

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        $(#[$doc])*
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        $crate::model::names::name_conversions!($name);
    )*};
}

/// Implements the conversions from and to text of a name, a tuple struct of one `Arc<str>` that is
/// validated by its `TryFrom<String>`.
macro_rules! name_conversions {
    ($name:ident) => {
        impl $name {
            /// Returns the name as a string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::model::Violation;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(super) use name_conversions;

names! {
    /// Display name of a team, project or token: 1 to 100 characters, without control or
    /// direction-changing characters; surrounding whitespace is removed.
    #[cfg_attr(feature = "openapi", schema(
        min_length = 1, max_length = 100,
        pattern = "^[^\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f-\\u1160\\u17b4-\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0]*[^\\s\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f-\\u1160\\u17b4-\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0][^\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f-\\u1160\\u17b4-\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0]*$",
    ))]
    DisplayName
    /// Normalized e-mail address: lower case, at most 254 bytes. The service does not check whether
    /// the mailbox exists.
    #[cfg_attr(feature = "openapi", schema(max_length = 254, format = "email"))]
    EmailAddress
    /// Environment name: 1 to 64 letters, digits, `_` or `-`; never a UUID.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"))]
    EnvironmentName
    /// Plan name: 1 to 64 lower-case letters, digits, `_` or `-`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[a-z0-9_-]{1,64}$"))]
    PlanName
    /// Rotation name: 1 to 63 letters, digits, `_` or `-`, beginning with a letter or digit; never
    /// `test`, which is a path of the API.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"))]
    RotationName
    /// Secret key: `[A-Za-z_][A-Za-z0-9_.-]{0,254}`, case-sensitive; never `export` or `bulk`,
    /// which are paths of the API.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z_][A-Za-z0-9_.-]{0,254}$"))]
    SecretKey
    /// Project or team name in URLs: lower-case words joined by `-`, at most 64 characters; never a
    /// UUID.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"))]
    Slug
    /// Description: at most 500 characters; may contain line breaks.
    #[cfg_attr(feature = "openapi", schema(
        max_length = 500,
        pattern = "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f-\\u1160\\u17b4-\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0]*$",
    ))]
    Summary
}

const DISPLAY_NAME: ValidationRule =
    ValidationRule::of("must be 1 to 100 characters without control or invisible characters");
const EMAIL_ADDRESS: ValidationRule =
    ValidationRule::of("must be an e-mail address of at most 254 bytes");
const ENVIRONMENT_NAME: ValidationRule = ValidationRule::of(
    "must be 1 to 64 letters, digits, underscores and hyphens, begin with a letter or digit, and not be a UUID",
);
const ROTATION_NAME: ValidationRule = ValidationRule::of(
    "must be 1 to 63 letters, digits, underscores and hyphens, begin with a letter or digit, and not be `test`",
);
const SLUG: ValidationRule = ValidationRule::of(
    "must be 1 to 64 lower-case letters, digits and hyphens, begin and end with a letter or digit, and not be a UUID",
);

impl TryFrom<String> for DisplayName {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        let trimmed = text.trim();
        let length = trimmed.chars().count();
        let fits = (1..=100).contains(&length) && !trimmed.chars().any(is_invisible);
        if fits { Ok(Self(trimmed.into())) } else { Err(DISPLAY_NAME.violation()) }
    }
}

impl DisplayName {
    /// Returns the name for a personal team if its owner's name is not a valid display name.
    #[must_use]
    pub(crate) fn personal() -> Self {
        Self("Personal Team".into())
    }
}

impl TryFrom<String> for EmailAddress {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        // Only ASCII letters are converted: Unicode maps some other letters to ASCII letters, such
        // as the Kelvin sign to `k`, so the addresses of two people could become equal.
        let email = text.trim().to_ascii_lowercase();
        let parts =
            email.split_once('@').filter(|(local, domain)| !local.is_empty() && !domain.is_empty());
        let fits = parts.is_some_and(|(_, domain)| !domain.contains('@'))
            && email.len() <= 254
            && !email.chars().any(|c| c.is_whitespace() || is_invisible(c));
        if fits { Ok(Self(email.into())) } else { Err(EMAIL_ADDRESS.violation()) }
    }
}

impl TryFrom<String> for EnvironmentName {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        let fits = (1..=64).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            && ids::parse(&text).is_none();
        if fits { Ok(Self(text.into())) } else { Err(ENVIRONMENT_NAME.violation()) }
    }
}

impl TryFrom<String> for PlanName {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        const PLAN: ValidationRule = ValidationRule::of(
            "must be 1 to 64 lower-case letters, digits, underscores and hyphens",
        );
        let fits = (1..=64).contains(&text.len())
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c));
        if fits { Ok(Self(text.into())) } else { Err(PLAN.violation()) }
    }
}

impl PlanName {
    /// Creates a built-in plan name without validation.
    pub(crate) fn fixed(name: &'static str) -> Self {
        Self(name.into())
    }
}

impl TryFrom<String> for RotationName {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        // The path `…/rotations/test` is an operation: a rotation with that name would be
        // unreachable.
        let fits = (1..=63).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            && text != "test";
        if fits { Ok(Self(text.into())) } else { Err(ROTATION_NAME.violation()) }
    }
}

impl TryFrom<String> for SecretKey {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        // The paths `…/secrets/export` and `…/secrets/bulk` are operations: a secret key with
        // that name could never be read, and a request for it would return all values.
        if text == "export" || text == "bulk" {
            return Err(RESERVED_KEY.violation());
        }
        let fits = (1..=255).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        if fits { Ok(Self(text.into())) } else { Err(SECRET_KEY.violation()) }
    }
}

impl TryFrom<String> for Summary {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        if is_summary(&text) { Ok(Self(text.into())) } else { Err(SUMMARY.violation()) }
    }
}

impl TryFrom<String> for Slug {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fits = (1..=64).contains(&text.len())
            && text.starts_with(edge)
            && text.ends_with(edge)
            && text.chars().all(|c| edge(c) || c == '-')
            && ids::parse(&text).is_none();
        if fits { Ok(Self(text.into())) } else { Err(SLUG.violation()) }
    }
}

impl EnvironmentName {
    /// Returns the names of the default environments of a new project, in display order.
    #[must_use]
    pub fn defaults() -> [Self; 3] {
        ["development", "staging", "production"].map(|name| Self(name.into()))
    }

    /// Returns the name in lower case, which is unique within a project.
    #[must_use]
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl Slug {
    /// Derives a slug from a display name: ASCII, lower case, words joined by `-`, at most 59
    /// characters so that [`Slug::with_suffix`] can still append a suffix. Returns `otherwise` for
    /// a name without any ASCII letter or digit.
    #[must_use]
    pub fn suggested(name: &DisplayName, otherwise: &'static str) -> Self {
        let mut slug = String::new();
        for c in name.as_str().chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.truncate(59);
        let slug = slug.trim_end_matches('-');
        Self(if slug.is_empty() { otherwise.into() } else { slug.into() })
    }

    /// Returns the slug of the row that is kept for a deleted team or environment with this ID. No
    /// other row has this slug, because it is [reserved](Self::is_reserved).
    pub(crate) fn of_deleted(id: Uuid) -> Self {
        Self(format!("{DELETED}-{}", id.simple()).into())
    }

    /// True if no project or team can be created with this slug: it is a UUID, which would be
    /// treated as an ID in a path, or may be the slug of a deleted team or environment.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        let id = self.0.strip_prefix(DELETED).and_then(|rest| rest.strip_prefix('-'));
        ids::parse(id.unwrap_or(&self.0)).is_some()
    }

    /// Appends `-` and four random letters to the slug. Used if another project or team already has
    /// the slug.
    #[must_use]
    pub fn with_suffix(&self, random: [u8; 4]) -> Self {
        let letters: String = random.map(|byte| char::from(b'a' + byte % 26)).iter().collect();
        Self(format!("{}-{letters}", self.0).into())
    }
}

/// True if `text` is valid as a description.
pub(crate) fn is_summary(text: &str) -> bool {
    text.chars().count() <= 500
        && !text.chars().any(|c| is_invisible(c) && !matches!(c, '\n' | '\r' | '\t'))
}

/// True for control characters, characters that are not shown, and characters that change the
/// direction of the text around them (Unicode TR 36; properties `Default_Ignorable_Code_Point` and
/// `Bidi_Control`, and the empty Braille pattern). Returns false for the variation selectors of
/// emoji.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
