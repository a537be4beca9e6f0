//! The epoch that this process follows already: the members of its next communicator do not send each other what all of
//! them hold.
use directory::epoch::LeanEpoch;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// An epoch in the octets of a broadcast, without what jobs learned: that differs by place.
#[derive(Debug, Clone)]
pub struct HeldEpoch {
    octets: Arc<[u8]>,
    digest: u64,
    /// The library's messages are known to cross its tree.
    is_crossed: bool,
}

/// The one that this process took up last.
static NEWEST: Mutex<Option<HeldEpoch>> = Mutex::new(None);

impl HeldEpoch {
    /// The epoch that this process took up last, if it did.
    pub fn newest() -> Option<HeldEpoch> {
        NEWEST
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// This process takes up an epoch, in bytes of [`LeanEpoch::to_bytes`]. Gives its digest, 0 if they are none.
    pub fn hold(lean: &[u8]) -> u64 {
        let held = LeanEpoch::parts(lean).map(|(epoch, _)| HeldEpoch::new(epoch));
        let digest = held.as_ref().map_or(0, HeldEpoch::digest);
        *NEWEST.lock().unwrap_or_else(PoisonError::into_inner) = held;
        digest
    }

    fn new(epoch: &[u8]) -> HeldEpoch {
        let mut hasher = DefaultHasher::new();
        epoch.hash(&mut hasher);
        HeldEpoch {
            octets: epoch.into(),
            // MPI libraries compare such numbers with a sign.
            digest: (hasher.finish() >> 1).max(1),
            is_crossed: false,
        }
    }

    /// The same for processes that all know whether the library's messages cross its tree.
    #[must_use]
    pub fn crossed(self, is_crossed: bool) -> HeldEpoch {
        HeldEpoch { is_crossed, ..self }
    }

    /// True if it is the epoch with this digest, and the library's messages are known to cross its tree.
    pub fn is_crossed(&self, digest: u64) -> bool {
        self.is_crossed && self.digest == digest
    }

    /// The same on all processes that hold this epoch; never 0.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// These bytes of an epoch for a process that holds it: if it is the same, only what jobs learned.
    pub fn shorten(&self, lean: Vec<u8>) -> Vec<u8> {
        match LeanEpoch::parts(&lean) {
            Some((epoch, learned)) if *epoch == *self.octets => LeanEpoch::joined(&[], learned),
            _ => lean,
        }
    }

    /// The bytes that [`HeldEpoch::shorten`] had.
    pub fn complete(&self, lean: Vec<u8>) -> Vec<u8> {
        match LeanEpoch::parts(&lean) {
            Some(([], learned)) => LeanEpoch::joined(&self.octets, learned),
            _ => lean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_left_out_and_comes_back() {
        let [one, other] =
            [b"epoch 1", b"epoch 2"].map(|epoch| LeanEpoch::joined(epoch, b"rings win"));
        HeldEpoch::hold(&one);
        let held = HeldEpoch::newest().unwrap();
        let short = held.shorten(one.clone());
        assert_eq!(short, LeanEpoch::joined(&[], b"rings win"));
        assert_eq!(held.complete(short), one);
        assert_eq!(held.complete(held.shorten(other.clone())), other);
        HeldEpoch::hold(&other);
        assert_ne!(HeldEpoch::newest().unwrap().digest(), held.digest());
    }
}
