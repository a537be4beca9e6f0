//! Whose files these are.
use nix::unistd::{Uid, User};
use std::collections::HashMap;

/// Names of users that are remembered.
const MAX_OWNERS: usize = 1024;

/// The names of users by their numbers, as the machine knows them.
#[derive(Debug, Default)]
pub(super) struct OwnerNames(HashMap<u32, String>);

impl OwnerNames {
    /// A user's name, `uid 1234` where the machine knows none.
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
