//! What an operation leaves behind for its audit entry.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::engine::{Caller, Who};
use crate::model::{AuditId, EnvironmentId, ProjectId, TeamId, Time};
use crate::store::AuditRecord;

/// Where an operation went and what it was about. Filled by the scopes it enters, and by itself.
#[derive(Default)]
pub(crate) struct Note {
    pub(crate) action: Option<&'static str>,
    pub(crate) team: Option<TeamId>,
    pub(crate) project: Option<(ProjectId, String)>,
    pub(crate) environment: Option<(EnvironmentId, String)>,
    pub(crate) resource: Option<(&'static str, Option<Uuid>, Option<String>)>,
    pub(crate) details: Map<String, Value>,
    /// Whether a read gave nothing that is recorded: no value left.
    pub(crate) is_unrecorded: bool,
    /// Who did it, where the caller had no id before.
    pub(crate) actor: Option<Uuid>,
    /// Whether the entry is not to say who did it, but for the id.
    pub(crate) is_nameless: bool,
    /// Entries of the same caller's beside this one, for other teams.
    pub(crate) others: Vec<Self>,
}

impl Note {
    /// The entries for what `caller` did.
    pub(crate) fn into_entries(
        mut self,
        caller: &Caller,
        action: &'static str,
        now: Time,
    ) -> Vec<AuditRecord> {
        let others = std::mem::take(&mut self.others);
        let notes = others.into_iter().chain([self]);
        notes.map(|note| note.into_entry(caller, action, now)).collect()
    }

    /// The entry for what `caller` did.
    pub(crate) fn into_entry(
        self,
        caller: &Caller,
        action: &'static str,
        now: Time,
    ) -> AuditRecord {
        let (actor_type, actor_name, actor_email) = actor(&caller.who);
        let (actor_name, actor_email) =
            if self.is_nameless { (None, None) } else { (actor_name, actor_email) };
        AuditRecord {
            actor_type: actor_type.to_owned(),
            actor_id: caller.actor().or(self.actor),
            actor_name,
            actor_email,
            address: caller.origin.address,
            agent: caller.origin.agent.clone(),
            request: caller.origin.request,
            ..self.into_entry_of_system(action, now)
        }
    }

    /// The entry for what the service did by itself.
    pub(crate) fn into_entry_of_system(self, action: &'static str, now: Time) -> AuditRecord {
        let action = self.action.unwrap_or(action);
        let kind = action.split_once('.').map_or(action, |(kind, _)| kind);
        let (resource_type, resource_id, resource_name) =
            self.resource.unwrap_or((kind, None, None));
        let (project, project_name) = self.project.unzip();
        let (environment, environment_name) = self.environment.unzip();
        AuditRecord {
            id: AuditId::draw(now),
            team: self.team,
            project,
            project_name,
            environment,
            environment_name,
            actor_type: "system".to_owned(),
            actor_id: None,
            actor_name: None,
            actor_email: None,
            action: action.to_owned(),
            resource_type: resource_type.to_owned(),
            resource_id,
            resource_name,
            outcome: "success".to_owned(),
            metadata: Value::Object(self.details).to_string(),
            address: None,
            agent: None,
            request: None,
            created_at: now,
            seal: None,
        }
    }
}

fn actor(who: &Who) -> (&'static str, Option<String>, Option<String>) {
    match who {
        Who::Person(person) => {
            ("user", Some(person.user.name.clone()), Some(person.user.email.clone()))
        }
        Who::Token(token) => ("service_token", Some(token.name.to_string()), None),
        Who::Unsynced(identity) => ("user", identity.name.clone(), identity.email.clone()),
        Who::Anonymous => ("anonymous", None, None),
    }
}
