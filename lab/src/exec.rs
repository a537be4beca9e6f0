//! Running programs inside a node.
//!
//! `exec` enters the namespaces of a node's init and starts the program there as its own child, so
//! the terminal, the process group and the standard streams stay. The launcher agent is an `exec`
//! that stands in for `ssh` under an MPI launcher: the program and all processes below it die with
//! the agent.
#![allow(unsafe_code, reason = "fork, and the steps between fork and exec")]
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::name::LabName;
use crate::plan::CONTROL;
use crate::state::{InitIdentity, LabState};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getppid};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs a program in a node, waits for it and gives its exit status: 128 plus the signal's number
/// if a signal ended it. The caller is inside the node afterwards, so call this in a process
/// without threads that ends soon.
///
/// # Errors
/// [`LabError`] if the node does not run or the program cannot be started.
pub fn exec(lab: &str, node: &str, program: &[OsString]) -> LabResult<i32> {
    exec_for(&LabName::new(lab)?, node, program, None)
}

/// The exit status of a job that ran into its time limit, like that of timeout(1).
pub const TIMED_OUT: i32 = 124;

/// Like [`exec`], but kills the program after `limit` and then gives [`TIMED_OUT`].
pub(crate) fn exec_for(
    lab: &LabName,
    node: &str,
    program: &[OsString],
    limit: Option<Duration>,
) -> LabResult<i32> {
    let state = enter(lab, node)?;
    supervise(command(&state, node, program)?, limit)
}

/// The path of the launcher agent in the nodes. MPICH takes only a program without arguments.
pub(crate) const AGENT: &str = "/run/heddle-agent";

/// The content of the launcher agent.
pub(crate) const AGENT_SCRIPT: &str = "#!/bin/sh\nexec /proc/1/exe lab agent \"$@\"\n";

/// `exec` with the arguments that the launchers of Open MPI and MPICH give: `AGENT [-x] NODE
/// WORD...`, where the words are a shell command line. Every process that the command leaves behind
/// dies with it, and all of them die with the caller's parent.
///
/// # Errors
/// As for [`exec`].
pub fn launcher_agent(lab: &str, arguments: &[OsString]) -> LabResult<i32> {
    let lab = LabName::new(lab)?;
    die_with_parent()?;
    let arguments = match arguments {
        [first, rest @ ..] if first == "-x" => rest,
        all => all,
    };
    let [node, words @ ..] = arguments else {
        return Err(LabError::Refused(
            "launcher agent: expected a node and a command".into(),
        ));
    };
    let node = node.to_string_lossy();
    let state = enter(&lab, &node)?;
    let line = words.join(OsString::from(" ").as_os_str());
    let session: Vec<OsString> = ["/proc/1/exe", "lab", "session", "--", "/bin/sh", "-c"]
        .iter()
        .map(OsString::from)
        .collect();
    supervise(
        command(&state, &node, &[session, vec![line]].concat())?,
        None,
    )
}

/// Runs a program in a process namespace of its own inside the present one, gives its exit status,
/// and ends all processes that it left behind.
///
/// # Errors
/// [`LabError`] if the namespace cannot be made or the program cannot be started.
pub fn session(program: &[OsString]) -> LabResult<i32> {
    unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)
        .during(|| "session: making its namespaces".into())?;
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { fork() }.during(|| "session: starting".into())? {
        ForkResult::Parent { child } => Ok(wait_for(child)),
        ForkResult::Child => {
            let run = || -> LabResult<i32> {
                set_pdeathsig(Signal::SIGKILL).during(|| "session".into())?;
                // The new /proc has the processes of this namespace. It must not appear in the node's mounts.
                let (none, proc) = (None::<&str>, Some("proc"));
                mount(none, "/proc", none, MsFlags::MS_PRIVATE, none)
                    .and_then(|()| mount(proc, "/proc", proc, MsFlags::empty(), none))
                    .during(|| "session: /proc".into())?;
                let [name, rest @ ..] = program else {
                    return Err(LabError::Refused("session: expected a command".into()));
                };
                let child = Command::new(name)
                    .args(rest)
                    .spawn()
                    .during(|| format!("{}: starting it", name.to_string_lossy()))?;
                Ok(wait_for(Pid::from_raw(child.id() as i32)))
            };
            let status = run().unwrap_or_else(|error| {
                let _ = writeln!(io::stderr(), "heddle: {error}");
                127
            });
            // The end of process 1 is the end of all others.
            std::process::exit(status)
        }
    }
}

/// Takes the calling process into the namespaces of a node. Processes that it starts from now on
/// are below the node's init.
fn enter(lab: &LabName, node: &str) -> LabResult<LabState> {
    let state = LabState::load(lab)?;
    state.plan.node(node)?;
    let pid = InitIdentity::pid(lab, node).ok_or_else(|| {
        let hint = if node == CONTROL {
            ""
        } else {
            ", or seen from a node other than ctl"
        };
        LabError::Refused(format!(
            "lab \"{lab}\": node \"{node}\" is not running{hint}; look \
                                   with: heddle lab status --name {lab}"
        ))
    })?;
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    // All are opened before the first is entered: the mount namespace has another /proc.
    let mut namespaces = Vec::new();
    for (kind, flag) in [
        ("net", CloneFlags::CLONE_NEWNET),
        ("uts", CloneFlags::CLONE_NEWUTS),
        ("ipc", CloneFlags::CLONE_NEWIPC),
        ("pid", CloneFlags::CLONE_NEWPID),
        ("mnt", CloneFlags::CLONE_NEWNS),
    ] {
        let path = format!("/proc/{pid}/ns/{kind}");
        let namespace = File::open(&path).during(|| format!("node \"{node}\": {path}"))?;
        namespaces.push((namespace, flag));
    }
    for (namespace, flag) in namespaces {
        setns(namespace, flag).during(|| {
            format!(
                "node \"{node}\": entering its namespaces; root is needed: sudo heddle lab exec ..."
            )
        })?;
    }
    // If the node does not have this directory, the root takes its place.
    std::env::set_current_dir(&directory)
        .or_else(|_| std::env::set_current_dir("/"))
        .during(|| directory.display().to_string())?;
    Ok(state)
}

/// The program's command. The folder of the lab's own program comes last in the search path, so
/// that `heddle` is found without being installed.
fn command(state: &LabState, node: &str, program: &[OsString]) -> LabResult<Command> {
    let [name, arguments @ ..] = program else {
        return Err(LabError::Refused(
            "lab exec: expected a program after \"--\"".into(),
        ));
    };
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let own = state.program.parent().map(PathBuf::from);
    let path = std::env::join_paths(std::env::split_paths(&usual).chain(own)).unwrap_or(usual);
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env("PATH", path)
        .env("HEDDLE_LAB", state.name.as_str())
        .env("HOSTNAME", node)
        .env("TMPDIR", "/run/tmp");
    Ok(command)
}

/// Signals that are passed on to the program.
const PASSED_ON: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// The time that a program has to end by itself once its terminal is closed.
const AFTER_HANGUP: Duration = Duration::from_secs(3);

/// When a program is killed, and why.
struct ProgramEnd {
    at: Instant,
    reason: String,
    status: i32,
}

impl ProgramEnd {
    fn after(limit: Duration) -> ProgramEnd {
        ProgramEnd {
            at: Instant::now() + limit,
            reason: format!("not done after {:.1} s", limit.as_secs_f64()),
            status: TIMED_OUT,
        }
    }

    fn of_closed_terminal() -> ProgramEnd {
        ProgramEnd {
            at: Instant::now() + AFTER_HANGUP,
            reason: "its terminal is closed".to_owned(),
            status: 128 + Signal::SIGHUP as i32,
        }
    }
}

/// True if this process was started so that no closed terminal ends it, as by nohup(1).
fn ignores_hangup() -> bool {
    // SAFETY: a place for the result; nothing is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Starts the program, passes on signals, and gives its exit status.
fn supervise(mut command: Command, limit: Option<Duration>) -> LabResult<i32> {
    let mut end = limit.map(ProgramEnd::after);
    let ends_with_terminal = !ignores_hangup();
    let mut watched = SigSet::empty();
    watched.add(Signal::SIGCHLD);
    PASSED_ON.iter().for_each(|s| watched.add(*s));
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&watched), Some(&mut before))
        .during(|| "signals".into())?;
    let signals = SignalFd::new(&watched).during(|| "signals".into())?;
    // SAFETY: between fork and exec only system calls that are safe there: prctl, sigprocmask.
    unsafe {
        command.pre_exec(move || {
            sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
            Ok(set_pdeathsig(Signal::SIGKILL)?)
        })
    };
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.spawn().during(|| format!("{name}: starting it"))?;
    let child = Pid::from_raw(child.id() as i32);
    loop {
        let wait = end.as_ref().map_or(Ok(PollTimeout::NONE), |end| {
            PollTimeout::try_from(end.at.saturating_duration_since(Instant::now()))
        });
        let ready = poll(
            &mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)],
            wait.unwrap_or(PollTimeout::MAX),
        );
        if let Some(end) = end.as_ref().filter(|end| Instant::now() >= end.at) {
            // Processes on other nodes end, too: their agents die with their parent.
            let _ = kill(child, Signal::SIGKILL);
            let _ = waitpid(child, None);
            let _ = writeln!(io::stderr(), "{name}: {}: killed", end.reason);
            return Ok(end.status);
        }
        let Ok(1) = ready else { continue };
        let Ok(Some(signal)) = signals.read_signal() else {
            continue;
        };
        match Signal::try_from(signal.ssi_signo as i32) {
            Ok(Signal::SIGCHLD) => match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::EINTR) => {}
                Ok(status) => return Ok(exit_status(status)),
                Err(errno) => return Err(errno).during(|| name),
            },
            // A closed terminal's signal reaches the leader of its session alone, and a launcher may not
            // end by it.
            Ok(Signal::SIGHUP) if ends_with_terminal && signal.ssi_code == libc::SI_KERNEL => {
                let _ = kill(child, Signal::SIGHUP);
                end = Some(ProgramEnd::of_closed_terminal());
            }
            // A terminal's signal reaches the whole process group. A signal from another process
            // reaches this process alone, and is meant for the program.
            Ok(received) if signal.ssi_code == libc::SI_USER => {
                let _ = kill(child, received);
            }
            _ => {}
        }
    }
}

fn wait_for(child: Pid) -> i32 {
    loop {
        match waitpid(None, None) {
            Ok(status) if status.pid() == Some(child) => match status {
                WaitStatus::Exited(..) | WaitStatus::Signaled(..) => return exit_status(status),
                _ => {}
            },
            Err(nix::errno::Errno::ECHILD) => return 127,
            _ => {}
        }
    }
}

fn exit_status(status: WaitStatus) -> i32 {
    match status {
        WaitStatus::Exited(_, code) => code,
        WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
        _ => 127,
    }
}

/// Lets the kernel kill a command's process when the thread that starts it ends.
pub(crate) fn end_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only a system call that is safe there: prctl.
    unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
}

fn die_with_parent() -> LabResult<()> {
    let parent = getppid();
    set_pdeathsig(Signal::SIGKILL).during(|| "launcher agent".into())?;
    // The parent may have died before the call.
    if getppid() == parent {
        Ok(())
    } else {
        Err(LabError::Refused(
            "launcher agent: its parent is gone".into(),
        ))
    }
}
