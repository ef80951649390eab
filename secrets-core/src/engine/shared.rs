//! State that is kept in the memory of the process: at most one value of each type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::model::lock::lock;

/// Map from a type to the only value of that type, such as the counters of a feature. The number of
/// types in the code limits its size.
#[derive(Default)]
pub(super) struct Shared(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Shared {
    /// Returns the value of this type, created by `Default` on first use.
    pub(super) fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = lock(&self.0);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        #[expect(clippy::expect_used, reason = "a value is stored under its own type")]
        Arc::clone(value).downcast().expect("the value of this type")
    }
}
