//! Comparing the secrets of several environments.

use std::collections::{BTreeMap, BTreeSet};

use super::column::{Column, Contents};
use super::comparison::{ComparedEnvironment, ComparedKey, Comparison};
use super::etag::chain_etag;
use super::{Precondition, WithETag};
use crate::access::View;
use crate::crypto::Tag;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{
    EnvironmentPath, EnvironmentRef, Error, MemberAccess, Permission, ProjectRef, Result,
    RotationName, SecretKey, Subject,
};
use crate::store::{EnvironmentRecord, RotationRecord, Selection};

/// Compares the secrets of a project's environments, without their values. An environment that the
/// caller may not access is included, but without its secrets.
#[derive(Debug)]
pub struct CompareSecrets {
    /// Project ID or slug.
    pub project: ProjectRef,
    /// Environments to compare. `None` compares all environments of the project, or those in the
    /// scope of a service token.
    pub environments: Option<Vec<EnvironmentRef>>,
    /// True to mark equal values with the same group number. For this, the values that the caller
    /// may read are decrypted and compared, and the comparison is recorded in the audit log.
    pub equal: bool,
    /// Precondition (`If-None-Match`): ETags of the responses that the caller already has.
    pub precondition: Precondition,
}

impl CompareSecrets {
    /// Parses a list of environment names and IDs that are separated by commas.
    pub fn environments(text: &str) -> Result<Vec<EnvironmentRef>> {
        if text.split(',').any(str::is_empty) {
            let rule = "must be names or IDs of environments, separated by commas";
            return Err(Error::invalid("environments", rule));
        }
        Ok(text.split(',').map(EnvironmentRef::from).collect())
    }
}

/// An environment of the comparison, with the data that the caller may read.
struct Readable {
    environment: EnvironmentRecord,
    /// Secrets of the environment and its ancestors; `None` if the caller has no access.
    view: Option<View>,
    rotations: Vec<RotationRecord>,
}

impl Operation for CompareSecrets {
    const NAME: &'static str = "secret.compare";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Read("secrets.compared");
    const HAS_LARGE_OUTPUT: bool = true;
    type Access = Read;
    type Output = WithETag<Comparison>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<WithETag<Comparison>> {
        let environments = selected(cx, &self.project, self.environments.as_deref()).await?;
        cx.audit.skips_audit = !self.equal;
        if self.precondition != Precondition::None {
            let tag = current_tag(cx, &environments, self.equal).await?;
            if self.precondition.matches(&tag) {
                cx.audit.skips_audit = true;
                return Ok(WithETag { tag, answer: None });
            }
        }
        let mut contents = Contents::new(self.equal, environments.len());
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        for environment in environments {
            // Load one environment at a time, so that memory holds the encrypted secrets of only
            // one inheritance chain.
            let readable = readable(cx, environment, Selection::All).await?;
            parts.push(readable.tag(cx));
            columns.push(column(cx, readable, &mut contents).await?);
        }
        let tag = tag(cx, self.equal, &parts);
        if self.equal {
            let names = columns.iter().map(|column| column.environment.name.to_string());
            cx.add_detail("environments", names.collect::<Vec<_>>());
            cx.add_detail("count", contents.compared());
        }
        let answer = comparison(tag.clone(), columns);
        Ok(WithETag { tag, answer: Some(answer) })
    }
}

/// Loads the environments that the request selects, in display order.
async fn selected(
    cx: &mut Context<'_, Read>,
    project: &ProjectRef,
    wanted: Option<&[EnvironmentRef]>,
) -> Result<Vec<EnvironmentRecord>> {
    let project = cx.project(project, Permission::See).await?.project.id;
    let principal = cx.caller.principal()?;
    let mut known = cx.reads().environments(project, principal).await?;
    let Some(wanted) = wanted else { return Ok(known) };
    for environment in wanted {
        if known.iter().all(|known| !names(environment, known)) {
            // An environment outside of a token's scope is refused here.
            let path = EnvironmentPath::new(project, environment.clone());
            cx.environment(&path, Permission::See).await?;
            return Err(Error::NotFound(Subject::Environment));
        }
    }
    known.retain(|known| wanted.iter().any(|wanted| names(wanted, known)));
    Ok(known)
}

/// True if the reference (an ID or a name) refers to this environment.
fn names(reference: &EnvironmentRef, environment: &EnvironmentRecord) -> bool {
    match reference {
        EnvironmentRef::Id(id) => *id == environment.id,
        EnvironmentRef::Name(name) => *name == environment.name.as_str(),
    }
}

async fn readable(
    cx: &mut Context<'_, Read>,
    environment: EnvironmentRecord,
    selection: Selection<'_>,
) -> Result<Readable> {
    let path = EnvironmentPath::new(environment.project, environment.id);
    let view = cx.view_if_readable(&path, selection).await?;
    let rotations = match &view {
        Some(_) => cx.reads().rotations(environment.id).await?,
        None => Vec::new(),
    };
    Ok(Readable { environment, view, rotations })
}

/// Computes the current ETag of the comparison without loading secrets.
async fn current_tag(
    cx: &mut Context<'_, Read>,
    environments: &[EnvironmentRecord],
    equal: bool,
) -> Result<Tag> {
    let mut parts = Vec::new();
    for environment in environments {
        parts.push(readable(cx, environment.clone(), Selection::None).await?.tag(cx));
    }
    Ok(tag(cx, equal, &parts))
}

fn tag(cx: &Context<'_, Read>, equal: bool, parts: &[Tag]) -> Tag {
    let form: &[u8] = if equal { b"compare equal" } else { b"compare" };
    let parts = parts.iter().map(|part| part.as_str().as_bytes());
    Tag::of(cx.keyring(), std::iter::once(form).chain(parts))
}

impl Readable {
    /// Returns the caller's access level in this environment.
    fn role(&self) -> MemberAccess {
        match self.view.as_ref().map(|view| &view.scope) {
            None => MemberAccess::None,
            Some(scope) if scope.may_grant => MemberAccess::Admin,
            Some(scope) if scope.may_write => MemberAccess::Write,
            Some(_) => MemberAccess::Read,
        }
    }

    /// Computes this environment's part of the comparison's ETag.
    fn tag(&self, cx: &Context<'_, Read>) -> Tag {
        let mut form = format!("compared {} {}", self.role().as_str(), self.environment.position);
        let Some(view) = &self.view else {
            // A new parent does not change the revision of the environment.
            if let Some(parent) = self.environment.inherits_from {
                form = format!("{form} below {parent}");
            }
            return chain_etag(cx.keyring(), &form, [&self.environment]);
        };
        for environment in &view.restricted {
            form = format!("{form} without {environment}");
        }
        // The name and the keys of a rotation never change.
        for rotation in &self.rotations {
            form = format!("{form} rotation {}", rotation.id);
        }
        chain_etag(cx.keyring(), &form, view.chain.iter().map(|link| &link.environment))
    }
}

async fn column(
    cx: &mut Context<'_, Read>,
    readable: Readable,
    contents: &mut Contents,
) -> Result<Column> {
    let role = readable.role();
    let Readable { environment, view, rotations } = readable;
    // Use the environment record that the query returned together with the secrets, because both
    // have the same state.
    let record = view.as_ref().map_or(environment, |view| view.scope.environment.clone());
    let environment = ComparedEnvironment {
        id: record.id,
        name: record.name,
        inherits_from: record.inherits_from,
        order: record.position,
        role,
        missing: None,
    };
    let Some(view) = view else { return Ok(Column { environment, cells: BTreeMap::new() }) };
    let cells = contents.cells(cx, view, &managed_keys(rotations)?).await?;
    Ok(Column { environment, cells })
}

/// Returns the secret keys that these rotations write, each with the name of the rotation that
/// writes it.
fn managed_keys(rotations: Vec<RotationRecord>) -> Result<BTreeMap<SecretKey, RotationName>> {
    let mut managed = BTreeMap::new();
    for rotation in rotations {
        let keys: BTreeMap<String, SecretKey> =
            serde_json::from_str(&rotation.settings.keys).map_err(Error::internal)?;
        managed.extend(keys.into_values().map(|key| (key, rotation.settings.name.clone())));
    }
    Ok(managed)
}

/// Builds the comparison from its columns: one row for each secret key, and the number of missing
/// keys of each environment.
fn comparison(revision: Tag, mut columns: Vec<Column>) -> Comparison {
    let keys: BTreeSet<_> =
        columns.iter().flat_map(|column| column.cells.keys()).cloned().collect();
    let keys: Vec<_> = keys
        .into_iter()
        .map(|key| {
            let cells = columns.iter_mut().map(|column| column.cells.remove(&key)).collect();
            ComparedKey { key, cells }
        })
        .collect();
    let mut environments: Vec<_> = columns.into_iter().map(|column| column.environment).collect();
    for (place, environment) in environments.iter_mut().enumerate() {
        if environment.role != MemberAccess::None {
            let is_missing = |row: &&ComparedKey| {
                row.has_value() && row.cells.get(place).is_some_and(Option::is_none)
            };
            environment.missing = Some(keys.iter().filter(is_missing).count());
        }
    }
    Comparison { revision, environments, keys }
}
