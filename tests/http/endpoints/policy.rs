//! The policy: who may do what at which endpoint, as the specification and the decisions say. It is
//! written out here and not taken from the server, so that a mistake there shows.

use super::principals::{Caller, May, Reach};
use super::world::Home;

/// An endpoint, and who may use it on what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) method: &'static str,
    pub(super) template: &'static str,
    pub(super) who: Who,
    pub(super) on: Level,
    /// The status of an answer that is no refusal.
    pub(super) ok: u16,
    pub(super) effect: Effect,
}

/// Who may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Whoever likes.
    Anyone,
    /// People, with an account or not.
    Identities,
    /// Whoever has a valid credential; a person without an account is told that there is none.
    Known,
    /// People with an account.
    People,
    /// People with an account, and service tokens.
    Accounts,
    /// Members of the team.
    Members,
    /// Its owner and its admins.
    Managers,
    /// They, and members who were made admins of the environment.
    Granters,
    /// Those who run the service, of whom none is here.
    Operators,
    /// Members, and tokens whose scope holds it.
    Seers,
    /// Members, and tokens that may read it.
    Readers,
    /// Members, and tokens that may write it.
    Writers,
    /// Tokens that may read it.
    Machines,
}

/// What a request names, and so what can be another's or unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Nothing,
    /// A team, in the path.
    Team,
    /// A team, in the body or the query.
    NamedTeam,
    Project,
    Environment,
    Secret,
    /// A person, in an environment.
    Permission,
    Token,
}

/// Whether a request that is allowed changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Changes,
}

/// Which thing a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The first team's.
    Own,
    /// The other team's.
    Foreign,
    /// A UUID that is nobody's.
    Unknown,
    /// No UUID, and nobody's name.
    Nonsense,
    /// An unknown environment of the first team's project.
    UnknownEnvironment,
    /// An unknown key of the first team's environment, or an unknown person in it.
    UnknownKey,
}

const fn rule(method: &'static str, template: &'static str, who: Who, on: Level, ok: u16) -> Rule {
    Rule { method, template, who, on, ok, effect: Effect::Reads }
}

const fn change(
    method: &'static str,
    template: &'static str,
    who: Who,
    on: Level,
    ok: u16,
) -> Rule {
    Rule { method, template, who, on, ok, effect: Effect::Changes }
}

const PROJECT: &str = "/api/v1/projects/{projectId}";
const ENVIRONMENTS: &str = "/api/v1/projects/{projectId}/environments";
const ENVIRONMENT: &str = "/api/v1/projects/{projectId}/environments/{environmentId}";
const SECRETS: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets";
const EXPORT: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/export";
const BULK: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bulk";
const SECRET: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}";

const MINE: &str = "/api/v1/projects/{projectId}/my-permissions";
const DEFAULTS: &str = "/api/v1/projects/{projectId}/permissions/defaults";
const PERMISSIONS: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/permissions";
const PERMISSION: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/permissions/{userId}";

/// The policy. `GET /api/v1/tokens` is there twice: alone, and for a team that is named.
pub(super) const POLICY: [Rule; 41] = [
    rule("GET", "/health", Who::Anyone, Level::Nothing, 200),
    rule("GET", "/api/v1", Who::Anyone, Level::Nothing, 200),
    rule("POST", "/api/v1/auth/sync", Who::Identities, Level::Nothing, 200),
    rule("GET", "/api/v1/users/me", Who::Known, Level::Nothing, 200),
    rule("GET", "/api/v1/teams", Who::People, Level::Nothing, 200),
    change("POST", "/api/v1/teams", Who::People, Level::Nothing, 201),
    rule("GET", "/api/v1/teams/{teamId}", Who::Members, Level::Team, 200),
    rule("GET", "/api/v1/teams/{teamId}/usage", Who::Members, Level::Team, 200),
    rule("GET", "/api/v1/teams/{teamId}/billing", Who::Managers, Level::Team, 200),
    rule("PUT", "/api/v1/teams/{teamId}/billing", Who::Operators, Level::Nothing, 403),
    rule("GET", "/api/v1/projects", Who::Accounts, Level::Nothing, 200),
    change("POST", "/api/v1/projects", Who::Members, Level::NamedTeam, 201),
    rule("GET", PROJECT, Who::Seers, Level::Project, 200),
    change("PATCH", PROJECT, Who::Managers, Level::Project, 200),
    change("DELETE", PROJECT, Who::Managers, Level::Project, 204),
    rule("GET", ENVIRONMENTS, Who::Seers, Level::Project, 200),
    change("POST", ENVIRONMENTS, Who::Members, Level::Project, 201),
    rule("GET", ENVIRONMENT, Who::Seers, Level::Environment, 200),
    change("DELETE", ENVIRONMENT, Who::Managers, Level::Environment, 204),
    rule("GET", SECRETS, Who::Readers, Level::Environment, 200),
    change("POST", SECRETS, Who::Writers, Level::Environment, 201),
    rule("GET", EXPORT, Who::Readers, Level::Environment, 200),
    change("POST", BULK, Who::Writers, Level::Environment, 200),
    rule("GET", SECRET, Who::Readers, Level::Secret, 200),
    change("PUT", SECRET, Who::Writers, Level::Secret, 200),
    change("DELETE", SECRET, Who::Writers, Level::Secret, 204),
    rule("GET", MINE, Who::Members, Level::Project, 200),
    rule("GET", DEFAULTS, Who::Members, Level::Project, 200),
    change("PUT", DEFAULTS, Who::Managers, Level::Project, 200),
    change("DELETE", DEFAULTS, Who::Managers, Level::Project, 204),
    rule("GET", PERMISSIONS, Who::Granters, Level::Environment, 200),
    change("PUT", PERMISSIONS, Who::Granters, Level::Environment, 200),
    change("PUT", PERMISSION, Who::Granters, Level::Permission, 200),
    change("DELETE", PERMISSION, Who::Granters, Level::Permission, 204),
    rule("GET", "/api/v1/eso/secret", Who::Machines, Level::Secret, 200),
    rule("GET", "/api/v1/eso/secrets", Who::Machines, Level::Environment, 200),
    rule("GET", "/api/v1/tokens", Who::People, Level::Nothing, 200),
    rule("GET", "/api/v1/tokens", Who::Managers, Level::NamedTeam, 200),
    change("POST", "/api/v1/tokens", Who::Managers, Level::NamedTeam, 201),
    change("POST", "/api/v1/tokens/{id}/rotate", Who::Managers, Level::Token, 200),
    change("DELETE", "/api/v1/tokens/{id}", Who::Managers, Level::Token, 204),
];

impl Level {
    /// What can be named wrongly at this level.
    pub(super) fn targets(self) -> &'static [Target] {
        use Target::{Foreign, Nonsense, Own, Unknown, UnknownEnvironment, UnknownKey};
        match self {
            Self::Nothing => &[Own],
            // What is no UUID in a body or query is malformed, which is another rule.
            Self::NamedTeam => &[Own, Foreign, Unknown],
            Self::Team | Self::Project | Self::Token => &[Own, Foreign, Unknown, Nonsense],
            Self::Environment => &[Own, Foreign, Unknown, Nonsense, UnknownEnvironment],
            Self::Secret | Self::Permission => {
                &[Own, Foreign, Unknown, Nonsense, UnknownEnvironment, UnknownKey]
            }
        }
    }
}

impl Target {
    /// Whose team, project or token is named; `None` if nobody's.
    fn place(self) -> Option<Home> {
        match self {
            Self::Own | Self::UnknownEnvironment | Self::UnknownKey => Some(Home::First),
            Self::Foreign => Some(Home::Other),
            Self::Unknown | Self::Nonsense => None,
        }
    }
}

impl Rule {
    /// The status that a caller gets who names this target.
    pub(super) fn status(&self, caller: Caller, target: Target) -> u16 {
        if let Some(refusal) = self.refusal_of_kind(caller) {
            return refusal;
        }
        match caller {
            Caller::Unauthenticated | Caller::Unsynced => self.ok,
            _ if self.who == Who::Anyone => self.ok,
            Caller::Person { home, may } => self.status_of_person(home, may, target),
            Caller::Token { home, reach, read, write } => {
                self.status_of_token(home, reach, (read, write), target)
            }
        }
    }

    /// The status of those who may not call at all, whatever they name.
    pub(super) fn refusal_of_kind(&self, caller: Caller) -> Option<u16> {
        use Who::{Accounts, Anyone, Identities, Known, Machines, Readers, Seers, Writers};
        match (caller, self.who) {
            (_, Anyone) | (Caller::Unsynced, Identities) => None,
            // There is no such user.
            (Caller::Unsynced, Known) => Some(404),
            // A user credential is refused by its kind, with an account or without.
            (Caller::Person { .. } | Caller::Unsynced, Machines) => Some(403),
            (Caller::Unauthenticated | Caller::Unsynced, _) => Some(401),
            (Caller::Person { .. }, _)
            | (Caller::Token { .. }, Accounts | Known | Machines | Readers | Seers | Writers) => {
                None
            }
            (Caller::Token { .. }, _) => Some(403),
        }
    }

    /// From outside in: is it there, may the caller see it, is there what is in it, may the caller
    /// do this to it.
    fn status_of_person(&self, home: Option<Home>, may: May, target: Target) -> u16 {
        let Some(place) = target.place() else { return self.status_of_unknown() };
        if self.on != Level::Nothing && Some(place) != home {
            return 403;
        }
        if target == Target::UnknownEnvironment {
            return 404;
        }
        if may < self.needed() {
            return 403;
        }
        if target == Target::UnknownKey { 404 } else { self.ok }
    }

    /// What a member must be allowed.
    fn needed(&self) -> May {
        match (self.who, self.on) {
            (Who::Managers, _) => May::Manage,
            (Who::Granters, _) => May::Grant,
            (Who::Writers, _) => May::Write,
            (Who::Readers, _) | (Who::Seers, Level::Environment) => May::Read,
            _ => May::Belong,
        }
    }

    fn status_of_token(
        &self,
        home: Home,
        reach: Reach,
        (read, write): (bool, bool),
        target: Target,
    ) -> u16 {
        let Some(place) = target.place() else { return self.status_of_unknown() };
        if self.on == Level::Nothing {
            return self.ok;
        }
        if place != home || reach == Reach::AnotherProject {
            return 403;
        }
        if self.on == Level::Project {
            return self.ok;
        }
        if target == Target::UnknownEnvironment {
            return 404;
        }
        let may = match self.who {
            Who::Readers | Who::Machines => read,
            Who::Writers => write,
            _ => true,
        };
        match (reach == Reach::AnotherEnvironment || !may, target) {
            (true, _) => 403,
            (false, Target::UnknownKey) => 404,
            (false, _) => self.ok,
        }
    }

    /// An unknown team is 404 only where its row of the specification lists that.
    fn status_of_unknown(&self) -> u16 {
        if self.on == Level::NamedTeam { 403 } else { 404 }
    }
}
