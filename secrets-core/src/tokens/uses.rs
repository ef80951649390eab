//! Last-used times of tokens: collected in memory and written periodically, so that requests do not
//! wait for a write.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::engine::{Engine, Periodic, Schedule};
use crate::model::TokenId;
use crate::model::lock::lock;
use crate::store::{Store, StoreResult, TokenRecord, TokenUse};

/// Maximum number of tokens with a pending last-used time. Uses of further tokens are dropped.
const MAX_PENDING: usize = 10_000;

/// Last-used times not yet written.
#[derive(Default)]
pub(crate) struct TokenUses(Mutex<HashMap<TokenId, TokenUse>>);

impl TokenUses {
    /// Remembers a use of a token, to be written later. Does nothing if the stored last use is less
    /// than [`TokenUse::WRITE_INTERVAL`] before `used`.
    pub(crate) fn remember(&self, token: &TokenRecord, used: TokenUse) {
        if token.last_use.is_some_and(|last| used.at < last.at + TokenUse::WRITE_INTERVAL) {
            return;
        }
        let mut remembered = lock(&self.0);
        if remembered.len() < MAX_PENDING || remembered.contains_key(&token.id) {
            remembered.insert(token.id, used);
        }
    }

    /// Writes the pending uses. If the write fails, or is cancelled half-way, the uses stay
    /// pending.
    pub(crate) async fn write(&self, store: &dyn Store) -> StoreResult<()> {
        let uses = lock(&self.0).clone();
        if uses.is_empty() {
            return Ok(());
        }
        write(store, &uses).await?;
        // Uses that were added meanwhile are written the next time.
        lock(&self.0).retain(|token, used| uses.get(token) != Some(used));
        Ok(())
    }
}

/// Worker that writes the last-used times.
pub const TOKEN_USES: Periodic = Periodic {
    name: "token uses",
    schedule: Schedule::every(Duration::from_secs(10)),
    job: |engine| Box::pin(async move { Ok(write_uses(&engine).await?) }),
};

/// Writes the last-used times of tokens that are not written yet.
pub async fn write_uses(engine: &Engine) -> StoreResult<()> {
    engine.shared::<TokenUses>().write(engine.store()).await
}

async fn write(store: &dyn Store, uses: &HashMap<TokenId, TokenUse>) -> StoreResult<()> {
    // Sorted, so that two nodes writing the same tokens do not deadlock.
    let mut tokens: Vec<_> = uses.iter().collect();
    tokens.sort_unstable_by_key(|(token, _)| **token);
    let mut tx = store.begin().await?;
    for (token, used) in tokens {
        tx.record_token_use(*token, *used).await?;
    }
    tx.commit().await
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::model::Time;
    use crate::store::{MemoryStore, Reads, Tx};
    use crate::testing::fixtures::{at, team, token, user};

    /// A store whose transactions never begin.
    struct Stuck;

    #[async_trait]
    impl Store for Stuck {
        async fn read(&self) -> StoreResult<Box<dyn Reads>> {
            std::future::pending().await
        }

        async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
            std::future::pending().await
        }

        async fn ping(&self) -> StoreResult<Option<Time>> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_write_that_is_given_up_loses_no_use() {
        let (uses, creator) = (TokenUses::default(), user("alice"));
        let token = token(&team(&creator, "ops"), &creator);
        uses.remember(&token, TokenUse { at: at(1), address: None });

        let given_up = tokio::time::timeout(Duration::ZERO, uses.write(&Stuck)).await;

        assert!(given_up.is_err());
        assert!(lock(&uses.0).contains_key(&token.id));
        uses.write(&MemoryStore::new()).await.unwrap();
        assert!(lock(&uses.0).is_empty());
    }
}
