//! Expected status of each request: computed from the policy, the caller and the target object.

use super::policy::{Level, Rule, Target, Who};
use super::principals::{Caller, May, Reach};
use super::world::Home;

impl Target {
    /// Returns the team to which the target object of a request belongs, even if an object inside
    /// the team is unknown; `None` if the team or the project itself is unknown.
    fn place(self) -> Option<Home> {
        match self {
            Self::Own | Self::UnknownEnvironment | Self::UnknownKey => Some(Home::First),
            Self::Foreign => Some(Home::Other),
            Self::Unknown | Self::Nonsense => None,
        }
    }
}

impl Rule {
    /// Returns the status that a caller must get for a request with this target.
    pub(super) fn status(&self, caller: Caller, target: Target) -> u16 {
        if let Some(refusal) = self.refusal_of_kind(caller) {
            return refusal;
        }
        match caller {
            Caller::Unauthenticated | Caller::Unsynced => self.ok,
            _ if self.who == Who::Public => self.ok,
            Caller::Person { home, may } => self.status_of_person(home, may, target),
            Caller::Token { home, reach, read, write } => {
                self.status_of_token(home, reach, (read, write), target)
            }
        }
    }

    /// Returns true if the endpoint accepts service tokens. The scope of a token may still forbid
    /// the request.
    pub(super) fn admits_tokens(&self) -> bool {
        use Who::{Accounts, AnyCredential, Machines, Readers, Seers, Writers};
        matches!(self.who, Accounts | AnyCredential | Machines | Readers | Seers | Writers)
    }

    /// Returns the expected status if the endpoint refuses all callers of this kind, such as
    /// service tokens; `None` if it does not.
    pub(super) fn refusal_of_kind(&self, caller: Caller) -> Option<u16> {
        use Who::{AnyCredential, Identities, Machines, Public};
        match (caller, self.who) {
            (_, Public) | (Caller::Unsynced, Identities) => None,
            // The user has no account.
            (Caller::Unsynced, AnyCredential) => Some(404),
            // A user credential is refused because of its kind, with or without an account.
            (Caller::Person { .. } | Caller::Unsynced, Machines) => Some(403),
            (Caller::Unauthenticated | Caller::Unsynced, _) => Some(401),
            (Caller::Person { .. }, _) => None,
            (Caller::Token { .. }, _) => (!self.admits_tokens()).then_some(403),
        }
    }

    /// Returns the expected status for a user. The server checks, in this order: that the team or
    /// project in the path exists and the user is a member, that the environment exists, that the
    /// user has the permission, and that the inner object (such as a secret) exists.
    fn status_of_person(&self, home: Option<Home>, may: May, target: Target) -> u16 {
        let Some(place) = target.place() else { return self.status_of_unknown() };
        if self.who == Who::Auditors {
            return if home.is_some() && may < May::Manage { 403 } else { self.ok };
        }
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

    /// Returns the permission that a team member needs for a request to this endpoint.
    fn needed(&self) -> May {
        match (self.who, self.on) {
            (Who::Managers, _) => May::Manage,
            (Who::Granters, _) => May::Grant,
            (Who::Writers | Who::Editors, _) => May::Write,
            // A comparison includes the names of environments that the member may not read.
            (Who::Readers, Level::Project) => May::Belong,
            (Who::Readers | Who::Viewers, _) | (Who::Seers, Level::Environment) => May::Read,
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
        if target == Target::UnknownEnvironment {
            return 404;
        }
        let may = match self.who {
            Who::Readers | Who::Machines => read,
            Who::Writers => write,
            _ => true,
        };
        // The only request about a project that names an environment is a change of secrets.
        let has_environment = self.on != Level::Project || self.who == Who::Writers;
        let is_outside = reach == Reach::AnotherEnvironment && has_environment;
        match (is_outside || !may, target) {
            (true, _) => 403,
            (false, Target::UnknownKey) => 404,
            (false, _) => self.ok,
        }
    }

    /// Returns the expected status if the object that the request names does not exist: 403 if it
    /// names a team in the body or query, or in the path of an endpoint whose API specification
    /// lists no 404; otherwise 404.
    fn status_of_unknown(&self) -> u16 {
        if matches!(self.on, Level::NamedTeam | Level::UntoldTeam) { 403 } else { 404 }
    }
}
