//! The lock of the one publisher. A user who can open the file can lock it, so only its owner can
//! open it.
use super::{PublishError, io};
use crate::layout::LOCK;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::kill;
use nix::unistd::{Pid, gethostname};
use std::fmt;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The holder of the lock of a shared directory, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockHolder {
    /// The process that wrote its number into the file runs on this machine.
    Here(i32),
    /// The process that wrote its number into the file has ended, so another process holds the
    /// lock.
    Ended(i32),
    /// The process that wrote its number into the file is on another machine.
    Elsewhere {
        /// The machine's name.
        host: String,
        /// The process.
        pid: i32,
    },
    /// The file has no usable content.
    Unknown,
}

impl LockHolder {
    /// The process that holds the lock of this shared directory now; `None` if there is none, or if
    /// only its own user can tell. Nothing is made.
    pub fn in_directory(dir: &Path) -> Option<LockHolder> {
        let file = OpenOptions::new().read(true).open(dir.join(LOCK)).ok()?;
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Err((file, Errno::EWOULDBLOCK)) => {
                let mut text = String::new();
                let _ = file.take(1024).read_to_string(&mut text);
                Some(LockHolder::read(&text))
            }
            _ => None,
        }
    }

    /// The holder according to the file, which holds `host pid`, or a process number alone.
    fn read(text: &str) -> LockHolder {
        let (host, pid) = text
            .trim()
            .rsplit_once(' ')
            .map_or((None, text.trim()), |(host, pid)| (Some(host), pid));
        let Some(pid) = pid.parse().ok().filter(|pid| *pid > 0) else {
            return LockHolder::Unknown;
        };
        match host.filter(|host| *host != this_host()) {
            Some(host) => LockHolder::Elsewhere {
                host: host.to_owned(),
                pid,
            },
            // A process of another user counts as running, too.
            None if kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH) => LockHolder::Here(pid),
            None => LockHolder::Ended(pid),
        }
    }

    pub(super) fn hint(&self) -> &'static str {
        match self {
            LockHolder::Here(_) | LockHolder::Elsewhere { .. } => "stop it",
            LockHolder::Ended(_) | LockHolder::Unknown => {
                "find it with \"fuser -v\" on that file, on every machine that mounts it, and \
                 stop it,"
            }
        }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockHolder::Here(pid) => write!(f, "another heddle process (pid {pid}) publishes here"),
            LockHolder::Elsewhere { host, pid } => write!(
                f,
                "a heddle process on {host:?} (pid {pid} there) publishes here"
            ),
            LockHolder::Ended(pid) => {
                write!(
                    f,
                    "a process holds the lock on .lock; it is not pid {pid}, which took it last: \
                     no such process runs on this machine"
                )
            }
            LockHolder::Unknown => {
                f.write_str("a process holds the lock on .lock; it left no name there")
            }
        }
    }
}

fn this_host() -> String {
    gethostname().map_or_else(
        |_| String::new(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Takes the lock, or returns its holder as an error.
pub(super) fn take(dir: &Path) -> Result<Flock<File>, PublishError> {
    let path = dir.join(LOCK);
    let open = OpenOptions::new()
        .read(true)
        // Over NFS the kernel locks a range of octets instead, for which the file must be open for writing (flock(2)).
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path);
    let file = open.map_err(io("open", &path))?;
    // In older releases anybody could open it. A file of another user stays as it is, because that
    // user is a publisher.
    let _ = file.set_permissions(Permissions::from_mode(0o600));
    let mut file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(locked) => locked,
        Err((file, Errno::EWOULDBLOCK)) => {
            let mut text = String::new();
            let _ = file.take(1024).read_to_string(&mut text);
            return Err(PublishError::Locked {
                dir: dir.to_owned(),
                holder: LockHolder::read(&text),
            });
        }
        Err((_, errno)) => return Err(io("lock", &path)(errno.into())),
    };
    // The name only helps a person who finds the directory locked. A full disk must not keep a
    // publisher out.
    let _ = file
        .set_len(0)
        .and_then(|()| writeln!(file, "{} {}", this_host(), std::process::id()));
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publishing::EpochStore;
    use std::fs;
    use std::process::Command;

    fn refused(dir: &Path) -> String {
        EpochStore::open(dir, 1).unwrap_err().to_string()
    }

    /// The number of a process that has ended.
    fn ended() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn one_publisher_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let first = EpochStore::open(dir.path(), 1).unwrap();
        let problem = refused(dir.path());
        assert!(
            problem.contains(&format!("(pid {})", std::process::id()))
                && problem.contains("stop it or"),
            "{problem}"
        );
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(
            LockHolder::in_directory(dir.path()),
            Some(LockHolder::Here(own))
        );
        drop(first);
        assert_eq!(LockHolder::in_directory(dir.path()), None);
        EpochStore::open(dir.path(), 1).unwrap();
    }

    #[test]
    fn nobody_else_can_open_the_lock_also_where_an_older_release_made_it() {
        for made in [None, Some(0o644), Some(0o666)] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(".lock");
            if let Some(mode) = made {
                fs::write(&path, "4711\n").unwrap();
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            let _store = EpochStore::open(dir.path(), 1).unwrap();
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
                0o600,
                "{made:?}"
            );
        }
    }

    #[test]
    fn only_a_process_that_lives_is_blamed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let dead = ended();
        for (text, wanted) in [
            (format!("{dead}\n"), format!("it is not pid {dead}")),
            (
                format!("{} {dead}\n", this_host()),
                format!("it is not pid {dead}"),
            ),
            (
                format!("{}\n", std::process::id()),
                format!("(pid {})", std::process::id()),
            ),
            (
                "far.away 17\n".to_owned(),
                "on \"far.away\" (pid 17 there)".to_owned(),
            ),
            (String::new(), "it left no name".to_owned()),
            ("\u{1b}[31m -1\n".to_owned(), "it left no name".to_owned()),
        ] {
            fs::write(&path, &text).unwrap();
            let _other = Flock::lock(File::open(&path).unwrap(), FlockArg::LockExclusiveNonblock)
                .map_err(|(_, e)| e)
                .unwrap();
            let problem = refused(dir.path());
            assert!(
                problem.contains(&wanted) && problem.contains("nothing was changed"),
                "{text:?}: {problem}"
            );
        }
    }
}
