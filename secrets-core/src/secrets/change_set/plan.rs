//! Planning of a change set: the effect of each change, before anything is written.

use std::collections::BTreeMap;

use super::super::change::Content;
use super::super::sealing::{SECRET_NOT_FOUND, open_description, open_value};
use super::copy::{Copied, Source, copied, reserve};
use super::locate::{Located, field_error};
use super::{ChangeAction, ChangeEffect, KeyChange, KeyChangeResult};
use crate::access::EnvironmentScope;
use crate::crypto::{Description, Plaintext};
use crate::engine::{Context, Write};
use crate::model::{Code, EnvironmentId, Error, ProjectRef, Result, SecretKey, VersionConflict};
use crate::store::SecretRecord;

/// Planned changes of the secrets of one environment.
pub(super) struct PlannedEnvironment {
    pub(super) scope: EnvironmentScope,
    pub(super) steps: Vec<Step>,
}

/// A planned change: its index in the change set, and the edit of the stored secret.
pub(super) struct Step {
    /// Index of the change in the change set.
    index: usize,
    key: SecretKey,
    previous_version: u32,
    pub(super) edit: Edit,
    /// True if the stored value was decrypted and compared with the new value.
    pub(super) is_compared: bool,
    /// Environment from which the value is copied; `None` unless the action is `copy`.
    pub(super) copied_from: Option<Source>,
}

/// Edit of a stored secret, with the data to write.
pub(super) enum Edit {
    Nothing,
    /// Creates a secret with this key and content, with or without a description.
    Create(SecretKey, Content, Option<Plaintext>),
    /// Stores a new version of a secret with this content, with or without a new description.
    Replace(Box<SecretRecord>, Content, Option<Plaintext>),
    Describe(Box<SecretRecord>, Plaintext),
    Delete(Box<SecretRecord>),
}

/// Changes in one environment, together with the stored secrets that they affect.
struct Place {
    scope: EnvironmentScope,
    changes: Vec<Located>,
    known: BTreeMap<SecretKey, SecretRecord>,
}

/// Plans the edits for all changes. The environments must be locked.
pub(super) async fn plan(
    cx: &mut Context<'_, Write>,
    project: &ProjectRef,
    scopes: Vec<EnvironmentScope>,
    changes: Vec<Located>,
) -> Result<Vec<PlannedEnvironment>> {
    let mut copied = copied(cx, project, &changes).await?;
    let places = places(cx, scopes, changes).await?;
    check_versions(&places)?;
    let mut planned = Vec::with_capacity(places.len());
    for Place { scope, changes, mut known } in places {
        let mut steps = Vec::with_capacity(changes.len());
        for located in changes {
            let known = known.remove(&located.change.key);
            let copied = copied.remove(&located.index);
            steps.push(step(cx, &scope, located, (known, copied)).await?);
        }
        planned.push(PlannedEnvironment { scope, steps });
    }
    Ok(planned)
}

/// Loads the stored secrets that the changes affect. Fails if a rotation manages one of them.
async fn places(
    cx: &mut Context<'_, Write>,
    scopes: Vec<EnvironmentScope>,
    changes: Vec<Located>,
) -> Result<Vec<Place>> {
    let mut by_environment: BTreeMap<EnvironmentId, Vec<Located>> = BTreeMap::new();
    for located in changes {
        by_environment.entry(located.environment).or_default().push(located);
    }
    let (mut places, mut managed) = (Vec::with_capacity(scopes.len()), Vec::new());
    for scope in scopes {
        let id = scope.environment.id;
        let changes = by_environment.remove(&id).unwrap_or_default();
        let keys: Vec<_> = changes.iter().map(|located| located.change.key.clone()).collect();
        let known = cx.reads().secrets(id, &keys).await?;
        reserve(cx, known.iter().map(SecretRecord::size).sum()).await?;
        let known = known.into_iter().map(|secret| (secret.key.clone(), secret)).collect();
        let reserved = cx.reads().managed_keys(id, &keys).await?;
        let refused = changes.iter().filter(|located| reserved.contains(&located.change.key));
        managed.extend(refused.map(|located| {
            let rule = "is written by a rotation of this environment";
            field_error(located, "key", Code::ManagedKey, rule)
        }));
        places.push(Place { scope, changes, known });
    }
    if managed.is_empty() { Ok(places) } else { Err(Error::Invalid(managed)) }
}

/// Fails if a stored secret does not have its expected version, or if a change deletes or describes
/// a secret that does not exist.
fn check_versions(places: &[Place]) -> Result<()> {
    let mut conflicts: Vec<_> = places.iter().flat_map(Place::conflicts).collect();
    conflicts.sort_unstable_by_key(|conflict| conflict.index);
    if conflicts.is_empty() { Ok(()) } else { Err(Error::Outdated(conflicts)) }
}

impl Place {
    fn conflicts(&self) -> impl Iterator<Item = VersionConflict> {
        self.changes.iter().filter_map(|Located { index, change, .. }| {
            let version = self.known.get(&change.key).map_or(0, |known| known.version);
            let needs_secret =
                matches!(change.action, ChangeAction::Delete | ChangeAction::Describe { .. });
            let is_expected = change.expected_version.is_none_or(|expected| expected == version);
            (!is_expected || needs_secret && version == 0).then(|| VersionConflict {
                index: *index,
                environment: self.scope.environment.name.clone(),
                key: change.key.clone(),
                expected_version: change.expected_version,
                version,
            })
        })
    }
}

async fn step(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    Located { index, change, .. }: Located,
    (known, copied): (Option<SecretRecord>, Option<Copied>),
) -> Result<Step> {
    let KeyChange { key, action, .. } = change;
    let previous_version = known.as_ref().map_or(0, |known| known.version);
    let is_compared = is_comparable(scope, &action, known.as_ref());
    let (value, copied_from) = copied.map(|copied| (copied.value, copied.from)).unzip();
    let edit = match action {
        ChangeAction::Set { value, description } => {
            put(cx, scope, (key.clone(), known), (value, description), is_compared).await?
        }
        ChangeAction::Copy { description, .. } => {
            let value = value.ok_or_else(|| Error::internal("the value was not loaded"))?;
            put(cx, scope, (key.clone(), known), (value, description), is_compared).await?
        }
        ChangeAction::Hide if known.as_ref().is_some_and(|known| known.hidden) => Edit::Nothing,
        ChangeAction::Hide => {
            let content = Content { value: Plaintext::nothing(), hidden: true };
            write((key.clone(), known), content, None)
        }
        ChangeAction::Delete => Edit::Delete(Box::new(known.ok_or(SECRET_NOT_FOUND)?)),
        ChangeAction::Describe { description } => {
            describe(cx, scope, known.ok_or(SECRET_NOT_FOUND)?, Some(description)).await?
        }
    };
    Ok(Step { index, key, previous_version, edit, is_compared, copied_from })
}

/// True if the change sets a value that is compared with the stored value. If the caller may not
/// read the secret, its value is not compared: otherwise the result would reveal that a guessed
/// value is right.
fn is_comparable(
    scope: &EnvironmentScope,
    action: &ChangeAction,
    known: Option<&SecretRecord>,
) -> bool {
    let sets_value = matches!(action, ChangeAction::Set { .. } | ChangeAction::Copy { .. });
    sets_value && scope.may_read && known.is_some_and(|known| !known.hidden)
}

/// Plans a new value for a secret. If `is_compared` is true and the stored value is the same, plans
/// only the new description.
async fn put(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    (key, known): (SecretKey, Option<SecretRecord>),
    (value, description): (Plaintext, Option<Description>),
    is_compared: bool,
) -> Result<Edit> {
    let is_same = match known.as_ref().filter(|_| is_compared) {
        Some(known) => open_value(cx, scope, known).await?.is_same(&value),
        None => false,
    };
    match known {
        Some(known) if is_same => describe(cx, scope, known, description).await,
        known => {
            let content = Content { value, hidden: false };
            Ok(write((key, known), content, description.map(Description::into_plaintext)))
        }
    }
}

/// Plans new content for a secret, whether or not the secret exists.
fn write(
    (key, known): (SecretKey, Option<SecretRecord>),
    content: Content,
    description: Option<Plaintext>,
) -> Edit {
    match known {
        Some(known) => Edit::Replace(Box::new(known), content, description),
        None => Edit::Create(key, content, description),
    }
}

/// Plans a new description of a secret. Plans no change if `description` is `None`, or if the
/// caller may read the secret and it already has this description.
async fn describe(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    known: SecretRecord,
    description: Option<Description>,
) -> Result<Edit> {
    let Some(description) = description.map(Description::into_plaintext) else {
        return Ok(Edit::Nothing);
    };
    let is_same = scope.may_read
        && open_description(cx, scope, &known)
            .await?
            .is_some_and(|known| known.is_same(&description));
    Ok(if is_same { Edit::Nothing } else { Edit::Describe(Box::new(known), description) })
}

/// Returns the number by which these planned changes increase the number of secrets in their
/// environment: created minus deleted secrets.
pub(super) fn additional(steps: &[Step]) -> u64 {
    let new = steps.iter().filter(|step| matches!(step.edit, Edit::Create(..))).count();
    let deleted = steps.iter().filter(|step| matches!(step.edit, Edit::Delete(_))).count();
    new.saturating_sub(deleted) as u64
}

/// Returns the results of the changes, in the order of the change set.
pub(super) fn results(planned: &[PlannedEnvironment]) -> Vec<KeyChangeResult> {
    let steps = planned.iter().flat_map(|planned| {
        planned.steps.iter().map(|step| (step.index, step.result(&planned.scope)))
    });
    let results: BTreeMap<_, _> = steps.collect();
    results.into_values().collect()
}

impl Step {
    /// Returns the effect of the planned change on its secret: created, updated, same (nothing to
    /// write), hidden, deleted or described.
    pub(super) fn effect(&self) -> ChangeEffect {
        match &self.edit {
            Edit::Nothing => ChangeEffect::Same,
            Edit::Create(_, content, _) | Edit::Replace(_, content, _) if content.hidden => {
                ChangeEffect::Hidden
            }
            Edit::Create(..) => ChangeEffect::Created,
            Edit::Replace(..) => ChangeEffect::Updated,
            Edit::Describe(..) => ChangeEffect::Described,
            Edit::Delete(_) => ChangeEffect::Deleted,
        }
    }

    fn result(&self, scope: &EnvironmentScope) -> KeyChangeResult {
        let previous_version = self.previous_version;
        let version = match &self.edit {
            Edit::Create(..) | Edit::Replace(..) => Some(previous_version.saturating_add(1)),
            Edit::Nothing | Edit::Describe(..) => Some(previous_version),
            Edit::Delete(_) => None,
        };
        KeyChangeResult {
            environment: scope.environment.name.clone(),
            key: self.key.clone(),
            result: self.effect(),
            previous_version,
            version,
        }
    }
}
