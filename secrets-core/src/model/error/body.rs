//! What is told of an error.

use serde::Serialize;

use crate::model::{Error, FieldError};

/// An error as a caller reads it: the body of an answer, or what an exception holds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// What is wrong, for people.
    pub error: String,
    /// What is wrong, for machines.
    pub code: &'static str,
    /// The fields that break rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
    /// The plan that has no room.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = LimitBody))]
    pub limit: Option<LimitBody>,
}

/// Fields that break rules.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Details {
    /// Each field and its rule.
    pub fields: Vec<FieldBody>,
}

/// A field and the rule it breaks.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldBody {
    /// The field.
    pub field: String,
    /// The rule.
    pub message: String,
    /// The place in an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The key in an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What `LimitError` adds to an error.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitBody {
    /// What is counted.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub resource: &'static str,
    /// The plan's name.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub plan: String,
    /// How many it allows.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub limit: u64,
    /// How many there are.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub current: u64,
}

impl ErrorBody {
    /// What is told of an error.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        let limit = match error {
            Error::PlanLimit(limit) => Some(LimitBody {
                resource: limit.quota.as_str(),
                plan: limit.plan.to_string(),
                limit: limit.limit,
                current: limit.current,
            }),
            _ => None,
        };
        let details = match error {
            Error::Invalid(fields) => Some(Details { fields: fields.iter().map(field).collect() }),
            _ => None,
        };
        Self { error: error.to_string(), code: error.code().as_str(), details, limit }
    }
}

fn field(error: &FieldError) -> FieldBody {
    FieldBody {
        field: error.field.clone(),
        message: error.message.to_string(),
        index: index(&error.field),
        key: error.key.clone(),
    }
}

/// The place in `secrets[3].key`.
fn index(field: &str) -> Option<usize> {
    field.strip_prefix("secrets[")?.split_once(']')?.0.parse().ok()
}
