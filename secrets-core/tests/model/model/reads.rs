//! Reads of the model, and its rules for permissions and service tokens.

use std::collections::BTreeMap;

use secrets_core::model::MemberAccess;

use super::{Effective, Model, Needed, Result, Token, limits};
use crate::request::{Answer, Listed, Name, Outcome, Principal, Read, value_text};

impl Model {
    /// Returns the effective secrets of an environment, including hidden ones.
    fn effective(&self, by: Principal, at: Name) -> Result<Vec<Effective<'_>>> {
        self.allow(by, at, Needed::Read)?;
        let mut nearest = BTreeMap::new();
        for holder in self.chain(at) {
            let is_restricted = match by {
                Principal::Member(member) => self.access(member, holder) < MemberAccess::Read,
                Principal::Owner | Principal::Token(_) => false,
            };
            let inherited_from = (holder != at).then_some(holder);
            for (key, secret) in &self.environments[holder].secrets {
                let effective = Effective { key, secret, inherited_from, is_restricted };
                nearest.entry(*key).or_insert(effective);
            }
        }
        Ok(nearest.into_values().collect())
    }

    pub(super) fn get(&self, by: Principal, at: Name, key: Name) -> Outcome {
        let effective = self.effective(by, at)?;
        let found = effective.iter().find(|found| found.key == key);
        let found = found.filter(|found| found.secret.value.is_some()).ok_or("not_found")?;
        if found.is_restricted { Err("forbidden") } else { Ok(Answer::Values(vec![found.read()])) }
    }

    pub(super) fn list(&self, by: Principal, at: Name) -> Outcome {
        let listed = |found: Effective<'_>| Listed {
            key: found.key.to_owned(),
            version: found.secret.version,
            inherited_from: found.inherited_from.map(str::to_owned),
            is_hidden: found.secret.value.is_none(),
            is_restricted: found.is_restricted,
        };
        Ok(Answer::List(self.effective(by, at)?.into_iter().map(listed).collect()))
    }

    pub(super) fn export(&self, by: Principal, at: Name) -> Outcome {
        let mut shown = self.effective(by, at)?;
        shown.retain(|found| found.secret.value.is_some());
        if shown.iter().any(|found| found.is_restricted) {
            return Err("forbidden");
        }
        Ok(Answer::Values(shown.iter().map(Effective::read).collect()))
    }

    pub(super) fn history(&self, by: Principal, at: Name, key: Name) -> Outcome {
        let secret = self.own(by, at, key, Needed::Read)?;
        let previous = secret.previous.iter().rev();
        Ok(Answer::History(
            previous.map(|(version, value)| (*version, value.map(value_text))).collect(),
        ))
    }

    /// Sets or removes a member's permission in an environment.
    pub(super) fn grant(
        &mut self,
        by: Principal,
        at: Name,
        member: usize,
        access: Option<MemberAccess>,
    ) -> Outcome {
        let granted = self.allow(by, at, Needed::Grant)?.granted[member];
        if by == Principal::Member(member) {
            return Err("forbidden");
        }
        match (access, self.members[member]) {
            (None, _) if granted.is_none() => return Err("not_found"),
            (Some(_), None) => return Err("not_found"),
            (Some(_), Some(true)) => return Err("refused"),
            _ => (),
        }
        self.environment(at).granted[member] = access;
        Ok(Answer::Done)
    }

    /// Removes a member, or lets the member leave. A member who comes back has no permissions.
    pub(super) fn remove(&mut self, by: Principal, member: usize) -> Outcome {
        if by != Principal::Member(member) {
            self.needs_manager(by)?;
        } else if self.members[member].is_none() {
            return Err("forbidden");
        }
        self.members[member].take().ok_or("not_found")?;
        for environment in self.environments.values_mut() {
            environment.granted[member] = None;
        }
        Ok(Answer::Done)
    }

    /// Invites a person, who accepts at once.
    pub(super) fn invite(&mut self, by: Principal, member: usize) -> Outcome {
        self.needs_manager(by)?;
        if self.members[member].is_some() {
            return Err("invalid");
        }
        self.members[member] = Some(false);
        Ok(Answer::Done)
    }

    pub(super) fn create_token(
        &mut self,
        by: Principal,
        may_read: bool,
        may_write: bool,
        environments: Option<&[Name]>,
    ) -> Outcome {
        self.needs_manager(by)?;
        let scope = match environments {
            Some(names) => {
                let number = |name: &Name| Some(self.environments.get(name)?.number);
                let found: Option<_> = names.iter().map(number).collect();
                Some(found.ok_or("invalid")?)
            }
            None => None,
        };
        if self.tokens.iter().filter(|token| !token.is_deleted).count() >= limits::TOKENS {
            return Err("plan_limit");
        }
        self.tokens.push(Token { is_deleted: false, may_read, may_write, environments: scope });
        Ok(Answer::Done)
    }
}

impl Effective<'_> {
    fn read(&self) -> Read {
        Read {
            key: self.key.to_owned(),
            value: self.secret.value.map(value_text).unwrap_or_default(),
            version: self.secret.version,
            inherited_from: self.inherited_from.map(str::to_owned),
        }
    }
}
