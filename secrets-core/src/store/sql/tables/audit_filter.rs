//! SQL conditions of queries on the audit log.

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::Db;
use crate::model::{AuditId, EnvironmentId, ProjectId};
use crate::store::{ActionFilter, AuditFilter, AuditOrder, AuditScope};

/// Appends the conditions on scope, times and cursor of a filter. One index contains all their
/// columns.
pub(super) fn push_range(statement: &mut QueryBuilder<Db>, filter: &AuditFilter) {
    match filter.scope {
        AuditScope::Team(team) => statement.push("team_id = ").push_bind(team.uuid()),
        AuditScope::Actor(actor) => statement.push("actor_id = ").push_bind(actor),
    };
    // Add only one bound at each end: with two bounds, SQLite may search from the wider bound.
    let start = filter.from.map(|time| (">=", (time, AuditId::from(Uuid::nil()))));
    let end = filter.to.map(|time| ("<", (time, AuditId::from(Uuid::nil()))));
    let (behind, until) = match filter.order {
        AuditOrder::Newest => ("<", ">="),
        AuditOrder::Oldest => (">", "<="),
    };
    let behind = filter.behind.map(|entry| (behind, entry));
    let until = filter.until.map(|entry| (until, entry));
    let (lower, upper) = match filter.order {
        AuditOrder::Newest => (until, behind),
        AuditOrder::Oldest => (behind, until),
    };
    let lower = start.into_iter().chain(lower).max_by_key(|(_, entry)| *entry);
    let upper = end.into_iter().chain(upper).min_by_key(|(_, entry)| *entry);
    for (sign, (time, id)) in lower.into_iter().chain(upper) {
        statement.push(format!(" AND (created_at, id) {sign} (")).push_bind(time);
        statement.push(", ").push_bind(id.uuid()).push(")");
    }
}

pub(super) fn push_order(statement: &mut QueryBuilder<Db>, order: AuditOrder) {
    statement.push(match order {
        AuditOrder::Newest => " ORDER BY created_at DESC, id DESC",
        AuditOrder::Oldest => " ORDER BY created_at, id",
    });
}

/// Appends all conditions of a filter except those on scope, times and cursor.
pub(super) fn push_conditions(statement: &mut QueryBuilder<Db>, filter: &AuditFilter) {
    let ids = [
        (" AND actor_id = ", filter.actor),
        (" AND project_id = ", filter.project.map(ProjectId::uuid)),
        (" AND environment_id = ", filter.environment.map(EnvironmentId::uuid)),
        (" AND resource_id = ", filter.resource),
    ];
    for (condition, id) in ids.into_iter().filter_map(|(condition, id)| Some((condition, id?))) {
        statement.push(condition).push_bind(id);
    }
    let texts = [
        (" AND actor_type = ", filter.actor_type.clone()),
        (" AND resource_type = ", filter.resource_type.clone()),
        (" AND resource_name = ", filter.resource_name.clone()),
        (" AND outcome = ", filter.outcome.clone()),
        (" AND address = ", filter.address.map(|address| address.to_string())),
    ];
    for (condition, text) in
        texts.into_iter().filter_map(|(condition, text)| Some((condition, text?)))
    {
        statement.push(condition).push_bind(text);
    }
    push_actions(statement, &filter.actions);
}

fn push_actions(statement: &mut QueryBuilder<Db>, actions: &[ActionFilter]) {
    for (place, action) in actions.iter().enumerate() {
        statement.push(if place == 0 { " AND (" } else { " OR " });
        match action {
            ActionFilter::Exactly(action) => {
                statement.push("action = ").push_bind(action.clone());
            }
            ActionFilter::Prefix(start) => {
                let length = i32::try_from(start.chars().count()).unwrap_or(i32::MAX);
                statement.push("SUBSTR(action, 1, ").push_bind(length).push(") = ");
                statement.push_bind(start.clone());
            }
        }
    }
    if !actions.is_empty() {
        statement.push(")");
    }
}
