//! `heddle-helper DIR BUILD`: reads and writes the shared directory for a rank, which starts it with a
//! socket as standard input.
//!
//! A process that waits for a stalled file system cannot be ended, and what it holds stays held. So
//! this one holds nothing of the rank's: no descriptor, no session, no working directory. It is
//! nobody's child, so that neither the rank nor its launcher waits for it (measured with a frozen
//! ext4 and a stopped FUSE server under both launchers).
#![allow(unsafe_code, reason = "close_range has no safe wrapper")]

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::SigSet;
use nix::unistd::Pid;
use runtime::helper::service;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(dir) = arguments.next().map(PathBuf::from) else {
        eprintln!("heddle-helper: the MPI runtime starts this program; it has no use of its own");
        return ExitCode::from(2);
    };
    let build = arguments.next().unwrap_or_else(|| "another version".into());
    close_what_was_inherited();
    leave_the_ranks_processor();
    // The rank starts it with all of them blocked.
    let _ = SigSet::empty().thread_set_mask();
    // It cannot fail in a process that was just made.
    let _ = nix::unistd::setsid();
    let _ = std::env::set_current_dir("/");
    // SAFETY: the rank gave it as standard input, and nothing else here uses that.
    let rank = UnixStream::from(unsafe { OwnedFd::from_raw_fd(0) });
    if service::serve(&dir, &build.to_string_lossy(), rank).is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Launchers bind a rank to a processor, on which it may poll without end. The kernel keeps to those that the job has
/// (cpuset(7)).
fn leave_the_ranks_processor() {
    let mut all = CpuSet::new();
    (0..CpuSet::count()).for_each(|processor| _ = all.set(processor));
    let _ = sched_setaffinity(Pid::from_raw(0), &all);
}

/// Launchers wait for whoever holds a pipe or socket that they gave to the rank.
fn close_what_was_inherited() {
    // By its number: older C libraries do not name this call.
    // SAFETY: nothing in this process uses a descriptor above standard error.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) } == 0 {
        return;
    }
    // Linux before 5.9.
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .map(|listed| {
            listed
                .flatten()
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
                .collect()
        })
        .unwrap_or_default();
    for descriptor in open.into_iter().filter(|&descriptor| descriptor > 2) {
        // SAFETY: as above; the listing's own descriptor is closed already.
        unsafe { libc::close(descriptor) };
    }
}
