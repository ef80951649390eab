//! Memory: the interface to the memory budget of the host application.

use async_trait::async_trait;

use crate::model::{Result, UserId};

/// Reserved memory. Dropping it releases the memory.
pub type ReservedMemory = Box<dyn Send>;

/// Memory budget for work that needs many megabytes, such as deriving an encryption key from a
/// passphrase, or decrypting the secrets of a large environment.
#[async_trait]
pub trait WorkMemory: Send + Sync {
    /// Reserves memory from the budget and, if the user `account` is given, from this user's share
    /// of the budget. If not enough memory is free, waits for a limited time and then fails as
    /// unavailable.
    async fn reserve(&self, account: Option<UserId>, bytes: u64) -> Result<ReservedMemory>;
}
