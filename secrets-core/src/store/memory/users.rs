use async_trait::async_trait;

use super::state::owned;
use super::{Pending, Session, Snapshot};
use crate::model::{Subject, Time, UserId};
use crate::store::{StoreError, StoreResult, UserReads, UserRecord, UserWrites};

#[async_trait]
impl<S: Snapshot> UserReads for Session<S> {
    async fn user(&mut self, user: UserId) -> StoreResult<Option<UserRecord>> {
        Ok(self.state().users.get(&user).map(owned))
    }

    async fn user_by_subject(
        &mut self,
        issuer: &str,
        subject: &str,
    ) -> StoreResult<Option<UserRecord>> {
        let state = self.state();
        let user = state.subjects.get(&(issuer.to_owned(), subject.to_owned()));
        Ok(user.and_then(|user| state.users.get(user)).map(owned))
    }
}

#[async_trait]
impl UserWrites for Session<Pending> {
    async fn insert_user(&mut self, user: &UserRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let subject = (user.issuer.clone(), user.subject.clone());
        if state.subjects.contains_key(&subject) || state.users.contains_key(&user.id) {
            return Err(StoreError::Duplicate(Subject::User));
        }
        state.subjects.insert(subject, user.id);
        state.users.insert(user.id, user.clone().into());
        Ok(())
    }

    async fn update_user(&mut self, user: &UserRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let known = state.users.get(&user.id).map(owned);
        if let Some(old) = known.filter(is_known) {
            let (issuer, subject, created_at) = (old.issuer, old.subject, old.created_at);
            let new = UserRecord { issuer, subject, created_at, ..user.clone() };
            state.users.insert(user.id, new.into());
        }
        Ok(())
    }

    async fn lock_user(&mut self, user: UserId) -> StoreResult<()> {
        // The transaction has locked the whole store already.
        let known = self.state().users.get(&user).map(owned).filter(is_known);
        known.map(drop).ok_or(StoreError::Stale(Subject::User))
    }

    async fn erase_user(&mut self, user: UserId, now: Time) -> StoreResult<()> {
        let state = self.state_mut();
        let Some(old) = state.users.get(&user).map(owned) else { return Ok(()) };
        let forgotten = UserRecord::forgotten(user, old.created_at, now);
        state.subjects.remove(&(old.issuer, old.subject));
        state.subjects.insert((forgotten.issuer.clone(), forgotten.subject.clone()), user);
        state.users.insert(user, forgotten.into());
        Ok(())
    }
}

/// True unless the user is deleted.
fn is_known(user: &UserRecord) -> bool {
    !user.issuer.is_empty()
}
