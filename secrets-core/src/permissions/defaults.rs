//! Default permissions of a project's environments, for members without a permission of their own.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::derived_id;
use crate::engine::{Access, Audit, Callers, Context, Operation, Read, Write};
use crate::model::{
    EnvironmentId, EnvironmentName, Error, MemberAccess, Permission, ProjectId, ProjectRef, Result,
    Subject, Time, ValidationRule, Violation, object,
};
use crate::store::{EnvironmentDefault, PermissionDefault};

/// Name `*`, which stands for all environments of a project that have no default permission of
/// their own.
const OTHERS: &str = "*";

/// Default access of team members to an environment, for members without a permission of their own.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DefaultPermission {
    /// ID of the default permission, stable across requests.
    pub id: Uuid,
    /// Project ID.
    pub project_id: ProjectId,
    /// Environment name, or `*` for all environments that have no default permission of their own,
    /// including environments created later.
    #[cfg_attr(feature = "openapi", schema(example = "production"))]
    pub environment_name: String,
    /// Access level that team members get by default.
    pub default_role: MemberAccess,
    /// Time at which the default permission was set.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
}

/// Default permissions to set. They replace all previous defaults of the project.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewDefaults {
    /// Default permissions to set, each environment at most once. Environments that are not listed
    /// get the default permission for `*` or, if `*` is not listed either, the default access level
    /// of the service.
    #[serde(deserialize_with = "object::list")]
    pub defaults: Vec<NewDefault>,
}

/// Default access level of an environment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewDefault {
    /// Name of an environment, or `*` for all environments that are not listed.
    #[cfg_attr(feature = "openapi", schema(
        value_type = String, pattern = "^([*]|[A-Za-z0-9][A-Za-z0-9_-]{0,63})$",
        example = "production",
    ))]
    pub environment_name: DefaultScope,
    /// Default access level: `none`, `read`, `write` or `admin`.
    pub default_role: MemberAccess,
}

/// Environments to which a default permission applies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum DefaultScope {
    /// All environments that have no default permission of their own.
    Others,
    /// Environment with this name.
    Environment(EnvironmentName),
}

/// Lists the default permissions of a project.
#[derive(Debug)]
pub struct GetPermissionDefaults {
    /// Project ID or slug.
    pub project: ProjectRef,
}

/// Replaces the default permissions of a project.
#[derive(Debug)]
pub struct PutPermissionDefaults {
    /// Project ID or slug.
    pub project: ProjectRef,
    /// Default permissions to set. They replace all previous ones of the project.
    pub defaults: NewDefaults,
}

/// Removes all default permissions of a project, so that the default access level of the service
/// applies again.
#[derive(Debug)]
pub struct DeletePermissionDefaults {
    /// Project ID or slug.
    pub project: ProjectRef,
}

impl Operation for GetPermissionDefaults {
    const NAME: &'static str = "permission_defaults.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<DefaultPermission>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<DefaultPermission>> {
        let project = cx.project(&self.project, Permission::See).await?.project.id;
        stored(cx, project).await
    }
}

impl Operation for PutPermissionDefaults {
    const NAME: &'static str = "permission_defaults.put";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission_defaults.set");
    type Access = Write;
    type Output = Vec<DefaultPermission>;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Vec<DefaultPermission>> {
        let project = cx.locked_project(&self.project, Permission::Manage).await?.project;
        let wanted = self.defaults.defaults;
        let environments = environments(cx, project.id).await?;
        check(&wanted, &environments)?;
        clear(cx, project.id).await?;
        let mut details = Vec::new();
        for default in &wanted {
            set(cx, project.id, &environments, default).await?;
            let name = default.environment_name.as_str();
            details.push(json!({ "environment_name": name, "role": default.default_role }));
        }
        cx.set_resource("permission_defaults", project.id.uuid(), project.name.as_str());
        cx.add_detail("defaults", details);
        stored(cx, project.id).await
    }
}

impl Operation for DeletePermissionDefaults {
    const NAME: &'static str = "permission_defaults.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission_defaults.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let project = cx.locked_project(&self.project, Permission::Manage).await?.project;
        if !clear(cx, project.id).await? {
            return Err(Error::NotFound(Subject::Permission));
        }
        cx.set_resource("permission_defaults", project.id.uuid(), project.name.as_str());
        Ok(())
    }
}

/// Returns the names of a project's environments with their IDs.
async fn environments<A: Access>(
    cx: &mut Context<'_, A>,
    project: ProjectId,
) -> Result<BTreeMap<EnvironmentName, EnvironmentId>> {
    let principal = cx.caller.principal()?;
    let environments = cx.reads().environments(project, principal).await?;
    Ok(environments.into_iter().map(|environment| (environment.name, environment.id)).collect())
}

/// Fails if a default permission names an unknown environment, or if two of them name the same
/// environment.
fn check(
    wanted: &[NewDefault],
    environments: &BTreeMap<EnvironmentName, EnvironmentId>,
) -> Result<()> {
    let mut named = BTreeSet::new();
    for (place, default) in wanted.iter().enumerate() {
        let rule = match &default.environment_name {
            DefaultScope::Environment(name) if !environments.contains_key(name) => {
                "must be an environment of the project, or *"
            }
            scope if !named.insert(scope) => "must be given once",
            _ => continue,
        };
        return Err(Error::invalid(format!("defaults[{place}].environment_name"), rule));
    }
    Ok(())
}

/// Deletes the default permissions of a project. Returns false if the project has none.
async fn clear(cx: &mut Context<'_, Write>, project: ProjectId) -> Result<bool> {
    let has_project_default = cx.reads().permission_default(project).await?.is_some();
    let has_others = !cx.reads().environment_defaults(project).await?.is_empty();
    if has_project_default {
        cx.tx().delete_permission_default(project).await?;
    }
    cx.tx().delete_environment_defaults(project).await?;
    Ok(has_project_default || has_others)
}

async fn set(
    cx: &mut Context<'_, Write>,
    project: ProjectId,
    environments: &BTreeMap<EnvironmentName, EnvironmentId>,
    default: &NewDefault,
) -> Result<()> {
    let (access, set_by, now) = (default.default_role, cx.caller.actor(), cx.now());
    let environment = match &default.environment_name {
        DefaultScope::Others => None,
        DefaultScope::Environment(name) => environments.get(name).copied(),
    };
    if let Some(environment) = environment {
        let record = EnvironmentDefault { environment, access, set_by, created_at: now };
        cx.tx().insert_environment_default(&record).await?;
    } else {
        let record = PermissionDefault { project, access, set_by, updated_at: now };
        cx.tx().put_permission_default(&record).await?;
    }
    Ok(())
}

/// Lists the default permissions of a project: first the default permission for `*`, then those of
/// single environments, ordered by environment name.
async fn stored<A: Access>(
    cx: &mut Context<'_, A>,
    project_id: ProjectId,
) -> Result<Vec<DefaultPermission>> {
    let of_others = cx.reads().permission_default(project_id).await?;
    let of_others = of_others.map(|record| DefaultPermission {
        id: derived_id(project_id.uuid(), project_id.uuid()),
        project_id,
        environment_name: OTHERS.to_owned(),
        default_role: record.access,
        created_at: record.updated_at,
    });
    let records = cx.reads().environment_defaults(project_id).await?;
    let records: BTreeMap<_, _> =
        records.into_iter().map(|record| (record.environment, record)).collect();
    let named = environments(cx, project_id).await?.into_iter().filter_map(|(name, id)| {
        let record = records.get(&id)?;
        Some(DefaultPermission {
            id: derived_id(project_id.uuid(), id.uuid()),
            project_id,
            environment_name: name.as_str().to_owned(),
            default_role: record.access,
            created_at: record.created_at,
        })
    });
    Ok(of_others.into_iter().chain(named).collect())
}

impl DefaultScope {
    fn as_str(&self) -> &str {
        match self {
            Self::Others => OTHERS,
            Self::Environment(name) => name.as_str(),
        }
    }
}

impl TryFrom<String> for DefaultScope {
    type Error = Violation;

    fn try_from(text: String) -> std::result::Result<Self, Violation> {
        const RULE: ValidationRule = ValidationRule::of("must be an environment name, or *");
        if text == OTHERS {
            return Ok(Self::Others);
        }
        text.parse().map(Self::Environment).map_err(|_| RULE.violation())
    }
}
