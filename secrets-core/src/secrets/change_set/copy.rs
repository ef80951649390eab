//! Values that a change set copies from other environments.

use std::collections::{BTreeSet, HashMap};

use super::super::reading::{check_readable, verify_hidden};
use super::super::sealing::open_value;
use super::super::{Visible, visible};
use super::ChangeAction;
use super::locate::{Located, field_error, unknown_environment};
use crate::access::reserve_within_limit;
use crate::crypto::Plaintext;
use crate::engine::{Context, Write};
use crate::model::{
    Code, EnvironmentId, EnvironmentName, EnvironmentPath, EnvironmentRef, Error, FieldError,
    ProjectRef, Result, SecretKey,
};

/// Value that a change set copies from another environment.
pub(super) struct Copied {
    pub(super) value: Plaintext,
    pub(super) from: Source,
}

/// Environment from which a value is copied.
pub(super) struct Source {
    pub(super) id: EnvironmentId,
    pub(super) name: EnvironmentName,
    /// True if the environment inherits the value from an ancestor.
    pub(super) is_inherited: bool,
}

/// Loads the values that the changes copy from other environments, and returns them by the index of
/// the change. Fails if the caller may not read one of the values, or if a value does not exist.
pub(super) async fn copied(
    cx: &mut Context<'_, Write>,
    project: &ProjectRef,
    changes: &[Located],
) -> Result<HashMap<usize, Copied>> {
    let mut by_source: HashMap<&EnvironmentRef, Vec<&Located>> = HashMap::new();
    for located in changes {
        if let ChangeAction::Copy { from, .. } = &located.change.action {
            by_source.entry(from).or_default().push(located);
        }
    }
    let (mut copied, mut missing) = (HashMap::new(), Vec::new());
    for (from, located) in by_source {
        let path = EnvironmentPath::new(project.clone(), from.clone());
        missing.extend(copy(cx, &path, &located, &mut copied).await?);
    }
    if missing.is_empty() { Ok(copied) } else { Err(Error::Invalid(missing)) }
}

/// Loads the values that are copied from one source environment and adds them to `copied`. Returns
/// an error for each change whose key has no value in the source environment.
async fn copy(
    cx: &mut Context<'_, Write>,
    source: &EnvironmentPath,
    changes: &[&Located],
    copied: &mut HashMap<usize, Copied>,
) -> Result<Vec<FieldError>> {
    let keys: BTreeSet<_> = changes.iter().map(|located| located.change.key.clone()).collect();
    let keys: Vec<_> = keys.into_iter().collect();
    let first = changes.first().map_or(0, |located| located.index);
    let view = cx.view_of_keys(source, &keys).await;
    let mut view = view.map_err(|error| unknown_environment(error, first, "from"))?;
    let seen = visible(&mut view);
    check_readable(seen.iter().filter(|seen| !seen.secret.hidden))?;
    let values = changes.iter().filter_map(|located| of_key(&seen, &located.change.key));
    reserve(cx, values.map(|seen| seen.secret.size()).sum()).await?;
    let mut missing = Vec::new();
    for located in changes {
        match of_key(&seen, &located.change.key) {
            Some(seen) if !seen.secret.hidden => {
                let value = open_value(cx, &view.scope, &seen.secret).await?;
                let from = Source {
                    id: view.scope.environment.id,
                    name: view.scope.environment.name.clone(),
                    is_inherited: seen.inherited_from.is_some(),
                };
                copied.insert(located.index, Copied { value, from });
            }
            hidden => {
                if let Some(seen) = hidden {
                    verify_hidden(cx, &view.scope, seen).await?;
                }
                let rule = "must be an environment with a value for this key";
                missing.push(field_error(located, "from", Code::InvalidRequest, rule));
            }
        }
    }
    Ok(missing)
}

/// Reserves memory for `bytes` bytes of secrets that a change set copies or replaces. Fails if a
/// change set of this size could never be made.
pub(super) async fn reserve(cx: &mut Context<'_, Write>, bytes: usize) -> Result<()> {
    let reason = |size: &str| {
        format!("the secrets to copy and replace exceed {size}: send fewer changes at a time")
    };
    reserve_within_limit(cx, bytes, reason).await
}

/// Returns the secret with this key; `None` if there is none. `seen` must be sorted by key.
fn of_key<'a>(seen: &'a [Visible], key: &SecretKey) -> Option<&'a Visible> {
    let place = seen.binary_search_by(|seen| seen.secret.key.cmp(key)).ok()?;
    seen.get(place)
}
