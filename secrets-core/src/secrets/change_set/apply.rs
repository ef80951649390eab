//! Writing the changes of a change set.

use std::collections::BTreeSet;

use super::super::sealing::seal_description;
use super::super::writing::{
    SecretBatch, check_environment_size, check_secret_quota, check_team_size, delete,
    first_version, next_version,
};
use super::copy::Source;
use super::locate::{Located, locate};
use super::plan::{Edit, PlannedEnvironment, Step, additional, plan, results};
use super::reads::{compared, record_copies};
use super::{ChangeEffect, ChangeSecrets, ChangeSet, ChangeSetResult};
use crate::access::EnvironmentScope;
use crate::engine::{Audit, AuditContext, Callers, Context, Lock, Operation, Write};
use crate::model::{Permission, Result, Subject};
use crate::store::SecretRecord;

impl Operation for ChangeSecrets {
    const NAME: &'static str = "secret.change";
    const CALLERS: Callers = Callers::Authenticated;
    /// Audit log behaviour of change sets: one entry for each changed secret, one for each
    /// environment from which values are copied, and one for comparisons without a change.
    const AUDIT: Audit = Audit::Change("secrets.changed");
    const IS_LONG: bool = true;
    type Access = Write;
    type Output = ChangeSetResult;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<ChangeSetResult> {
        let ChangeSet { changes, dry_run } = self.change_set;
        let (project, located) = locate(cx, &self.project, changes).await?;
        let environments: BTreeSet<_> =
            located.iter().map(|Located { environment, .. }| *environment).collect();
        let scopes = cx.locked_environments(&project, &environments, Permission::Write).await?;
        let planned = plan(cx, &project, scopes, located).await?;
        let results = results(&planned);
        record_copies(cx, &planned);
        let compared = compared(cx, &planned, dry_run);
        let (mut growth, mut last) = (0, None);
        for PlannedEnvironment { scope, steps } in planned {
            growth += apply(cx, &scope, steps).await?;
            last = Some(scope);
        }
        if let Some(scope) = last {
            check_team_size(cx, &scope, growth).await?;
        }
        // Each changed secret has an entry of its own.
        cx.audit.skips_audit = true;
        if dry_run {
            cx.roll_back_afterwards(compared);
        } else {
            cx.audit.others.extend(compared);
        }
        Ok(ChangeSetResult::new(dry_run, results))
    }
}

/// Writes the changes of one environment. Increments the environment's revision only if something
/// is written. Returns the number of bytes by which the size of the environment's secrets grew.
async fn apply(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    mut steps: Vec<Step>,
) -> Result<i128> {
    steps.retain(|step| !matches!(step.edit, Edit::Nothing));
    if steps.is_empty() {
        return Ok(0);
    }
    let locked = cx.lock(Lock::Secrets(scope.environment.id)).await;
    locked.map_err(|error| error.or_not_found(Subject::Environment))?;
    check_secret_quota(cx, scope, additional(&steps)).await?;
    let mut batch = SecretBatch::default();
    for step in steps {
        make(cx, scope, step, &mut batch).await?;
    }
    batch.store(cx, scope).await?;
    check_environment_size(cx, scope).await
}

/// Makes one change and adds its audit entry. New secrets and new versions are added to `batch`, so
/// that they are stored together.
async fn make(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    step: Step,
    batch: &mut SecretBatch,
) -> Result<()> {
    let change = (step.effect(), step.copied_from);
    match step.edit {
        Edit::Nothing => {}
        Edit::Create(key, content, description) => {
            let secret = first_version(cx, scope, key, &content, description.as_ref());
            record(cx, scope, &secret, change);
            batch.new.push(secret);
        }
        Edit::Replace(mut known, content, description) => {
            if let Some(text) = description {
                known.description = Some(seal_description(cx, scope, &known, &text));
            }
            let secret = next_version(cx, scope, *known, &content, content.change())?;
            record(cx, scope, &secret.record, change);
            batch.replace(secret);
        }
        Edit::Describe(mut known, text) => {
            known.description = Some(seal_description(cx, scope, &known, &text));
            (known.updated_by, known.updated_at) = (cx.caller.actor(), cx.now());
            cx.tx().update_secret_description(&known).await?;
            record(cx, scope, &known, change);
        }
        Edit::Delete(known) => {
            delete(cx, &known).await?;
            record(cx, scope, &known, change);
        }
    }
    Ok(())
}

/// Adds the audit entry of one changed secret. The entry is the same as if the secret had been
/// changed by an operation of its own.
fn record(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    secret: &SecretRecord,
    (effect, copied_from): (ChangeEffect, Option<Source>),
) {
    let action = match effect {
        ChangeEffect::Created => "secret.created",
        ChangeEffect::Hidden => "secret.hidden",
        ChangeEffect::Deleted => "secret.deleted",
        ChangeEffect::Updated | ChangeEffect::Described | ChangeEffect::Same => "secret.updated",
    };
    let mut context = AuditContext {
        action: Some(action),
        team: cx.audit.team,
        project: cx.audit.project.clone(),
        environment: Some((scope.environment.id, scope.environment.name.to_string())),
        resource: Some(("secret", Some(secret.id.uuid()), Some(secret.key.to_string()))),
        is_anonymized: cx.audit.is_anonymized,
        ..AuditContext::default()
    };
    context.details.insert("version".to_owned(), secret.version.into());
    if let Some(from) = copied_from {
        context.details.insert("copied_from".to_owned(), from.name.as_str().into());
    }
    cx.audit.others.push(context);
}
