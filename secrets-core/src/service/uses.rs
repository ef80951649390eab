//! When tokens were last used: remembered here and written now and then, so that no read waits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::model::TokenId;
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
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() < REMEMBERED || remembered.contains_key(&token.id) {
            remembered.insert(token.id, used);
        }
    }

    /// Writes what is remembered; if that fails, it stays remembered.
    pub(super) async fn write(&self, store: &dyn Store) -> StoreResult<()> {
        let uses = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if uses.is_empty() {
            return Ok(());
        }
        let written = write(store, &uses).await;
        if written.is_err() {
            let mut newer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            for (token, used) in uses {
                if newer.len() < REMEMBERED {
                    newer.entry(token).or_insert(used);
                }
            }
        }
        written
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
