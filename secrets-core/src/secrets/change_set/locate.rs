//! Resolving the environments of a change set.

use std::collections::{BTreeSet, HashMap};

use super::KeyChange;
use crate::engine::{Context, Write};
use crate::model::{
    Code, EnvironmentId, EnvironmentPath, Error, FieldError, Permission, ProjectRef, Result,
    Subject,
};

/// A change of a change set, with its index in the set and the ID of its environment.
pub(super) struct Located {
    pub(super) index: usize,
    pub(super) environment: EnvironmentId,
    pub(super) change: KeyChange,
}

/// Resolves the environments of a change set, and checks that the caller may write to each of them.
/// Also returns a reference to the project by its ID.
pub(super) async fn locate(
    cx: &mut Context<'_, Write>,
    project: &ProjectRef,
    changes: Vec<KeyChange>,
) -> Result<(ProjectRef, Vec<Located>)> {
    let mut project = project.clone();
    let mut known = HashMap::new();
    let mut located = Vec::with_capacity(changes.len());
    for (index, change) in changes.into_iter().enumerate() {
        let environment = if let Some(environment) = known.get(&change.environment) {
            *environment
        } else {
            let path = EnvironmentPath::new(project, change.environment.clone());
            let found = cx.known_environment(&path, Permission::Write).await;
            let found = found.map_err(|error| unknown_environment(error, index, "environment"))?;
            project = found.project.into();
            known.insert(change.environment.clone(), found.id);
            found.id
        };
        located.push(Located { index, environment, change });
    }
    check_unique(&located)?;
    Ok((project, located))
}

/// Converts the error for an unknown environment to a field error for the field that named the
/// environment.
pub(super) fn unknown_environment(error: Error, index: usize, field: &str) -> Error {
    match error {
        Error::NotFound(Subject::Environment) => {
            let rule = "must be an environment of this project";
            Error::invalid(format!("changes[{index}].{field}"), rule)
        }
        other => other,
    }
}

/// Creates a validation error for a field of a change.
pub(super) fn field_error(
    change: &Located,
    field: &str,
    code: Code,
    rule: &'static str,
) -> FieldError {
    FieldError {
        key: Some(change.change.key.to_string()),
        ..FieldError::new(format!("changes[{}].{field}", change.index), code, rule)
    }
}

fn check_unique(changes: &[Located]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let repeated = changes
        .iter()
        .filter(|located| !seen.insert((located.environment, &located.change.key)))
        .map(|located| {
            let rule = "is given more than once for this environment";
            field_error(located, "key", Code::InvalidRequest, rule)
        });
    let repeated: Vec<_> = repeated.collect();
    if repeated.is_empty() { Ok(()) } else { Err(Error::Invalid(repeated)) }
}
