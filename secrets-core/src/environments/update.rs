//! Changing an environment.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::{Environment, parent_of};
use crate::access::{CHAIN_TOO_LONG, LockedRow, MAX_CHAIN_LENGTH};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{
    Code, EnvironmentId, EnvironmentName, EnvironmentPath, EnvironmentRef, Error, Permission,
    Result, Summary,
};
use crate::store::EnvironmentRecord;

/// Fields of the environment to change. At least one is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "description": "Serves the customers", "inherits_from": "staging",
})))]
pub struct EnvironmentChange {
    /// New name of the environment. Default environments cannot be renamed.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<EnvironmentName>))]
    pub name: Option<EnvironmentName>,
    /// Environment of the same project to inherit from, by ID or name; `null` stops inheriting.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "staging"))]
    pub inherits_from: Parent,
    /// New description of the environment.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Summary>))]
    pub description: Option<Summary>,
}

/// Change of the parent from which an environment inherits secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Parent {
    /// Keeps the current parent.
    #[default]
    Same,
    /// Removes the parent: the environment then inherits nothing.
    Nothing,
    /// Sets this environment of the same project as the parent.
    Environment(EnvironmentRef),
}

/// Changes an environment's name, parent or description. Requires the role owner or admin of the
/// team: a new parent changes the secrets that other users read in the environment, and a new name
/// changes the path of the environment.
#[derive(Debug)]
pub struct UpdateEnvironment {
    /// Environment to change.
    pub at: EnvironmentPath,
    /// Fields of the environment to change.
    pub change: EnvironmentChange,
}

impl Operation for UpdateEnvironment {
    const NAME: &'static str = "environment.update";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("environment.updated");
    type Access = Write;
    type Output = Environment;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Environment> {
        // The lock on the project keeps every inheritance chain as it was checked.
        let rows = &[LockedRow::Project, LockedRow::Environment];
        let scope = cx.locked_environment(&self.at, Permission::Manage, rows).await?;
        let mut environment = scope.environment;
        let EnvironmentChange { name, inherits_from, description } = self.change;
        if name.is_none() && inherits_from == Parent::Same && description.is_none() {
            return Err(Error::invalid("name", "or inherits_from or description must be given"));
        }
        if let Some(name) = name {
            rename(cx, &mut environment, name)?;
        }
        inherit(cx, &self.at, &mut environment, inherits_from).await?;
        environment.description = description.map(Into::into).or(environment.description);
        environment.updated_at = cx.now();
        let taken = || Error::taken("name", "is taken already in this project");
        cx.tx().update_environment(&environment).await.map_err(|error| error.taken(taken()))?;

        cx.audit.environment = Some((environment.id, environment.name.to_string()));
        cx.set_resource("environment", environment.id.uuid(), environment.name.as_str());
        Ok(environment.into())
    }
}

fn rename(
    cx: &mut Context<'_, Write>,
    environment: &mut EnvironmentRecord,
    name: EnvironmentName,
) -> Result<()> {
    if name == environment.name {
        return Ok(());
    }
    if environment.is_default {
        return Err(Error::Refused {
            code: Code::DefaultEnvironment,
            reason:
                "the default environments development, staging and production cannot be renamed"
                    .into(),
        });
    }
    cx.add_detail("renamed_from", environment.name.as_str());
    environment.name = name;
    Ok(())
}

async fn inherit(
    cx: &mut Context<'_, Write>,
    at: &EnvironmentPath,
    environment: &mut EnvironmentRecord,
    parent: Parent,
) -> Result<()> {
    let parent = match parent {
        Parent::Same => return Ok(()),
        Parent::Nothing => {
            environment.inherits_from = None;
            cx.add_detail("inherits_from", serde_json::Value::Null);
            return Ok(());
        }
        Parent::Environment(parent) => parent,
    };
    let chain = parent_of(cx, &at.project, parent).await?;
    if chain.iter().any(|ancestor| ancestor.id == environment.id) {
        return Err(Error::Refused {
            code: Code::CircularInheritance,
            reason: "an environment cannot inherit from itself or from one that inherits from it"
                .into(),
        });
    }
    let principal = cx.caller.principal()?;
    let siblings = cx.reads().environments(environment.project, principal).await?;
    if chain.len() + height(&siblings, environment.id) > MAX_CHAIN_LENGTH {
        return Err(CHAIN_TOO_LONG);
    }
    if let Some(parent) = chain.into_iter().next() {
        cx.add_detail("inherits_from", parent.name.as_str());
        environment.inherits_from = Some(parent.id);
    }
    Ok(())
}

/// Returns the number of environments in the longest inheritance chain that leads up to
/// `environment`, including `environment`: 1 if no other environment inherits from it.
fn height(all: &[EnvironmentRecord], environment: EnvironmentId) -> usize {
    let parents: BTreeMap<_, _> =
        all.iter().map(|record| (record.id, record.inherits_from)).collect();
    // The service stores no chain that is longer than this limit. The limit also ends the iteration
    // at a cycle that something other than the service has stored.
    let above = |from: EnvironmentId| {
        std::iter::successors(Some(from), |id| parents.get(id).copied().flatten())
            .take(MAX_CHAIN_LENGTH + 1)
    };
    let distances = parents.keys().filter_map(|id| above(*id).position(|id| id == environment));
    distances.max().unwrap_or_default() + 1
}

impl<'de> Deserialize<'de> for Parent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Nothing, Self::Environment))
    }
}
