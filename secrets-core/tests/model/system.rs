//! The service under test: two nodes of one store.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrets_core::audit::{AuditQuery, AuditTeams, ListAudit};
use secrets_core::crypto::{Key, Plaintext, TokenText};
use secrets_core::engine::{Caller, Options};
use secrets_core::environments::{
    CreateEnvironment, DeleteEnvironment, EnvironmentChange, NewEnvironment, Parent,
    UpdateEnvironment,
};
use secrets_core::invitations::{AcceptInvitation, InviteMember, NewInvitation};
use secrets_core::members::{MemberChange, RemoveMember, UpdateMember};
use secrets_core::model::{
    BaseUrl, EnvironmentPath, EnvironmentRef, Error, Identity, Origin, Plan, Plans, ProjectId,
    ProjectRef, Quota, Role, TeamId, TokenId, UserId,
};
use secrets_core::permissions::{DeletePermission, NewPermission, PutPermission};
use secrets_core::projects::{CreateProject, NewProject};
use secrets_core::secrets::{
    CreateSecret, DeleteSecret, Export, ExportSecrets, GetSecret, Import, ImportSecrets,
    ImportedSecret, KeyRef, ListSecrets, NewSecret, Precondition, ReadHistory, RollBackSecret,
    Rollback, Secret, SecretChange, UpdateSecret,
};
use secrets_core::store::Store;
use secrets_core::teams::{CreateTeam, NewTeam};
use secrets_core::tokens::{CreateToken, DeleteToken, NewToken};
use secrets_core::{Result, Service};
use uuid::Uuid;

use crate::model::limits;
use crate::request::{Answer, Listed, Name, Outcome, Principal, Read, Request, Step, value_text};
use crate::stores::Stores;

/// Names of the members of the team besides the owner.
const MEMBERS: [&str; 2] = ["bob", "carol"];

/// Two nodes, and the team and project of the test.
pub(crate) struct System {
    nodes: Vec<Service>,
    team: TeamId,
    project: ProjectId,
    owner: Caller,
    members: [Caller; 2],
    /// Service tokens in the order of their creation, deleted ones too.
    tokens: Vec<(TokenId, TokenText)>,
}

impl System {
    /// Starts two nodes on the store, and creates the team, its members and the project.
    pub(crate) async fn start(store: &mut impl Stores, root: &Key) -> Self {
        let nodes = start(store.open().await, root).await;
        let owner = sign_in(&nodes[0], "owner").await;
        let [bob, carol] = MEMBERS;
        let members = [sign_in(&nodes[0], bob).await, sign_in(&nodes[1], carol).await];
        let team = CreateTeam { team: NewTeam { name: "Model".parse().unwrap() } };
        let team = nodes[0].perform(&owner, team).await.unwrap().id;
        let project =
            NewProject { team_id: Some(team), ..NewProject::named("Model".parse().unwrap()) };
        let project = nodes[0].perform(&owner, CreateProject { project }).await.unwrap().id;
        let system = Self { nodes, team, project, owner, members, tokens: Vec::new() };
        for member in 0..2 {
            system.invite(0, &system.owner, member).await.unwrap();
        }
        system
    }

    /// Ends both nodes, and starts them again.
    pub(crate) async fn restart(&mut self, store: &mut impl Stores, root: &Key) {
        self.nodes.clear();
        self.nodes = start(store.open().await, root).await;
    }

    /// Performs a request.
    pub(crate) async fn perform(&mut self, step: &Step) -> Outcome {
        self.try_perform(step).await.map_err(|error| {
            assert!(!matches!(error, Error::Internal(_) | Error::Unavailable(_)), "{error:?}");
            error.kind()
        })
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each kind of request")]
    async fn try_perform(&mut self, Step { node, by, request, .. }: &Step) -> Result<Answer> {
        let (number, node) = (*node, &self.nodes[*node]);
        let caller = match by {
            Principal::Owner => self.owner.clone(),
            Principal::Member(member) => self.members[*member].clone(),
            Principal::Token(token) => {
                node.authenticate(self.tokens[*token].1.reveal(), Origin::default()).await?
            }
        };
        let by = &caller;
        match request {
            Request::CreateEnvironment { name, parent } => {
                let project = ProjectRef::Id(self.project);
                let inherits_from = parent.map(EnvironmentRef::from);
                let name = name.parse().unwrap();
                let environment = NewEnvironment { name, inherits_from, description: None };
                node.perform(by, CreateEnvironment { project, environment }).await?;
            }
            Request::SetParent { name, parent: to } => {
                let parent = |name: Name| Parent::Environment(EnvironmentRef::from(name));
                let inherits_from = to.map_or(Parent::Nothing, parent);
                let change = EnvironmentChange { name: None, inherits_from, description: None };
                node.perform(by, UpdateEnvironment { at: self.at(name), change }).await?;
            }
            Request::DeleteEnvironment { name } => {
                node.perform(by, DeleteEnvironment { at: self.at(name) }).await?;
            }
            Request::Create { at, key, value } => {
                let (key, hidden) = (key.parse().unwrap(), value.is_none().then_some(true));
                let value = value.map(plaintext);
                let secret = NewSecret { key, value, description: None, hidden };
                let created = node.perform(by, CreateSecret { at: self.at(at), secret }).await?;
                return Ok(Answer::Version(created.version));
            }
            Request::Update { at, key, value, expected } => {
                let hidden = value.is_none().then_some(true);
                let (value, expected_version) = (value.map(plaintext), *expected);
                let change = SecretChange { value, description: None, hidden, expected_version };
                let (at, key) = (self.at(at), KeyRef::new(key));
                let updated = node.perform(by, UpdateSecret { at, key, change }).await?;
                return Ok(Answer::Version(updated.version));
            }
            Request::RollBack { at, key, version, expected } => {
                let rollback = Rollback { version: *version, expected_version: *expected };
                let (at, key) = (self.at(at), KeyRef::new(key));
                let restored = node.perform(by, RollBackSecret { at, key, rollback }).await?;
                return Ok(Answer::Version(restored.version));
            }
            Request::Delete { at, key, expected } => {
                let (at, key, expected_version) = (self.at(at), KeyRef::new(key), *expected);
                node.perform(by, DeleteSecret { at, key, expected_version }).await?;
            }
            Request::Import { at, values, overwrite } => {
                let imported = |(key, value): (&Name, &u8)| ImportedSecret {
                    key: key.parse().unwrap(),
                    value: plaintext(*value),
                    description: None,
                };
                let secrets = values.iter().map(imported).collect();
                let import = Import { secrets, overwrite: *overwrite, dry_run: false };
                let result = node.perform(by, ImportSecrets { at: self.at(at), import }).await?;
                let (created, updated, skipped) = (result.created, result.updated, result.skipped);
                return Ok(Answer::Imported { created, updated, skipped });
            }
            Request::Get { at, key } => {
                let (at, key) = (self.at(at), KeyRef::new(key));
                let secret = node.perform(by, GetSecret { at, key }).await?;
                return Ok(Answer::Values(vec![read(&secret)]));
            }
            Request::List { at } => {
                let precondition = Precondition::None;
                let list = node.perform(by, ListSecrets { at: self.at(at), precondition }).await?;
                return Ok(Answer::List(list.answer.unwrap().iter().map(listed).collect()));
            }
            Request::Export { at } => {
                let (at, precondition) = (self.at(at), Precondition::None);
                let export = ExportSecrets { at, format: None, name: None, precondition };
                let Some(Export::List(secrets)) = node.perform(by, export).await?.answer else {
                    panic!("an export without a format is a list");
                };
                return Ok(Answer::Values(secrets.iter().map(read).collect()));
            }
            Request::History { at, key } => {
                let (at, key, values) = (self.at(at), KeyRef::new(key), Some(true));
                let history = ReadHistory { at, key, values, before: None, limit: None };
                let text = |value: Plaintext| value.reveal().to_owned();
                let entries = node.perform(by, history).await?.into_iter();
                return Ok(Answer::History(
                    entries.map(|entry| (entry.version, entry.value.map(text))).collect(),
                ));
            }
            Request::Grant { at, member, access } => {
                let (at, user) = (self.at(at), Some(self.member(*member)));
                let permission = NewPermission { role: *access };
                node.perform(by, PutPermission { at, user, permission }).await?;
            }
            Request::Revoke { at, member } => {
                let (at, user) = (self.at(at), Some(self.member(*member)));
                node.perform(by, DeletePermission { at, user }).await?;
            }
            Request::SetRole { member, is_admin } => {
                let role = if *is_admin { Role::Admin } else { Role::Member };
                let (team, user) = (Some(self.team), Some(self.member(*member)));
                let change = MemberChange { role };
                node.perform(by, UpdateMember { team, user, change }).await?;
            }
            Request::Remove { member } => {
                let (team, user) = (Some(self.team), Some(self.member(*member)));
                node.perform(by, RemoveMember { team, user }).await?;
            }
            Request::Invite { member } => self.invite(number, by, *member).await?,
            Request::CreateToken { may_read, may_write, environments } => {
                let name = "model".parse().unwrap();
                let permissions = [(*may_read, "read"), (*may_write, "write")].into_iter();
                let permissions = permissions.filter(|(may, _)| *may);
                let permission = |(_, name): (bool, &str)| name.to_owned().try_into().unwrap();
                let environments = environments.as_ref();
                let token = NewToken {
                    name,
                    team_id: Some(self.team),
                    project_ids: Some(vec![ProjectRef::Id(self.project)]),
                    all_projects: None,
                    environments: environments.map(|names| {
                        names.iter().map(|name| EnvironmentRef::from(*name)).collect()
                    }),
                    permissions: Some(permissions.map(permission).collect()),
                    scopes: None,
                    expires_in_days: None,
                    expires_at: None,
                    ip_allowlist: None,
                };
                let token = node.perform(by, CreateToken { token }).await?;
                self.tokens.push((token.id, token.token.unwrap()));
            }
            Request::DeleteToken { token } => {
                let token = Some(self.tokens[*token].0);
                node.perform(by, DeleteToken { token }).await?;
            }
        }
        Ok(Answer::Done)
    }

    /// Invites a person, who accepts at once.
    async fn invite(&self, node: usize, by: &Caller, member: usize) -> Result<()> {
        let (node, invited) = (&self.nodes[node], &self.members[member]);
        let email = address(MEMBERS[member]).parse().unwrap();
        let invitation = NewInvitation { email, role: None };
        let (team, links) = (Some(self.team), BaseUrl::default());
        let invitation = node.perform(by, InviteMember { team, invitation, links }).await?;
        let url = invitation.accept_url.unwrap();
        let (_, token) = url.rsplit_once('/').unwrap();
        node.perform(invited, AcceptInvitation { token: token.into() }).await?;
        Ok(())
    }

    /// Returns the number of environments whose secrets do not match their manifest.
    pub(crate) async fn changed_environments(&self) -> usize {
        self.nodes[0].verify_records().await.unwrap().changed_environments.len()
    }

    /// Returns the number of successful actions in the audit log, by actor and action.
    pub(crate) async fn audit(&self) -> BTreeMap<(Principal, String), usize> {
        let whose = AuditTeams::Team(Some(self.team));
        let (mut actions, mut cursor) = (BTreeMap::new(), None);
        loop {
            let query =
                AuditQuery { limit: Some("200".to_owned()), cursor, ..AuditQuery::default() };
            let page =
                self.nodes[0].perform(&self.owner, ListAudit { whose, query }).await.unwrap();
            let successful = page.logs.into_iter().filter(|entry| entry.outcome == "success");
            for entry in successful {
                let by = self.principal(entry.actor_id.unwrap());
                *actions.entry((by, entry.action)).or_default() += 1;
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return actions;
            }
        }
    }

    /// Returns the principal with this ID; the owner if it is no ID of a member or token.
    fn principal(&self, id: Uuid) -> Principal {
        let is_token = |(token, _): &(TokenId, TokenText)| token.uuid() == id;
        let member = (0..2).find(|member| self.member(*member).uuid() == id);
        let token = || self.tokens.iter().position(is_token).map(Principal::Token);
        member.map(Principal::Member).or_else(token).unwrap_or(Principal::Owner)
    }

    fn at(&self, name: Name) -> EnvironmentPath {
        EnvironmentPath::new(self.project, name)
    }

    fn member(&self, member: usize) -> UserId {
        self.members[member].person().unwrap().id
    }
}

/// Starts a node on each of the opened stores.
async fn start(stores: [Arc<dyn Store>; 2], root: &Key) -> Vec<Service> {
    let limits = [
        (Quota::Environments, limits::ENVIRONMENTS),
        (Quota::Secrets, limits::SECRETS),
        (Quota::ServiceTokens, limits::TOKENS),
    ];
    let limits = limits.map(|(quota, limit)| (quota, limit.try_into().unwrap()));
    let mut plan = Plan::new("model".parse().unwrap(), limits).unwrap();
    plan.versions = limits::VERSIONS;
    let plans = Plans::with([plan]).by_default("model").unwrap();
    let options = Options { plans, rate_limit_per_team: 0, ..Options::default() };
    let mut nodes = Vec::new();
    for store in stores {
        let node = Service::builder(store, root).options(options.clone());
        nodes.push(node.build().await.unwrap());
    }
    nodes
}

async fn sign_in(node: &Service, name: &str) -> Caller {
    let identity = Identity::new("model", name, address(name));
    node.sign_in(identity, Origin::default()).await.unwrap()
}

fn address(name: &str) -> String {
    format!("{name}@example.com")
}

fn plaintext(value: u8) -> Plaintext {
    Plaintext::new(value_text(value)).unwrap()
}

fn read(secret: &Secret) -> Read {
    Read {
        key: secret.key.to_string(),
        value: secret.value.as_ref().unwrap().reveal().to_owned(),
        version: secret.version,
        inherited_from: secret.inherited_from.as_ref().map(ToString::to_string),
    }
}

fn listed(secret: &Secret) -> Listed {
    Listed {
        key: secret.key.to_string(),
        version: secret.version,
        inherited_from: secret.inherited_from.as_ref().map(ToString::to_string),
        is_hidden: secret.hidden,
        is_restricted: secret.restricted,
    }
}
