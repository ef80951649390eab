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
    /// than [`TokenUse::WRITE_INTERVAL`] older.
    pub(crate) fn remember(&self, token: &TokenRecord, used: TokenUse) {
        if token.last_use.is_some_and(|last| used.at < last.at + TokenUse::WRITE_INTERVAL) {
            return;
        }
        let mut remembered = lock(&self.0);
        if remembered.len() < MAX_PENDING || remembered.contains_key(&token.id) {
            remembered.insert(token.id, used);
        }
    }

    /// Writes the pending uses. If that fails, they stay pending.
    pub(crate) async fn write(&self, store: &dyn Store) -> StoreResult<()> {
        let uses = std::mem::take(&mut *lock(&self.0));
        if uses.is_empty() {
            return Ok(());
        }
        let written = write(store, &uses).await;
        if written.is_err() {
            let mut newer = lock(&self.0);
            for (token, used) in uses {
                if newer.len() < MAX_PENDING {
                    newer.entry(token).or_insert(used);
                }
            }
        }
        written
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
