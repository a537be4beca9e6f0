//! Starts a program that is nobody's child, so that the application hears nothing of it: no
//! SIGCHLD, no stranger from `wait`.
//!
//! A process in between starts it and ends. That one is made without a signal for its end, so only
//! who asks for such processes (`__WCLONE`) can wait for it; by `exec` it would become an ordinary
//! child, so it runs no program itself. Both share this process's memory until the program runs: a
//! copy would take long where a rank holds many gigabytes.
#![allow(
    unsafe_code,
    reason = "processes that share memory, as posix_spawn makes them"
)]

use libc::{CLONE_VFORK, CLONE_VM, c_int, c_void};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::stat::Mode;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::{io, ptr};

/// Of each process in between: enough for a few system calls and for the dynamic linker at the
/// first of each.
const STACK: usize = 64 << 10;

/// A program, ready to start.
#[derive(Debug)]
pub(super) struct OrphanProcess {
    program: CString,
    arguments: [CString; 2],
    stdin: OwnedFd,
    null: OwnedFd,
    /// The stacks of the process in between and of the program's until it runs.
    stacks: [Vec<u8>; 2],
    /// The error there.
    failed: Option<Errno>,
}

impl OrphanProcess {
    /// `program` with these arguments, this standard input and no environment; it says nothing.
    pub(super) fn new(
        program: &OsStr,
        arguments: [&OsStr; 2],
        stdin: impl AsFd,
    ) -> io::Result<OrphanProcess> {
        let null = open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(OrphanProcess {
            program: CString::new(program.as_bytes())?,
            arguments: [
                CString::new(arguments[0].as_bytes())?,
                CString::new(arguments[1].as_bytes())?,
            ],
            stdin: above_standard_streams(stdin)?,
            null: above_standard_streams(null)?,
            stacks: [vec![0; STACK], vec![0; STACK]],
            failed: None,
        })
    }

    /// Returns once the program runs. All signals must be blocked in this thread, for a handler of
    /// the application's would run in its memory; the program begins with them blocked.
    pub(super) fn start(&mut self) -> io::Result<()> {
        let between = share_memory(between, 0, self)?;
        // SAFETY: it takes no result. If the application waits for all processes there are, it may
        // have waited for this one.
        while unsafe { libc::waitpid(between, ptr::null_mut(), libc::__WCLONE) } == -1
            && Errno::last() == Errno::EINTR
        {}
        self.failed.map_or(Ok(()), |e| Err(e.into()))
    }
}

/// Runs `body` in a new process, which shares the memory of this one; this thread goes on when that
/// has ended or runs a program.
fn share_memory(
    body: extern "C" fn(*mut c_void) -> c_int,
    stack: usize,
    orphan: &mut OrphanProcess,
) -> Result<c_int, Errno> {
    // SAFETY: the end of its own vector; `clone` aligns it.
    let top = unsafe { orphan.stacks[stack].as_mut_ptr().add(STACK) };
    // SAFETY: this thread stands still while the other uses the stack and the orphan.
    Errno::result(unsafe {
        libc::clone(
            body,
            top.cast(),
            CLONE_VM | CLONE_VFORK,
            ptr::from_mut(orphan).cast(),
        )
    })
}

extern "C" fn between(orphan: *mut c_void) -> c_int {
    // SAFETY: `share_memory` gave it, and whoever called that stands still.
    let orphan = unsafe { &mut *orphan.cast::<OrphanProcess>() };
    if let Err(e) = share_memory(become_program, 1, orphan) {
        orphan.failed = Some(e);
    }
    0
}

extern "C" fn become_program(orphan: *mut c_void) -> c_int {
    // SAFETY: as above.
    let orphan = unsafe { &mut *orphan.cast::<OrphanProcess>() };
    let arguments = [
        orphan.program.as_ptr(),
        orphan.arguments[0].as_ptr(),
        orphan.arguments[1].as_ptr(),
        ptr::null(),
    ];
    let streams = [&orphan.stdin, &orphan.null, &orphan.null].map(AsRawFd::as_raw_fd);
    // SAFETY: descriptors of this process's own table, and strings that end with a zero.
    unsafe {
        if (0..)
            .zip(streams)
            .all(|(number, stream)| libc::dup2(stream, number) == number)
        {
            libc::execve(arguments[0], arguments.as_ptr(), [ptr::null()].as_ptr());
        }
    }
    orphan.failed = Some(Errno::last());
    1
}

/// The same file where a program that has closed its standard streams does not find it, and where
/// giving it a number below changes that it closes.
pub(crate) fn above_standard_streams(descriptor: impl AsFd) -> io::Result<OwnedFd> {
    let number = fcntl(descriptor, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: fcntl has just made it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    #[test]
    fn it_holds_its_input_until_it_ends() {
        let (mut ours, its) = UnixStream::pair().unwrap();
        let mut orphan = OrphanProcess::new("/bin/cat".as_ref(), ["-".as_ref(); 2], its).unwrap();
        orphan.start().unwrap();
        ours.set_nonblocking(true).unwrap();
        drop(orphan);
        assert_eq!(
            ours.read(&mut [0]).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        ours.set_nonblocking(false).unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        let mut orphan = OrphanProcess::new(
            "/nowhere/heddle".as_ref(),
            ["".as_ref(); 2],
            UnixStream::pair().unwrap().1,
        )
        .unwrap();
        assert_eq!(orphan.start().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
