//! Dump of the records in a store that belong to certain users and their teams. Tests compare two
//! dumps to find changes.

use std::collections::BTreeMap;
use std::fmt::Debug;

use secrets_core::crypto::Sealed;
use secrets_core::jwt::DEV_ISSUER;
use secrets_core::model::{
    EnvironmentId, EnvironmentPath, Principal, ProjectId, ProjectRef, TeamId,
};
use secrets_core::store::{AuditRecord, Reads, SecretRecord, Selection, Store};

use crate::audit;

/// Dump of records: the debug output of each record, by a name that identifies the record. Includes
/// the audit log, without entries about reads and refused requests.
#[derive(Clone, PartialEq, Eq)]
pub struct Dump(BTreeMap<String, String>);

/// Audit actions of operations that change no data: reads, and signing in again.
const READS: [&str; 6] = [
    "secret.read",
    "secrets.compared",
    "secrets.exported",
    "eso.secret_read",
    "eso.secrets_read",
    "user.synced",
];

impl Dump {
    /// Dumps the records of these users and of their teams. `people` are the names with which the
    /// users signed in.
    pub async fn of(store: &dyn Store, people: &[&str]) -> Self {
        let mut reads = store.read().await.unwrap();
        let mut dump = Self(BTreeMap::new());
        dump.instance(reads.as_mut()).await;
        for name in people {
            dump.person(reads.as_mut(), &format!("{name}@example.com")).await;
        }
        dump
    }

    /// Returns a message for each record that differs between this dump and a later dump.
    #[must_use]
    pub fn changes(&self, later: &Self) -> Vec<String> {
        let gone = self.0.keys().filter(|row| !later.0.contains_key(*row));
        let other = later.0.iter().filter(|(row, text)| self.0.get(*row) != Some(*text));
        gone.map(|row| format!("{row} is gone"))
            .chain(other.map(|(row, text)| format!("{row} is now {text}")))
            .collect()
    }

    /// Returns true if a record in the dump contains this string.
    #[must_use]
    pub fn holds(&self, text: &str) -> bool {
        self.0.values().any(|row| row.contains(text))
    }

    /// Returns the number of records in the dump.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.0.len()
    }

    fn row(&mut self, name: impl Debug, row: &impl Debug) {
        self.0.insert(format!("{name:?}"), format!("{row:?}"));
    }

    async fn instance(&mut self, reads: &mut dyn Reads) {
        let Some((instance, keys)) = reads.instance().await.unwrap() else { return };
        self.row("instance", &instance);
        for key in keys {
            self.row(("instance key", key.purpose), &key);
        }
    }

    async fn person(&mut self, reads: &mut dyn Reads, subject: &str) {
        let user = reads.user_by_subject(DEV_ISSUER, subject).await.unwrap();
        let Some(user) = user else { return };
        let principal = Principal::User(user.id);
        self.row(("user", user.id), &user);
        for membership in reads.memberships(user.id).await.unwrap() {
            let team = membership.team.id;
            if !self.0.contains_key(&format!("{:?}", ("team", team))) {
                self.row(("team", team), &membership.team);
                self.team(reads, team).await;
            }
        }
        for project in reads.projects(principal).await.unwrap() {
            if !self.0.contains_key(&format!("{:?}", ("project", project.id))) {
                self.row(("project", project.id), &project);
                self.project(reads, principal, project.id).await;
            }
        }
    }

    async fn team(&mut self, reads: &mut dyn Reads, team: TeamId) {
        for member in reads.members(&[team]).await.unwrap() {
            self.row(("member", team, member.user), &member);
        }
        for invitation in reads.invitations(team).await.unwrap() {
            self.row(("invitation", invitation.id), &invitation);
        }
        for (mut token, scope) in reads.tokens(&[team]).await.unwrap() {
            // A background job writes this field, not the request under test.
            token.last_use = None;
            self.row(("token", token.id), &(token, scope));
        }
        for scan in reads.scans(&[team], None, 100_000).await.unwrap() {
            let findings = reads.findings(scan.id).await.unwrap();
            self.row(("scan", scan.id), &(scan, findings));
        }
        for entry in audit::entries(reads, team, 100_000).await {
            if !READS.contains(&entry.action.as_ref()) && entry.outcome != "denied" {
                // A background job later gives entries their position in the audit chain.
                let entry = AuditRecord { seal: None, ..entry };
                self.row(("audit", entry.id), &entry);
            }
        }
    }

    async fn project(&mut self, reads: &mut dyn Reads, whose: Principal, project: ProjectId) {
        if let Some(said) = reads.permission_default(project).await.unwrap() {
            self.row(("permission default", project), &said);
        }
        for environment in reads.environments(project, whose).await.unwrap() {
            self.row(("environment", environment.id), &environment);
            for said in reads.permissions(environment.id).await.unwrap() {
                self.row(("permission", said.environment, said.user), &said);
            }
            self.environment(reads, whose, (project, environment.id)).await;
        }
    }

    async fn environment(
        &mut self,
        reads: &mut dyn Reads,
        whose: Principal,
        (project, environment): (ProjectId, EnvironmentId),
    ) {
        self.rotations(reads, environment).await;
        let path = EnvironmentPath::new(ProjectRef::Id(project), environment);
        let resolved =
            reads.resolve_environment(&path, whose, Selection::All).await.unwrap().unwrap();
        self.row(("project key", project), &resolved.key);
        for secret in resolved.chain.into_iter().next().unwrap().secrets {
            self.secret(reads, &secret).await;
        }
    }

    async fn rotations(&mut self, reads: &mut dyn Reads, environment: EnvironmentId) {
        for rotation in reads.rotations(environment).await.unwrap() {
            let (connection, proxy) =
                (bytes(&rotation.settings.connection), rotation.settings.proxy.as_ref().map(bytes));
            let attempts = reads.concluded_attempts(rotation.id, u32::MAX).await.unwrap();
            let open = reads.open_attempt(rotation.id).await.unwrap();
            let pending = open.as_ref().and_then(|open| open.pending.as_ref()).map(bytes);
            let row = (&rotation, connection, proxy, attempts, open, pending);
            self.row(("rotation", rotation.id), &row);
            for webhook in reads.webhooks(rotation.id).await.unwrap() {
                self.row(("webhook", webhook.id), &(&webhook, bytes(&webhook.sealed)));
                for delivery in reads.webhook_deliveries(webhook.id, 1_000).await.unwrap() {
                    self.row(("delivery", delivery.id), &delivery);
                }
            }
        }
    }

    async fn secret(&mut self, reads: &mut dyn Reads, secret: &SecretRecord) {
        let description = secret.description.as_ref().map(bytes);
        self.row(("secret", secret.id), &(secret, bytes(&secret.sealed), description));
        if secret.version == 1 {
            return;
        }
        for old in reads.secret_versions(secret.id, u32::MAX, u32::MAX).await.unwrap() {
            let row = (&old, bytes(&old.sealed));
            self.row(("secret version", secret.id, old.version), &row);
        }
    }
}

fn bytes(sealed: &Sealed) -> String {
    hex::encode(sealed.as_bytes())
}
