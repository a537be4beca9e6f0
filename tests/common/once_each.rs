//! Values that several tests need and one makes.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A value for each name, made when the first test asks for it.
pub(crate) struct OnceEach<T>(Mutex<BTreeMap<String, Arc<OnceLock<T>>>>);

impl<T: Clone> OnceEach<T> {
    pub(crate) const fn new() -> OnceEach<T> {
        OnceEach(Mutex::new(BTreeMap::new()))
    }

    /// The value of this name. Whoever asks while another test makes it waits.
    pub(crate) fn get(&self, name: &str, make: impl FnOnce() -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.entry(name.to_owned()).or_default().clone();
        drop(all);
        own.get_or_init(make).clone()
    }
}
