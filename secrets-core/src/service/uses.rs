//! When tokens were last used: remembered here and written now and then, so that no read waits.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ids::TokenId;
use crate::store::{Store, StoreResult, TokenRecord, TokenUse};

/// The most tokens of which a use is remembered until it is written; of those beyond, the next use
/// is.
const REMEMBERED: usize = 10_000;

/// Uses that were not written yet.
#[derive(Default)]
pub(super) struct Uses(Mutex<HashMap<TokenId, TokenUse>>);

impl Uses {
    /// Remembers a use, unless one that was written a moment ago stands for it.
    pub(super) fn remember(&self, token: &TokenRecord, used: TokenUse) {
        if token.last_use.is_some_and(|last| used.at < last.at + TokenUse::STANDS) {
            return;
        }
        let mut remembered = self.remembered();
        if remembered.len() < REMEMBERED || remembered.contains_key(&token.id) {
            remembered.insert(token.id, used);
        }
    }

    /// Writes what is remembered. If that fails, or is given up half-way, it stays remembered.
    pub(super) async fn write(&self, store: &dyn Store) -> StoreResult<()> {
        let uses = self.remembered().clone();
        if uses.is_empty() {
            return Ok(());
        }
        write(store, &uses).await?;
        // What was remembered meanwhile is for the next time.
        self.remembered().retain(|token, used| uses.get(token) != Some(used));
        Ok(())
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<TokenId, TokenUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write(store: &dyn Store, uses: &HashMap<TokenId, TokenUse>) -> StoreResult<()> {
    // In one order, so that two nodes that write the same tokens do not wait for each other.
    let mut tokens: Vec<_> = uses.iter().collect();
    tokens.sort_unstable_by_key(|(token, _)| **token);
    let mut tx = store.begin().await?;
    for (token, used) in tokens {
        tx.use_token(*token, *used).await?;
    }
    tx.commit().await
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::time::Duration;

    use async_trait::async_trait;

    use super::*;
    use crate::clock::Time;
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
        let (uses, creator) = (Uses::default(), user("alice"));
        let token = token(&team(&creator, "ops"), &creator);
        uses.remember(&token, TokenUse { at: at(1), address: None });

        let given_up = tokio::time::timeout(Duration::ZERO, uses.write(&Stuck)).await;

        assert!(given_up.is_err());
        assert!(uses.remembered().contains_key(&token.id));
        uses.write(&MemoryStore::new()).await.unwrap();
        assert!(uses.remembered().is_empty());
    }
}
