//! The plans of the file: a table `[plans.NAME]` for each, with how many it allows of what. What a
//! table does not name is not limited.

use secrets_core::model::{Plan, PlanName, Quota};

/// How many days a team's audit log is kept.
const AUDIT_DAYS: &str = "audit_days";

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
    let mut audit_days = None;
    for (key, value) in limits {
        if key == AUDIT_DAYS {
            let days = value.as_integer().and_then(|days| u32::try_from(days).ok());
            let days = days.filter(|days| *days > 0);
            audit_days = Some(days.ok_or_else(|| wrong_number(name, AUDIT_DAYS, 1))?);
            continue;
        }
        let quota = Quota::ALL.into_iter().find(|quota| quota.as_str() == key);
        let quota =
            quota.ok_or_else(|| format!("has a key that means nothing: plans.{name}.{key}"))?;
        let limit = value.as_integer().and_then(|limit| u64::try_from(limit).ok());
        quotas.push((quota, limit.ok_or_else(|| too_small(name, quota))?));
    }
    let mut plan = Plan::new(parsed, quotas).map_err(|quota| too_small(name, quota))?;
    plan.audit_days = audit_days.unwrap_or(plan.audit_days);
    Ok(plan)
}

fn too_small(name: &str, quota: Quota) -> String {
    wrong_number(name, quota.as_str(), quota.least())
}

fn wrong_number(name: &str, key: &str, least: u64) -> String {
    format!("must give plans.{name}.{key} as a whole number, {least} or more")
}
