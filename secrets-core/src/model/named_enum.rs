//! Enums whose variants have fixed names, such as statuses. The names are the same in the database
//! and in JSON.

/// Defines an enum with a name for each variant, used in JSON and in the database. The string after
/// the name of the enum is the validation error for an unknown name. A name after `|` is a second
/// name that is accepted as input for the same variant.
macro_rules! named_enum {
    ($(#[$doc:meta])* $kind:ident, $rule:literal, $($(#[$variant_doc:meta])* $variant:ident = $name:literal $(| $alias:literal)*),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(try_from = "String", into = "&'static str")]
        pub enum $kind {
            $($(#[$variant_doc])* #[cfg_attr(feature = "openapi", schema(rename = $name))] $variant),+
        }

        impl $kind {
            /// Validation rule for names of variants, as an error message.
            pub const RULE: &'static str = $rule;

            /// All variants of this enum.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name of the variant, as stored and as used in JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the variant with this name; `None` if there is none.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name $(| $alias)* => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl From<$kind> for &'static str {
            fn from(kind: $kind) -> Self {
                kind.as_str()
            }
        }

        impl TryFrom<String> for $kind {
            type Error = Violation;

            fn try_from(text: String) -> Result<Self, Violation> {
                const RULE: ValidationRule = ValidationRule::of($kind::RULE);
                Self::from_name(&text).ok_or(RULE.violation())
            }
        }
    };
}

pub(super) use named_enum;
