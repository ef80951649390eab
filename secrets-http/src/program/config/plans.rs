//! Plans in the configuration file: one table `[plans.NAME]` per plan, with a limit per quota. A
//! quota missing from the table is unlimited.

use secrets_core::model::{Plan, PlanName, Quota};

/// Name of the field for the retention of the team's audit log, in days.
const AUDIT_DAYS: &str = "audit_days";

/// Parses the table `plans`. The error is a phrase to append to the name of the file.
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
            audit_days = Some(days.ok_or_else(|| number_error(name, AUDIT_DAYS, 1))?);
            continue;
        }
        let quota = Quota::ALL.into_iter().find(|quota| quota.as_str() == key);
        let quota = quota.ok_or_else(|| format!("has an unknown key: plans.{name}.{key}"))?;
        let limit = value.as_integer().and_then(|limit| u64::try_from(limit).ok());
        quotas.push((quota, limit.ok_or_else(|| quota_error(name, quota))?));
    }
    let mut plan = Plan::new(parsed, quotas).map_err(|quota| quota_error(name, quota))?;
    plan.audit_days = audit_days.unwrap_or(plan.audit_days);
    Ok(plan)
}

fn quota_error(name: &str, quota: Quota) -> String {
    number_error(name, quota.as_str(), quota.least())
}

fn number_error(name: &str, key: &str, least: u64) -> String {
    format!("must give plans.{name}.{key} as a whole number, {least} or more")
}
