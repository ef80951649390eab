//! Plans in the configuration file: one table `[plans.NAME]` per plan, with a limit per quota. A
//! quota missing from the table is unlimited, except `bytes`.

use secrets_core::model::{Plan, PlanName, Quota};

/// Name of the field for the retention of the team's audit log, in days.
const AUDIT_DAYS: &str = "audit_days";

/// Name of the field for the maximum size of an environment's previous versions.
const HISTORY_BYTES: &str = "history_bytes";

/// Name of the field for the maximum number of previous versions of a secret.
const VERSIONS: &str = "versions";

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
    let (mut audit_days, mut history_bytes, mut versions) = (None, None, None);
    for (key, value) in limits {
        match key.as_str() {
            AUDIT_DAYS => audit_days = Some(number(name, AUDIT_DAYS, 1, &value)?),
            HISTORY_BYTES => history_bytes = Some(number(name, HISTORY_BYTES, 0, &value)?),
            VERSIONS => versions = Some(number(name, VERSIONS, 1, &value)?),
            key => {
                let quota = Quota::ALL.into_iter().find(|quota| quota.as_str() == key);
                let quota =
                    quota.ok_or_else(|| format!("has an unknown key: plans.{name}.{key}"))?;
                quotas.push((quota, number(name, quota.as_str(), quota.least(), &value)?));
            }
        }
    }
    let mut plan = Plan::new(parsed, quotas).map_err(|quota| quota_error(name, quota))?;
    plan.audit_days = audit_days.unwrap_or(plan.audit_days);
    plan.history_bytes = history_bytes.unwrap_or(plan.history_bytes);
    plan.versions = versions.unwrap_or(plan.versions);
    Ok(plan)
}

/// Parses a whole number that is at least `least`.
fn number<T: TryFrom<i64> + Into<u64> + Copy>(
    name: &str,
    key: &str,
    least: u64,
    value: &toml::Value,
) -> Result<T, String> {
    let number = value.as_integer().and_then(|number| T::try_from(number).ok());
    let number = number.filter(|number| (*number).into() >= least);
    number.ok_or_else(|| number_error(name, key, least))
}

fn quota_error(name: &str, quota: Quota) -> String {
    number_error(name, quota.as_str(), quota.least())
}

fn number_error(name: &str, key: &str, least: u64) -> String {
    format!("must give plans.{name}.{key} as a whole number, {least} or more")
}
