//! The names of the files' owners.
use nix::unistd::{Uid, User};
use std::collections::HashMap;

/// The most names that are remembered.
const MAX_OWNERS: usize = 1024;

/// The names of the machine's users, by number.
#[derive(Debug, Default)]
pub(super) struct OwnerNames(HashMap<u32, String>);

impl OwnerNames {
    /// A user's name, or `uid 1234` if the machine has none.
    pub(super) fn name(&mut self, uid: u32) -> String {
        if let Some(name) = self.0.get(&uid) {
            return name.clone();
        }
        match User::from_uid(Uid::from_raw(uid)) {
            Ok(Some(user)) => {
                if self.0.len() >= MAX_OWNERS {
                    self.0.clear();
                }
                self.0.insert(uid, user.name.clone());
                user.name
            }
            _ => format!("uid {uid}"),
        }
    }
}
