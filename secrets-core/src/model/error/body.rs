//! Errors in the form in which they are sent to callers.

use serde::Serialize;

use crate::model::{Error, FieldError, VersionConflict};

/// Body of an error response. Language bindings use it as the content of their exceptions.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// Human-readable error message.
    pub error: String,
    /// Error code for programs.
    pub code: &'static str,
    /// Details of the error: invalid fields, or version conflicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
    /// Plan limit that was exceeded; absent for other errors.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub limit: Option<LimitBody>,
}

/// Details of an error: invalid fields, or version conflicts of a change set.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Details {
    /// Invalid fields with the rules that they violate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldBody>>,
    /// Secrets of the change set that are not at the expected version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<Vec<VersionConflict>>,
}

/// Invalid field with the rule it violates.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldBody {
    /// Path of the field in the request, such as `secrets[3].key`.
    pub field: String,
    /// Text of the rule that the field violates.
    pub message: String,
    /// Index of the invalid item in an import or a change set, starting at 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Secret key of the invalid item in an import or a change set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Fields that are added to an error body if a plan limit was exceeded (`LimitError`).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitBody {
    /// Name of the limited resource.
    pub resource: &'static str,
    /// Name of the team's plan.
    pub plan: String,
    /// Limit of the plan: a number of resources, or a size in bytes.
    pub limit: u64,
    /// Current usage: a number of resources, or a size in bytes.
    pub current: u64,
}

impl ErrorBody {
    /// Creates the response body of an error.
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
            Error::Invalid(fields) => {
                let fields = fields.iter().map(field).collect();
                Some(Details { fields: Some(fields), conflicts: None })
            }
            Error::Outdated(conflicts) => {
                Some(Details { fields: None, conflicts: Some(conflicts.clone()) })
            }
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

/// Returns the index of the item in a field path of an import or a change set, such as 3 for
/// `secrets[3].key`.
fn index(field: &str) -> Option<usize> {
    let rest = field.strip_prefix("secrets[").or_else(|| field.strip_prefix("changes["))?;
    rest.split_once(']')?.0.parse().ok()
}
