//! Plans in the configuration file: one table `[plans.NAME]` for each plan, with a limit for each
//! quota. A quota that the table does not contain is unlimited, except `bytes`.

use secrets_core::model::{Plan, PlanName, Quota};

/// Field of a plan: number of days for which the audit log of a team is kept.
const AUDIT_DAYS: &str = "audit_days";

/// Maximum number of days for which an audit log is kept: a hundred years. Not every database can
/// store a time that is many centuries ago.
const MAX_AUDIT_DAYS: u32 = 36_500;

/// Field of a plan: maximum total size of the previous versions of an environment's secrets, in
/// bytes.
const HISTORY_BYTES: &str = "history_bytes";

/// Field of a plan: maximum number of previous versions of a secret.
const VERSIONS: &str = "versions";

/// Parses the table `plans` of the configuration file. The error is a phrase that is appended to
/// the name of the file.
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
            AUDIT_DAYS => audit_days = Some(days(name, AUDIT_DAYS, &value)?),
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

/// Parses a whole number that is at least `least`. `name` is the plan and `key` the field, for the
/// error.
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

/// Parses a number of days. `name` is the plan and `key` the field, for the error.
fn days(name: &str, key: &str, value: &toml::Value) -> Result<u32, String> {
    let days = value.as_integer().and_then(|days| u32::try_from(days).ok());
    let days = days.filter(|days| (1..=MAX_AUDIT_DAYS).contains(days));
    days.ok_or_else(|| {
        format!("must give plans.{name}.{key} as a whole number, 1 to {MAX_AUDIT_DAYS}")
    })
}

fn quota_error(name: &str, quota: Quota) -> String {
    number_error(name, quota.as_str(), quota.least())
}

fn number_error(name: &str, key: &str, least: u64) -> String {
    format!("must give plans.{name}.{key} as a whole number, {least} or more")
}
