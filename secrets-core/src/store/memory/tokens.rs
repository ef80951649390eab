use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::state::{State, Token, owned, refers};
use super::{Pending, Session, Snapshot};
use crate::crypto::TokenMac;
use crate::model::{Subject, TeamId, Time, TokenId};
use crate::store::{
    NewCredential, PreviousToken, StoreError, StoreResult, TokenReads, TokenRecord, TokenScope,
    TokenUse, TokenWrites,
};

#[async_trait]
impl<S: Snapshot> TokenReads for Session<S> {
    async fn token_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<TokenRecord>> {
        Ok(self.state().token_by_mac(mac).map(|token| token.record.clone()))
    }

    async fn token(&mut self, token: TokenId) -> StoreResult<Option<TokenRecord>> {
        Ok(self.state().tokens.get(&token).map(|token| token.record.clone()))
    }

    async fn tokens(&mut self, teams: &[TeamId]) -> StoreResult<Vec<(TokenRecord, TokenScope)>> {
        let state = self.state();
        let of_teams = state.tokens.values().filter(|token| teams.contains(&token.record.team));
        let mut tokens: Vec<_> =
            of_teams.map(|token| (token.record.clone(), token.scope.clone())).collect();
        tokens.sort_by_key(|(token, _)| (token.created_at, token.id));
        Ok(tokens)
    }

    async fn token_scope(&mut self, token: TokenId) -> StoreResult<TokenScope> {
        Ok(self.state().tokens.get(&token).map(|token| token.scope.clone()).unwrap_or_default())
    }

    async fn count_tokens(&mut self, team: TeamId) -> StoreResult<u64> {
        Ok(self.state().tokens.values().filter(|token| token.record.team == team).map(|_| 1).sum())
    }

    async fn expiring_tokens(
        &mut self,
        now: Time,
        until: Time,
        limit: u32,
    ) -> StoreResult<Vec<TokenRecord>> {
        let state = self.state();
        let tokens = state.tokens.values().map(|token| &token.record);
        let expires_soon = |token: &&TokenRecord| {
            !token.expiry_announced && token.expires_at.is_some_and(|at| now < at && at <= until)
        };
        let mut expiring: Vec<_> = tokens.filter(expires_soon).cloned().collect();
        expiring.sort_by_key(|token| (token.expires_at, token.id));
        expiring.truncate(limit as usize);
        Ok(expiring)
    }
}

#[async_trait]
impl TokenWrites for Session<Pending> {
    async fn insert_token(&mut self, token: &TokenRecord, scope: &TokenScope) -> StoreResult<()> {
        let state = self.state_mut();
        if state.token_macs.contains_key(&token.mac.0) || state.tokens.contains_key(&token.id) {
            return Err(StoreError::Duplicate(Subject::Token));
        }
        refers(state.teams.contains_key(&token.team), "team")?;
        refers(state.users.contains_key(&token.created_by), "user")?;
        refers(scope.projects.iter().all(|id| state.project_keys.contains_key(id)), "project")?;
        refers(
            scope.environments.iter().all(|id| state.environments.contains_key(id)),
            "environment",
        )?;
        state.token_macs.insert(token.mac.0, token.id);
        state.token_macs.extend(token.previous.map(|previous| (previous.mac.0, token.id)));
        state
            .tokens
            .insert(token.id, Token { record: token.clone(), scope: normalized(scope) }.into());
        Ok(())
    }

    async fn delete_token(&mut self, token: TokenId) -> StoreResult<()> {
        let state = self.state_mut();
        let token = state.tokens.remove(&token).ok_or(GONE)?;
        state.token_macs.remove(&token.record.mac.0);
        if let Some(previous) = token.record.previous {
            state.token_macs.remove(&previous.mac.0);
        }
        Ok(())
    }

    async fn rotate_token(&mut self, token: TokenId, rotation: &NewCredential) -> StoreResult<()> {
        let state = self.state_mut();
        let Token { record: old, scope } = state.tokens.get(&token).map(owned).ok_or(GONE)?;
        let previous = rotation.previous_until.map(|until| PreviousToken { mac: old.mac, until });
        for ended in [Some(old.mac), old.previous.map(|before| before.mac)].into_iter().flatten() {
            state.token_macs.remove(&ended.0);
        }
        let record = TokenRecord {
            mac: rotation.mac,
            prefix: rotation.prefix.clone(),
            previous,
            rotated_at: Some(rotation.now),
            outlives_session: rotation.outlives_session,
            updated_at: rotation.now,
            ..old
        };
        state.token_macs.insert(record.mac.0, token);
        state.token_macs.extend(previous.map(|previous| (previous.mac.0, token)));
        state.tokens.insert(token, Token { record, scope }.into());
        Ok(())
    }

    async fn record_token_use(&mut self, token: TokenId, used: TokenUse) -> StoreResult<()> {
        let state = self.state_mut();
        let Some(mut known) = state.tokens.get(&token).map(owned) else { return Ok(()) };
        let last = known.record.last_use;
        if last.is_none_or(|last| last.at <= used.at - TokenUse::WRITE_INTERVAL) {
            known.record.last_use = Some(used);
            state.tokens.insert(token, known.into());
        }
        Ok(())
    }

    async fn mark_expiry_announced(&mut self, token: TokenId) -> StoreResult<()> {
        let state = self.state_mut();
        let mut known = state.tokens.get(&token).map(owned).ok_or(GONE)?;
        if known.record.expiry_announced {
            return Err(GONE);
        }
        known.record.expiry_announced = true;
        state.tokens.insert(token, known.into());
        Ok(())
    }
}

const GONE: StoreError = StoreError::Stale(Subject::Token);

impl State {
    /// Applies `narrow` to the scope of every service token and stores the changed scopes.
    pub(super) fn narrow_tokens(&mut self, narrow: impl Fn(&mut TokenScope)) {
        let tokens = self.tokens.iter().map(|(id, token)| {
            let mut scope = token.scope.clone();
            narrow(&mut scope);
            let is_narrower = scope != token.scope;
            let narrowed = || Token { record: token.record.clone(), scope }.into();
            (*id, if is_narrower { narrowed() } else { Arc::clone(token) })
        });
        self.tokens = tokens.collect();
    }
}

/// Returns the scope with its IDs sorted and without duplicates.
fn normalized(scope: &TokenScope) -> TokenScope {
    TokenScope {
        projects: sorted_unique(&scope.projects),
        environments: sorted_unique(&scope.environments),
    }
}

fn sorted_unique<T: Copy + Ord>(list: &[T]) -> Vec<T> {
    list.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
}
