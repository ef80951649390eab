//! The plans of the file: a table `[plans.NAME]` for each, with how many it allows of what. What a
//! table does not name is not limited.

use secrets_core::limits::{Plan, Quota};
use secrets_core::names::PlanName;

/// The plans of the table `plans`, or what is wrong with it, to be read after the file's name.
pub(super) fn read(table: toml::Value) -> Result<Vec<Plan>, String> {
    let toml::Value::Table(plans) = table else {
        return Err("must give plans as tables: [plans.NAME]".to_owned());
    };
    plans.into_iter().map(|(name, table)| plan(&name, table)).collect()
}

fn plan(name: &str, table: toml::Value) -> Result<Plan, String> {
    let parsed: PlanName = name.parse().map_err(|rule| format!("has a plan whose name {rule}"))?;
    let toml::Value::Table(limits) = table else {
        return Err(format!("must give plans.{name} as a table: [plans.{name}]"));
    };
    let mut quotas = Vec::new();
    for (key, value) in limits {
        let quota = Quota::ALL.into_iter().find(|quota| quota.as_str() == key);
        let quota =
            quota.ok_or_else(|| format!("has a key that means nothing: plans.{name}.{key}"))?;
        let limit = value.as_integer().and_then(|limit| u64::try_from(limit).ok());
        quotas.push((quota, limit.ok_or_else(|| too_small(name, quota))?));
    }
    Plan::new(parsed, quotas).map_err(|quota| too_small(name, quota))
}

fn too_small(name: &str, quota: Quota) -> String {
    let (key, least) = (quota.as_str(), quota.least());
    format!("must give plans.{name}.{key} as a whole number, {least} or more")
}
