//! Memory: a budget of the host application from which large work reserves its memory.

use async_trait::async_trait;

use crate::model::{Result, UserId};

/// Reserved memory. Dropping it releases the memory.
pub type ReservedMemory = Box<dyn Send>;

/// Memory budget for work that needs many megabytes, such as deriving an encryption key from a
/// passphrase, or decrypting the secrets of a large environment.
#[async_trait]
pub trait WorkMemory: Send + Sync {
    /// Reserves this number of bytes of the account's share; of the whole budget only, if `account`
    /// is `None`. Waits for a limited time if they are in use, then fails as unavailable.
    async fn reserve(&self, account: Option<UserId>, bytes: u64) -> Result<ReservedMemory>;
}
