//! Audit entries of the values that a change set reads: values that are copied to other
//! environments, and stored values that are compared with new ones.

use std::collections::{BTreeMap, BTreeSet};

use super::super::reading::compared_values;
use super::plan::{Edit, PlannedEnvironment, Step};
use crate::engine::{AuditContext, Context, Write};
use crate::model::EnvironmentName;

/// Copies from one environment.
#[derive(Default)]
struct Copies<'a> {
    count: usize,
    /// Number of copied values that the environment inherits.
    inherited: usize,
    /// Names of the environments to which the values are copied.
    targets: BTreeSet<&'a EnvironmentName>,
}

/// Adds an audit entry for each environment from which values are copied, in the form of the entry
/// of an export. Copies that change nothing are not counted.
pub(super) fn record_copies(cx: &mut Context<'_, Write>, planned: &[PlannedEnvironment]) {
    let mut by_source: BTreeMap<_, Copies<'_>> = BTreeMap::new();
    for PlannedEnvironment { scope, steps } in planned {
        for step in steps.iter().filter(|step| writes_value(step)) {
            let Some(from) = &step.copied_from else { continue };
            let copies = by_source.entry((from.id, &from.name)).or_default();
            copies.count += 1;
            copies.inherited += usize::from(from.is_inherited);
            copies.targets.insert(&scope.environment.name);
        }
    }
    for ((id, name), Copies { count, inherited, targets }) in by_source {
        let mut context = AuditContext {
            action: Some("secrets.exported"),
            team: cx.audit.team,
            project: cx.audit.project.clone(),
            environment: Some((id, name.to_string())),
            is_anonymized: cx.audit.is_anonymized,
            ..AuditContext::default()
        };
        context.details.insert("count".to_owned(), count.into());
        context.details.insert("inherited_count".to_owned(), inherited.into());
        context.details.insert("format".to_owned(), "copy".into());
        context.details.insert("copied_to".to_owned(), names(targets).into());
        cx.audit.others.push(context);
    }
}

/// Creates an audit context for stored values that were compared with new values and are not
/// changed: no other audit entry shows that the caller has learned whether the values are equal. A
/// dry run changes no value. Returns `None` if there are no such values, or if the operator has
/// turned off the recording of reads.
pub(super) fn compared(
    cx: &Context<'_, Write>,
    planned: &[PlannedEnvironment],
    dry_run: bool,
) -> Option<AuditContext> {
    let is_only_compared =
        |step: &&Step| step.is_compared && (dry_run || matches!(step.edit, Edit::Nothing));
    let (mut count, mut environments) = (0, BTreeSet::new());
    for PlannedEnvironment { scope, steps } in planned {
        for step in steps.iter().filter(is_only_compared) {
            count += 1;
            environments.insert(&scope.environment.name);
            environments.extend(step.copied_from.as_ref().map(|from| &from.name));
        }
    }
    compared_values(cx, count, names(environments))
}

fn writes_value(step: &Step) -> bool {
    matches!(step.edit, Edit::Create(..) | Edit::Replace(..))
}

fn names(environments: BTreeSet<&EnvironmentName>) -> Vec<&str> {
    environments.into_iter().map(EnvironmentName::as_str).collect()
}
