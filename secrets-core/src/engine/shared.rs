//! State of the process, by type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::model::lock::lock;

/// One value of each type that a feature keeps in the process, such as a counter. Holds at most
/// as many values as there are such types.
#[derive(Default)]
pub(super) struct Shared(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Shared {
    /// The value of this type, created by `Default` on first use.
    pub(super) fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = lock(&self.0);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        #[expect(clippy::expect_used, reason = "a value is stored under its own type")]
        Arc::clone(value).downcast().expect("the value of this type")
    }
}
