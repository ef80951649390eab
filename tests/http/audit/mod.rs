//! Tests of the audit log.

use chrono::TimeDelta;
use secrets_core::model::{AuditId, TeamId, ids};
use secrets_core::store::{AuditFilter, AuditRecord};
use secrets_tests::{App, Person};

mod chain;
mod changes;
mod commits;
mod entries;
mod list;
mod nodes;
mod reads;
mod verification;

/// Inserts `count` copies of the newest audit entry of a team. Each copy is a microsecond later
/// than the entry before it.
async fn repeat_newest(app: &App, team: TeamId, count: usize) {
    let mut tx = app.store.begin().await.unwrap();
    let newest = tx.audit_entries(&AuditFilter::newest(team, 1)).await.unwrap().pop().unwrap();
    let copies = (1..=count).map(|number| {
        let created_at = newest.created_at + TimeDelta::microseconds(number.try_into().unwrap());
        AuditRecord { id: AuditId::draw(created_at), created_at, seal: None, ..newest.clone() }
    });
    tx.insert_audit(&copies.collect::<Vec<_>>()).await.unwrap();
    tx.commit().await.unwrap();
}

fn team(person: &Person) -> TeamId {
    ids::parse(&person.team).unwrap().into()
}
