//! Whether this process may open as many sockets. It shares the limit with the application and its
//! MPI library, which open files and connections of their own when they like; so a quarter of it
//! stays theirs.
use nix::sys::resource::{Resource, getrlimit};

/// True if so many more descriptors leave the others enough.
///
/// # Errors
/// A message with the missing number and the limit to raise.
pub fn check_descriptors(wanted: u64) -> Result<(), String> {
    let (limit, _) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(|e| format!("limit of open files: {e}"))?;
    // The iterator's own descriptor is among them; a /proc that is not there says that none is
    // open.
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    fits(wanted, open, limit)
}

fn fits(wanted: u64, open: u64, limit: u64) -> Result<(), String> {
    let usable = limit - limit / 4;
    if open.saturating_add(wanted) <= usable {
        return Ok(());
    }
    Err(format!(
        "{wanted} connections beside {open} open files: more than {usable}, three quarters of the \
         limit; raise it: ulimit -n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_limit_stays_the_others() {
        assert_eq!(fits(700, 68, 1024), Ok(()));
        assert!(fits(701, 68, 1024).unwrap_err().contains("more than 768"));
        assert_eq!(fits(1 << 20, 0, u64::MAX), Ok(()));
        assert!(fits(u64::MAX, 1, u64::MAX).is_err());
        assert_eq!(check_descriptors(1), Ok(()));
    }
}
