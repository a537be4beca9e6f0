//! Once the sockets are open, the agent has no more rights than any user. Nothing that it receives
//! later can then use the privileges of its start.
use caps::{CapSet, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::unistd::{Gid, Uid, User, geteuid, setgroups, setresgid, setresuid};
use std::fs;

/// Privileges that could not be dropped, or a user that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("privileges: {problem}; the agent does not run with them")]
pub struct PrivilegesError {
    problem: String,
}

impl PrivilegesError {
    fn new(doing: &str, problem: impl std::fmt::Display) -> PrivilegesError {
        PrivilegesError {
            problem: format!("{doing}: {problem}"),
        }
    }
}

/// Gives up all privileges of the calling thread, for good, and checks that they are gone. If it
/// was started as root, it becomes `user`.
///
/// Capabilities belong to a thread. Call this before there is a second thread, which would keep its
/// capabilities.
///
/// # Errors
/// [`PrivilegesError`] if the user is unknown or root, or if a privilege is left.
pub fn drop_all(user: &str) -> Result<(), PrivilegesError> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        return Err(PrivilegesError::new(
            "dropping them",
            format!("{threads} threads run already, each with its own"),
        ));
    }
    // CAP_SETPCAP goes when root becomes another user (capabilities(7)).
    empty_the_bounding_set();
    if geteuid().is_root() {
        become_user(user)?;
    }
    // Effective capabilities must be permitted, so they go first (capset(2)).
    for set in [
        CapSet::Ambient,
        CapSet::Effective,
        CapSet::Permitted,
        CapSet::Inheritable,
    ] {
        caps::clear(None, set).map_err(|e| PrivilegesError::new("dropping capabilities", e))?;
    }
    prctl::set_no_new_privs().map_err(|e| PrivilegesError::new("no_new_privs", e))?;
    check()
}

/// This needs CAP_SETPCAP. Without it the bounding set stays, but it does no harm: no_new_privs
/// keeps everything from coming back by execve(2).
fn empty_the_bounding_set() {
    for capability in caps::all() {
        let _ = caps::drop(None, CapSet::Bounding, capability);
    }
}

fn become_user(name: &str) -> Result<(), PrivilegesError> {
    let user = User::from_name(name)
        .map_err(|e| PrivilegesError::new("looking the user up", e))?
        .ok_or_else(|| {
            PrivilegesError::new("--user", format!("there is no user \"{name}\" here"))
        })?;
    if user.uid.is_root() {
        return Err(PrivilegesError::new(
            "--user",
            format!("\"{name}\" is root itself"),
        ));
    }
    change_to(user.uid, user.gid)
        .map_err(|e| PrivilegesError::new("becoming the user", format!("\"{name}\": {e}")))
}

/// The group comes first, because an ordinary user may not change it.
fn change_to(user: Uid, group: Gid) -> Result<(), Errno> {
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}

/// Reads the privileges back from the kernel.
fn check() -> Result<(), PrivilegesError> {
    for set in [
        CapSet::Ambient,
        CapSet::Effective,
        CapSet::Permitted,
        CapSet::Inheritable,
    ] {
        let left: CapsHashSet =
            caps::read(None, set).map_err(|e| PrivilegesError::new("reading them back", e))?;
        if !left.is_empty() {
            return Err(PrivilegesError::new(
                "dropping capabilities",
                format!("{set:?} still holds {left:?}"),
            ));
        }
    }
    // A saved user id could bring root back (setresuid(2)).
    if geteuid().is_root()
        || setresuid(Uid::from_raw(0), Uid::from_raw(0), Uid::from_raw(0)).is_ok()
    {
        return Err(PrivilegesError::new(
            "becoming another user",
            "root can be had back",
        ));
    }
    Ok(())
}
