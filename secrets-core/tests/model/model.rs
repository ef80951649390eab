//! Model of the service: the rules of environments, inheritance, secrets, permissions, service
//! tokens and limits. The data is in plain maps.

use std::collections::{BTreeMap, BTreeSet};

use secrets_core::model::MemberAccess;

use crate::request::{Answer, Name, Outcome, Principal, Request, Step};

mod reads;

/// Environments that every project has.
const DEFAULTS: [Name; 3] = ["development", "staging", "production"];

/// Limits of the team's plan.
pub(crate) mod limits {
    pub(crate) const ENVIRONMENTS: usize = 4;
    pub(crate) const SECRETS: usize = 3;
    pub(crate) const TOKENS: usize = 2;
    /// Maximum number of previous versions of a secret.
    pub(crate) const VERSIONS: u32 = 3;
}

/// Access that a request needs in an environment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Read,
    Write,
    Grant,
    Manage,
}

/// Model of a service with one team, which has one project, an owner and two members.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    environments: BTreeMap<Name, Environment>,
    /// Number of environments that were ever created.
    created: usize,
    /// True for a member who is an admin of the team; `None` for one who has left it.
    members: [Option<bool>; 2],
    /// All service tokens that were ever created.
    tokens: Vec<Token>,
    /// Outcome of the last request.
    pub(crate) outcome: Option<Outcome>,
    /// Audit log of the team: for each actor and action, the number of entries.
    pub(crate) audit: BTreeMap<(Principal, &'static str), usize>,
}

#[derive(Debug, Clone, Default)]
struct Environment {
    /// Unique number, which distinguishes the environment from deleted ones of the same name.
    number: usize,
    parent: Option<Name>,
    secrets: BTreeMap<Name, Secret>,
    /// Permissions of the two members.
    granted: [Option<MemberAccess>; 2],
}

#[derive(Debug, Clone)]
struct Secret {
    version: u32,
    /// `None` if the secret is hidden.
    value: Option<u8>,
    /// Version numbers and values of the previous versions that are kept, oldest first.
    previous: Vec<(u32, Option<u8>)>,
}

#[derive(Debug, Clone)]
struct Token {
    is_deleted: bool,
    may_read: bool,
    may_write: bool,
    /// Numbers of the environments in the scope of the token; `None` means all environments.
    environments: Option<BTreeSet<usize>>,
}

/// Effective secret of a key in an environment: the environment's own secret, or else that of the
/// nearest ancestor.
struct Effective<'a> {
    key: Name,
    secret: &'a Secret,
    inherited_from: Option<Name>,
    is_restricted: bool,
}

type Result<T> = std::result::Result<T, &'static str>;

impl Model {
    /// Creates a model with a new project, whose team has both members.
    pub(crate) fn new() -> Self {
        let mut model = Self { members: [Some(false); 2], ..Self::default() };
        for name in DEFAULTS {
            model.insert_environment(name, None);
        }
        model.record(Principal::Owner, "team.created");
        model.record(Principal::Owner, "project.created");
        for member in 0..2 {
            model.record(Principal::Owner, "member.invited");
            model.record(Principal::Member(member), "invitation.accepted");
        }
        model
    }

    pub(crate) fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the names of the existing environments.
    pub(crate) fn names(&self) -> Vec<Name> {
        self.environments.keys().copied().collect()
    }

    /// Performs a request on the model, and stores its result in the field `outcome`.
    pub(crate) fn perform(&mut self, Step { by, request, .. }: &Step) {
        let outcome = self.authenticate(*by).and_then(|()| self.run(*by, request));
        if let (Ok(_), Some(action)) = (&outcome, request.action()) {
            self.record(*by, action);
        }
        if let (Ok(_), Request::Invite { member }) = (&outcome, request) {
            self.record(Principal::Member(*member), "invitation.accepted");
        }
        self.outcome = Some(outcome);
    }

    fn record(&mut self, by: Principal, action: &'static str) {
        *self.audit.entry((by, action)).or_default() += 1;
    }

    fn authenticate(&self, by: Principal) -> Result<()> {
        match by {
            Principal::Token(token) if self.tokens[token].is_deleted => Err("unauthenticated"),
            _ => Ok(()),
        }
    }

    fn run(&mut self, by: Principal, request: &Request) -> Outcome {
        if request.needs_person() && matches!(by, Principal::Token(_)) {
            return Err("forbidden");
        }
        match request {
            Request::CreateEnvironment { name, parent } => {
                self.create_environment(by, name, *parent)
            }
            Request::SetParent { name, parent } => self.set_parent(by, name, *parent),
            Request::DeleteEnvironment { name } => self.delete_environment(by, name),
            Request::Create { at, key, value } => self.create(by, at, key, *value),
            Request::Update { at, key, value, expected } => {
                self.write(by, (at, key), *expected, |secret| secret.replace(*value))
            }
            Request::RollBack { at, key, version, expected } => {
                let found = self.own(by, at, key, Needed::Write)?;
                let old = found.previous.iter().find(|(number, _)| number == version);
                let (_, value) = *old.ok_or("not_found")?;
                self.write(by, (at, key), *expected, |secret| secret.replace(value))
            }
            Request::Delete { at, key, expected } => {
                self.write(by, (at, key), *expected, |_| ())?;
                self.environment(at).secrets.remove(key);
                Ok(Answer::Done)
            }
            Request::Import { at, values, overwrite } => self.import(by, at, values, *overwrite),
            Request::Get { at, key } => self.get(by, at, key),
            Request::List { at } => self.list(by, at),
            Request::Export { at } => self.export(by, at),
            Request::History { at, key } => self.history(by, at, key),
            Request::Grant { at, member, access } => self.grant(by, at, *member, Some(*access)),
            Request::Revoke { at, member } => self.grant(by, at, *member, None),
            Request::SetRole { member, is_admin } => {
                self.needs_manager(by)?;
                *self.members[*member].as_mut().ok_or("not_found")? = *is_admin;
                Ok(Answer::Done)
            }
            Request::Remove { member } => self.remove(by, *member),
            Request::Invite { member } => self.invite(by, *member),
            Request::CreateToken { may_read, may_write, environments } => {
                self.create_token(by, *may_read, *may_write, environments.as_deref())
            }
            Request::DeleteToken { token } => {
                if self.tokens[*token].is_deleted {
                    return Err("not_found");
                }
                self.needs_manager(by)?;
                self.tokens[*token].is_deleted = true;
                Ok(Answer::Done)
            }
        }
    }

    fn environment(&mut self, name: Name) -> &mut Environment {
        self.environments.get_mut(name).unwrap()
    }

    /// Returns an environment. Error: it does not exist, or the principal lacks the needed access.
    fn allow(&self, by: Principal, at: Name, needed: Needed) -> Result<&Environment> {
        if let Principal::Member(member) = by {
            self.members[member].ok_or("forbidden")?;
        }
        let environment = self.environments.get(at).ok_or("not_found")?;
        let allowed = match by {
            Principal::Owner => true,
            Principal::Member(member) => match needed {
                Needed::Read => self.access(member, at) >= MemberAccess::Read,
                Needed::Write => self.access(member, at) >= MemberAccess::Write,
                Needed::Grant => self.access(member, at) >= MemberAccess::Admin,
                Needed::Manage => self.members[member] == Some(true),
            },
            Principal::Token(token) => {
                let token = &self.tokens[token];
                let scope = token.environments.as_ref();
                scope.is_none_or(|scope| scope.contains(&environment.number))
                    && match needed {
                        Needed::Read => token.may_read,
                        Needed::Write => token.may_write,
                        Needed::Grant | Needed::Manage => false,
                    }
            }
        };
        if allowed { Ok(environment) } else { Err("forbidden") }
    }

    /// Returns the access of a member in an existing environment.
    fn access(&self, member: usize, at: Name) -> MemberAccess {
        match self.members[member] {
            Some(true) => MemberAccess::Admin,
            _ => self.environments[at].granted[member].unwrap_or(MemberAccess::Write),
        }
    }

    fn needs_manager(&self, by: Principal) -> Result<()> {
        match by {
            Principal::Owner => Ok(()),
            Principal::Member(member) if self.members[member] == Some(true) => Ok(()),
            _ => Err("forbidden"),
        }
    }

    /// Returns the environment itself and its ancestors, nearest first.
    fn chain(&self, at: Name) -> Vec<Name> {
        let parent = |name: &Name| self.environments[name].parent;
        std::iter::successors(Some(at), parent).collect()
    }

    /// Checks that an environment may become a parent: it exists, and the principal may read it and
    /// its ancestors.
    fn check_parent(&self, by: Principal, parent: Name) -> Result<()> {
        match self.allow(by, parent, Needed::Read) {
            Err("not_found") => return Err("invalid"),
            other => other?,
        };
        let readable = |at: &Name| self.allow(by, at, Needed::Read).is_ok();
        if self.chain(parent).iter().all(readable) { Ok(()) } else { Err("forbidden") }
    }

    fn insert_environment(&mut self, name: Name, parent: Option<Name>) {
        let number = self.created;
        self.created += 1;
        self.environments.insert(name, Environment { number, parent, ..Environment::default() });
    }

    fn create_environment(&mut self, by: Principal, name: Name, parent: Option<Name>) -> Outcome {
        if let Principal::Member(member) = by {
            self.members[member].ok_or("forbidden")?;
        }
        if let Some(parent) = parent {
            self.check_parent(by, parent)?;
        }
        if self.environments.contains_key(name) {
            return Err("invalid");
        }
        if self.environments.len() >= limits::ENVIRONMENTS {
            return Err("plan_limit");
        }
        self.insert_environment(name, parent);
        Ok(Answer::Done)
    }

    fn set_parent(&mut self, by: Principal, name: Name, parent: Option<Name>) -> Outcome {
        self.allow(by, name, Needed::Manage)?;
        if let Some(parent) = parent {
            self.check_parent(by, parent)?;
            if self.chain(parent).contains(&name) {
                return Err("refused");
            }
        }
        self.environment(name).parent = parent;
        Ok(Answer::Done)
    }

    fn delete_environment(&mut self, by: Principal, name: Name) -> Outcome {
        self.allow(by, name, Needed::Manage)?;
        let is_parent = self.environments.values().any(|other| other.parent == Some(name));
        if DEFAULTS.contains(&name) || is_parent {
            return Err("refused");
        }
        self.environments.remove(name);
        Ok(Answer::Done)
    }

    /// Returns a secret that the environment itself defines. Error: the secret does not exist, or
    /// the principal lacks the needed access to the environment.
    fn own(&self, by: Principal, at: Name, key: Name, needed: Needed) -> Result<&Secret> {
        self.allow(by, at, needed)?.secrets.get(key).ok_or("not_found")
    }

    fn create(&mut self, by: Principal, at: Name, key: Name, value: Option<u8>) -> Outcome {
        let environment = self.allow(by, at, Needed::Write)?;
        if environment.secrets.len() >= limits::SECRETS {
            return Err("plan_limit");
        }
        if environment.secrets.contains_key(key) {
            return Err("conflict");
        }
        self.environment(at).secrets.insert(key, Secret::new(value));
        Ok(Answer::Version(1))
    }

    /// Changes a secret that the environment itself defines. Error `stale`: its version is not the
    /// expected one.
    fn write(
        &mut self,
        by: Principal,
        (at, key): (Name, Name),
        expected: Option<u32>,
        change: impl FnOnce(&mut Secret),
    ) -> Outcome {
        let version = self.own(by, at, key, Needed::Write)?.version;
        if expected.is_some_and(|expected| expected != version) {
            return Err("stale");
        }
        let secret = self.environment(at).secrets.get_mut(key).ok_or("not_found")?;
        change(secret);
        Ok(Answer::Version(secret.version))
    }

    fn import(
        &mut self,
        by: Principal,
        at: Name,
        values: &BTreeMap<Name, u8>,
        overwrite: bool,
    ) -> Outcome {
        let known = &self.allow(by, at, Needed::Write)?.secrets;
        let created = values.keys().filter(|key| !known.contains_key(*key)).count();
        if known.len() + created > limits::SECRETS {
            return Err("plan_limit");
        }
        let existing = values.len() - created;
        let secrets = &mut self.environment(at).secrets;
        for (key, value) in values {
            match secrets.get_mut(key) {
                Some(secret) if overwrite => secret.replace(Some(*value)),
                Some(_) => (),
                None => drop(secrets.insert(key, Secret::new(Some(*value)))),
            }
        }
        let (updated, skipped) = if overwrite { (existing, 0) } else { (0, existing) };
        Ok(Answer::Imported { created, updated, skipped })
    }
}

impl Secret {
    fn new(value: Option<u8>) -> Self {
        Self { version: 1, value, previous: Vec::new() }
    }

    /// Adds a version, and deletes the oldest previous version if there are too many.
    fn replace(&mut self, value: Option<u8>) {
        self.previous.push((self.version, self.value));
        self.version += 1;
        self.value = value;
        let version = self.version;
        self.previous.retain(|(number, _)| version - number <= limits::VERSIONS);
    }
}
