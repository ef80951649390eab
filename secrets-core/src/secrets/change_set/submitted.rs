//! Change sets as submitted by clients. The validation errors of all changes are reported together.

use serde::Deserialize;

use super::super::submitted::{Checked, MAX_ERRORS};
use super::{ChangeAction, ChangeSet, KeyChange};
use crate::crypto::{Description, Plaintext};
use crate::model::{
    Code, EnvironmentRef, Error, FieldError, Result, SecretKey, Violation, object, whole,
};

/// Maximum number of changes in a change set.
const LIMIT: usize = 1_000;

/// Changes of secrets of a project, as submitted by the client. The values are not validated yet.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({ "changes": [
    { "environment": "staging", "key": "LOG_LEVEL", "action": "set", "value": "debug" },
    { "environment": "production", "key": "LOG_LEVEL", "action": "hide", "expected_version": 0 },
] })))]
pub struct SubmittedChangeSet {
    /// Changes to make: 1 to 1,000, each secret key of an environment at most once.
    #[serde(deserialize_with = "object::bounded_list::<LIMIT, _, _>")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1_000))]
    changes: Vec<SubmittedChange>,
    /// `true` returns the results without changing anything. The default is `false`.
    dry_run: Option<bool>,
}

/// Change of one secret in one environment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct SubmittedChange {
    /// Name or ID of the environment in which the secret is changed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "staging"))]
    environment: EnvironmentRef,
    /// Key (name) of the secret to change.
    #[cfg_attr(feature = "openapi", schema(value_type = SecretKey))]
    key: Checked<SecretKey>,
    /// Kind of change:
    ///
    /// - `set` creates the secret or sets its value.
    /// - `copy` sets the value to the value of the key in another environment.
    /// - `hide` hides the key: the environment then has no value for it, not even an inherited one.
    /// - `delete` deletes the environment's own secret.
    /// - `describe` sets the description of the secret.
    action: ChangeActionName,
    /// New value; required for `set`, otherwise absent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Plaintext>))]
    value: Option<Checked<Plaintext>>,
    /// Name or ID of the environment from which the value is copied, for `copy`. Inherited values
    /// are copied too. The copied value is the one that the key had before the change set.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "staging"))]
    from: Option<EnvironmentRef>,
    /// New description, for `set`, `copy` and `describe`. If absent, an existing secret keeps its
    /// description.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Description>))]
    description: Option<Checked<Description>>,
    /// Version that the secret in this environment is expected to have; `0` if the environment is
    /// expected to have no secret of its own with this key. If the stored version differs, the
    /// change set fails with a conflict.
    #[serde(default, deserialize_with = "whole::optional")]
    expected_version: Option<u32>,
}

/// Kind of change, by its name in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
enum ChangeActionName {
    Set,
    Copy,
    Hide,
    Delete,
    Describe,
}

impl TryFrom<SubmittedChangeSet> for ChangeSet {
    type Error = Error;

    fn try_from(SubmittedChangeSet { changes, dry_run }: SubmittedChangeSet) -> Result<Self> {
        if changes.is_empty() || changes.len() > LIMIT {
            let rule = format!("must be 1 to {LIMIT} changes");
            return Err(Error::invalid("changes", rule));
        }
        let mut broken = Vec::new();
        let changes = (0..).zip(changes);
        let changes: Vec<_> =
            changes.filter_map(|(index, change)| change.checked(index, &mut broken)).collect();
        if broken.is_empty() {
            return Ok(Self { changes, dry_run: dry_run.unwrap_or_default() });
        }
        broken.truncate(MAX_ERRORS);
        Err(Error::Invalid(broken))
    }
}

impl SubmittedChange {
    /// Validates one change and appends its errors to `broken`. Returns `None` if a required field
    /// is missing or a field is invalid. An error includes the secret key only if the key is valid.
    fn checked(self, index: usize, broken: &mut Vec<FieldError>) -> Option<KeyChange> {
        let broken_presences = self.broken_presences();
        let Self { environment, key: Checked(key), action, from, expected_version, .. } = self;
        let value = self.value.map(|Checked(value)| value).transpose();
        let description = self.description.map(|Checked(description)| description).transpose();
        let name = key.as_ref().ok().map(ToString::to_string);
        let at = |field: &str| format!("changes[{index}].{field}");
        let rules: [(_, Option<&Violation>); 3] = [
            ("key", key.as_ref().err()),
            ("value", value.as_ref().err()),
            ("description", description.as_ref().err()),
        ];
        let invalid = rules.into_iter().filter_map(|(field, rule)| Some(rule?.at(at(field))));
        let misplaced = broken_presences
            .into_iter()
            .map(|(field, rule)| FieldError::new(at(field), Code::InvalidRequest, rule));
        let errors = invalid.chain(misplaced);
        broken.extend(errors.map(|error| FieldError { key: name.clone(), ..error }));

        let (value, description) = (value.ok()?, description.ok()?);
        let action = match action {
            ChangeActionName::Set => ChangeAction::Set { value: value?, description },
            ChangeActionName::Copy => ChangeAction::Copy { from: from?, description },
            ChangeActionName::Hide => ChangeAction::Hide,
            ChangeActionName::Delete => ChangeAction::Delete,
            ChangeActionName::Describe => ChangeAction::Describe { description: description? },
        };
        Some(KeyChange { environment, key: key.ok()?, action, expected_version })
    }

    /// Checks that the fields that the action requires are present, and no others. Returns the
    /// violated rules, each with the name of its field.
    fn broken_presences(&self) -> Vec<(&'static str, String)> {
        use ChangeActionName::{Copy, Describe, Set};
        let (action, name) = (self.action, self.action.as_str());
        let fields: [(_, _, &[_], &[_]); 3] = [
            ("value", self.value.is_some(), &[Set], &[]),
            ("from", self.from.is_some(), &[Copy], &[]),
            ("description", self.description.is_some(), &[Describe], &[Set, Copy]),
        ];
        let rules = fields.into_iter().filter_map(|(field, is_given, required, optional)| {
            let state = if required.contains(&action) { "given" } else { "absent" };
            let is_kept = optional.contains(&action) || is_given == (state == "given");
            (!is_kept).then(|| (field, format!("must be {state} where action is {name}")))
        });
        rules.collect()
    }
}

impl ChangeActionName {
    fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Copy => "copy",
            Self::Hide => "hide",
            Self::Delete => "delete",
            Self::Describe => "describe",
        }
    }
}
