//! Audit context: the data an operation collects for its audit entry.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::engine::{Caller, Who};
use crate::model::{AuditId, EnvironmentId, ProjectId, TeamId, Time};
use crate::store::{AuditRecord, ProjectRecord, Relation};

/// Data for the audit entry of one operation. Filled in by path resolution and by the operation
/// itself.
#[derive(Default)]
pub(crate) struct AuditContext {
    pub(crate) action: Option<&'static str>,
    pub(crate) team: Option<TeamId>,
    pub(crate) project: Option<(ProjectId, String)>,
    pub(crate) environment: Option<(EnvironmentId, String)>,
    pub(crate) resource: Option<(&'static str, Option<Uuid>, Option<String>)>,
    pub(crate) details: Map<String, Value>,
    /// True if the operation gets no audit entry of its own: a read that returned no values, a
    /// batch of changes that each have an entry, or a change that changed nothing.
    pub(crate) skips_audit: bool,
    /// ID of the user who signs in; `None` in other operations. A user who signs in for the first
    /// time has no ID before the operation.
    pub(crate) actor: Option<Uuid>,
    /// True if the entry must not include the actor's name and e-mail address, only the ID.
    pub(crate) is_anonymized: bool,
    /// Data for the operation's additional audit entries: for other affected teams, or for each
    /// change of a batch.
    pub(crate) others: Vec<Self>,
}

impl AuditContext {
    /// Stores the team and the project, so that the entry of a refused request has them too. The
    /// entry does not include the name and e-mail address of a caller who is not a member of the
    /// team.
    pub(crate) fn set_project(&mut self, project: &ProjectRecord, who: &Who, relation: Relation) {
        self.team = Some(project.team);
        self.project = Some((project.id, project.name.to_string()));
        let is_own_token = matches!(who, Who::Token(token) if token.team == project.team);
        self.is_anonymized = matches!(relation, Relation::None) && !is_own_token;
    }

    /// Builds the audit entries of an operation performed by `caller`: its own entry and the
    /// additional entries.
    pub(crate) fn into_entries(
        mut self,
        caller: &Caller,
        action: &'static str,
        now: Time,
    ) -> Vec<AuditRecord> {
        let others = std::mem::take(&mut self.others);
        let own = (!self.skips_audit).then_some(self);
        let contexts = others.into_iter().chain(own);
        contexts.map(|context| context.into_entry(caller, action, now)).collect()
    }

    /// Builds one audit entry of an operation performed by `caller`.
    pub(crate) fn into_entry(
        self,
        caller: &Caller,
        action: &'static str,
        now: Time,
    ) -> AuditRecord {
        let (actor_type, actor_name, actor_email) = actor(&caller.who);
        let (actor_name, actor_email) =
            if self.is_anonymized { (None, None) } else { (actor_name, actor_email) };
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
            actor_type: actor_type.into(),
            actor_id: caller.actor().or(self.actor),
            actor_name,
            actor_email,
            action: action.into(),
            resource_type: resource_type.into(),
            resource_id,
            resource_name,
            outcome: "success".into(),
            metadata: Value::Object(self.details).to_string(),
            address: caller.origin.address,
            agent: caller.origin.agent.as_deref().map(str::to_owned),
            request: caller.origin.request,
            created_at: now,
            seal: None,
        }
    }
}

fn actor(who: &Who) -> (&'static str, Option<String>, Option<String>) {
    match who {
        Who::Person(person) => {
            let email = Some(person.user.verified_email()).filter(|email| !email.is_empty());
            ("user", Some(person.user.name.clone()), email.map(str::to_owned))
        }
        Who::Token(token) => ("service_token", Some(token.name.to_string()), None),
        Who::Unsynced(identity) => {
            let email = identity.email.clone().filter(|_| identity.email_verified);
            ("user", identity.name.clone(), email)
        }
        Who::Anonymous => ("anonymous", None, None),
        Who::System => ("system", None, None),
    }
}
