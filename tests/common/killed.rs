//! A process that ends with its test.
use std::ops::{Deref, DerefMut};
use std::process::Child;

/// A process that is killed and waited for when this is dropped.
pub(crate) struct KilledAtEnd(pub(crate) Child);

impl Deref for KilledAtEnd {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KilledAtEnd {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KilledAtEnd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
