//! Recording of the last use of service tokens and sessions. The times are collected in memory and
//! written to the store periodically, so that requests do not wait for a write.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::engine::{Engine, Periodic, Schedule};
use crate::model::lock::lock;
use crate::model::{SessionId, Time, TokenId};
use crate::store::{SessionRecord, Store, StoreResult, TokenRecord, TokenUse};

/// Maximum number of credentials whose last use is kept in memory until it is written. Uses of
/// further credentials are not recorded.
const MAX_PENDING: usize = 10_000;

/// Maximum number of rows that are changed in one transaction, so that the deletion of a token does
/// not wait long for its row.
const MAX_ROWS: usize = 200;

/// ID of a service token or of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum CredentialId {
    Token(TokenId),
    Session(SessionId),
}

/// Last uses of credentials that are not written to the store yet.
#[derive(Default)]
pub(crate) struct CredentialUses(Mutex<HashMap<CredentialId, TokenUse>>);

impl CredentialUses {
    /// Keeps a use of a service token in memory, to be written later. Does nothing if the stored
    /// last use is less than a minute ([`TokenUse::WRITE_INTERVAL`]) older.
    pub(crate) fn remember_token(&self, token: &TokenRecord, used: TokenUse) {
        self.remember(CredentialId::Token(token.id), token.last_use.map(|last| last.at), used);
    }

    /// Keeps a use of a session in memory, to be written later, like
    /// [`remember_token`](Self::remember_token).
    pub(crate) fn remember_session(&self, session: &SessionRecord, at: Time) {
        let used = TokenUse { at, address: None };
        self.remember(CredentialId::Session(session.id), session.last_used_at, used);
    }

    /// Sets the last use of a loaded session to the use in memory, if that is later and not written
    /// to the store yet.
    pub(crate) fn apply(&self, session: &mut SessionRecord) {
        let pending = lock(&self.0).get(&CredentialId::Session(session.id)).map(|used| used.at);
        session.last_used_at = session.last_used_at.max(pending);
    }

    fn remember(&self, credential: CredentialId, last: Option<Time>, used: TokenUse) {
        if last.is_some_and(|last| used.at < last + TokenUse::WRITE_INTERVAL) {
            return;
        }
        let mut remembered = lock(&self.0);
        if remembered.len() < MAX_PENDING || remembered.contains_key(&credential) {
            remembered.insert(credential, used);
        }
    }

    /// Writes the last uses in memory to the store. If the write fails or is cancelled, they are
    /// kept for the next call.
    pub(crate) async fn write(&self, store: &dyn Store) -> StoreResult<()> {
        let uses = lock(&self.0).clone();
        if uses.is_empty() {
            return Ok(());
        }
        write(store, &uses).await?;
        // Uses that were added meanwhile are written the next time.
        lock(&self.0).retain(|credential, used| uses.get(credential) != Some(used));
        Ok(())
    }
}

/// Worker that writes the times of the last use of service tokens and sessions to the store.
pub const CREDENTIAL_USES: Periodic = Periodic {
    name: "token uses",
    schedule: Schedule::every(Duration::from_secs(10)),
    job: |engine| Box::pin(async move { Ok(write_uses(&engine).await?) }),
};

/// Writes the last uses of service tokens and sessions that are still in memory to the store.
pub async fn write_uses(engine: &Engine) -> StoreResult<()> {
    engine.shared::<CredentialUses>().write(engine.store()).await
}

async fn write(store: &dyn Store, uses: &HashMap<CredentialId, TokenUse>) -> StoreResult<()> {
    // Sorted, so that two nodes writing the same rows do not deadlock.
    let mut credentials: Vec<_> = uses.iter().collect();
    credentials.sort_unstable_by_key(|(credential, _)| **credential);
    for credentials in credentials.chunks(MAX_ROWS) {
        let mut tx = store.begin().await?;
        for (credential, used) in credentials {
            match **credential {
                CredentialId::Token(token) => tx.record_token_use(token, **used).await?,
                CredentialId::Session(session) => tx.record_session_use(session, used.at).await?,
            }
        }
        tx.commit().await?;
    }
    Ok(())
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::store::MemoryStore;
    use crate::testing::StuckStore;
    use crate::testing::fixtures::{at, team, token, user};

    #[tokio::test]
    async fn a_cancelled_write_loses_no_use() {
        let (uses, creator) = (CredentialUses::default(), user("alice"));
        let token = token(&team(&creator, "ops"), &creator);
        uses.remember_token(&token, TokenUse { at: at(1), address: None });

        let given_up = tokio::time::timeout(Duration::ZERO, uses.write(&StuckStore)).await;

        assert!(given_up.is_err());
        assert!(lock(&uses.0).contains_key(&CredentialId::Token(token.id)));
        uses.write(&MemoryStore::new()).await.unwrap();
        assert!(lock(&uses.0).is_empty());
    }
}
