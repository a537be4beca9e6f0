//! The init of a node: process 1 of namespaces of its own. All processes of the node die with it.
//!
//! The head node's init starts the others, so that a lab is one tree of processes and of process
//! namespaces. Killing its root ends everything, and the head node can enter every other node.
#![allow(unsafe_code, reason = "fork")]
use crate::arp_announcer::ArpAnnouncer;
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::exec::{AGENT, AGENT_SCRIPT};
use crate::name::LabName;
use crate::plan::{CONTROL, LabNode, LabNodeKind, RELAY};
use crate::state::{self, InitIdentity, LabState};
use crate::{daemons, netns};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, fork, sethostname, setsid};
use std::convert::Infallible;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Becomes the init of a node. Returns at once, and only in the process that called it. Call this
/// in a process without threads.
///
/// # Errors
/// Everything that keeps the node from starting. Later errors are in `nodes/NAME.ready`.
pub fn init(lab: &str, name: &str) -> LabResult<()> {
    let state = LabState::load(&LabName::new(lab)?)?;
    let node = state.plan.node(name)?;
    begin(&state, node).inspect_err(|error| tell(&state.name, &node.name, &error.to_string()))
}

/// Tells `up` that the node is ready, or why it is not.
pub(crate) fn tell(lab: &LabName, name: &str, word: &str) {
    // If this fails, too, nothing can inform `up`. It then runs into its time limit and says so.
    let _ = state::write(
        &state::directory(lab).join(format!("nodes/{name}.ready")),
        word.as_bytes(),
    );
}

pub(crate) const READY: &str = "ready";

fn begin(state: &LabState, node: &LabNode) -> LabResult<()> {
    let name = &node.name;
    let path = netns::path(&state.name, name);
    let namespace = File::open(&path).during(|| path.display().to_string())?;
    setns(namespace, CloneFlags::CLONE_NEWNET)
        .during(|| format!("{name}: entering its network namespace"))?;
    let own = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWPID;
    // The process namespace holds from the next child on, which becomes its process 1 (pid_namespaces(7)).
    unshare(own).during(|| format!("{name}: making its namespaces"))?;
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { fork() }.during(|| format!("{name}: starting its init"))? {
        ForkResult::Parent { .. } => Ok(()),
        ForkResult::Child => {
            let Err(error) = live(state, node);
            tell(&state.name, name, &error.to_string());
            std::process::exit(1)
        }
    }
}

/// Runs as process 1.
fn live(state: &LabState, node: &LabNode) -> LabResult<Infallible> {
    let lab = &state.name;
    let directory = state::directory(lab);
    let logs = directory.join("logs");
    let name = &node.name;
    let place = |what: &str| format!("{name}: {what}");
    // This leaves the terminal on which `up` was started.
    let _ = setsid();
    InitIdentity::of_self()
        .during(|| place("reading its process number"))?
        .save(lab, &node.name)?;
    if node.name == CONTROL {
        start_others(state, &logs)?;
        if state.plan.has_delays() {
            start_relay(lab, &logs)?;
        }
    }
    own_files(&directory, &state.plan.etc_hosts(node))
        .during(|| place("mounting its own files"))?;
    launcher_agent().during(|| place(AGENT))?;
    sethostname(&node.name).during(|| place("setting its host name"))?;
    let mut announcer = match node.kind {
        LabNodeKind::Host | LabNodeKind::Router => {
            let places = state
                .plan
                .places(name)
                .map(|(_, m)| (m.port.as_str(), m.mac, m.address));
            Some(ArpAnnouncer::new(places).during(|| place("announcing"))?)
        }
        LabNodeKind::Control | LabNodeKind::Switch => None,
    };
    daemons::start(node, &state.plan, &logs)?;
    tell(lab, &node.name, READY);
    loop {
        reap();
        match &mut announcer {
            Some(announcer) => announcer.step(),
            None => std::thread::sleep(Duration::from_secs(1)),
        }
    }
}

/// Starts the inits of all other nodes at once, and waits until each has namespaces of its own,
/// because the mounts that follow here are not for them.
fn start_others(state: &LabState, logs: &Path) -> LabResult<()> {
    let others = state.plan.nodes.iter().filter(|n| n.name != CONTROL);
    let started: LabResult<Vec<Child>> = others
        .map(|n| spawn(Path::new("/proc/self/exe"), &state.name, &n.name, logs))
        .collect();
    for mut child in started? {
        child
            .wait()
            .during(|| format!("{CONTROL}: starting the other nodes"))?;
    }
    Ok(())
}

/// Starts the relay, which carries the cables with a delay, and waits until it is ready: later the
/// relay could not find its namespace.
fn start_relay(lab: &LabName, logs: &Path) -> LabResult<()> {
    let mut relay = run(
        Path::new("/proc/self/exe"),
        &["lab", "relay", "--name", lab.as_str()],
        RELAY,
        logs,
    )?;
    loop {
        if let Some(outcome) = outcome(lab, RELAY) {
            return outcome;
        }
        if let Some(status) = relay.try_wait().during(|| "relay: waiting for it".into())? {
            return Err(LabError::NotReady(format!(
                "relay: {status} before it carried anything"
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts the init of a node as a process of its own.
pub(crate) fn spawn(program: &Path, lab: &LabName, node: &str, logs: &Path) -> LabResult<Child> {
    run(
        program,
        &["lab", "node-init", "--name", lab.as_str(), node],
        node,
        logs,
    )
}

fn run(program: &Path, arguments: &[&str], node: &str, logs: &Path) -> LabResult<Child> {
    let path = logs.join(format!("{node}.log"));
    let log = File::create(&path).during(|| path.display().to_string())?;
    let copy = log.try_clone().during(|| path.display().to_string())?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(copy);
    command
        .current_dir("/")
        .spawn()
        .during(|| format!("{node}: starting {}", program.display()))
}

/// Mounts files that only this node sees: the process and device trees of its namespaces, an empty
/// `/run` with the lab's directory in it, empty shared memory (ranks of two hosts must not meet
/// there), and its own `/etc/hosts`.
fn own_files(directory: &Path, hosts: &str) -> std::io::Result<()> {
    let none = None::<&str>;
    // What is mounted from here on must not appear outside.
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    // It is opened now, because the new /run covers its path.
    let lab = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(directory)?;
    // Copies of other namespaces' names would keep those namespaces alive after their lab is down.
    while umount2("/run/netns", MntFlags::MNT_DETACH).is_ok() {}
    file_system("proc", "/proc", MsFlags::MS_NOEXEC, none)?;
    file_system("sysfs", "/sys", MsFlags::MS_NOEXEC, none)?;
    file_system("tmpfs", "/run", MsFlags::empty(), Some("mode=755"))?;
    file_system("tmpfs", "/dev/shm", MsFlags::empty(), Some("mode=1777"))?;
    fs::create_dir_all(directory)?;
    for own in ["agentx", "lldpd", "lock", "snmp", "tmp"] {
        fs::create_dir_all(Path::new("/run").join(own))?;
    }
    bind(&format!("/proc/self/fd/{}", lab.as_raw_fd()), directory)?;
    if Path::new("/var/lib/snmp").is_dir() {
        let options = Some("mode=755");
        file_system("tmpfs", "/var/lib/snmp", MsFlags::empty(), options)?;
    }
    fs::write("/run/hosts", hosts)?;
    bind("/run/hosts", Path::new("/etc/hosts"))
}

/// Mounts a file system of the kernel's.
fn file_system(kind: &str, at: &str, more: MsFlags, options: Option<&str>) -> std::io::Result<()> {
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    Ok(mount(Some(kind), at, Some(kind), safe | more, options)?)
}

/// Shows a file or folder at another path, too.
fn bind(what: &str, at: &Path) -> std::io::Result<()> {
    let none = None::<&str>;
    Ok(mount(Some(what), at, none, MsFlags::MS_BIND, none)?)
}

/// Writes the launcher agent. Only the head node can use it, but Open MPI's daemons require it on
/// every node.
fn launcher_agent() -> std::io::Result<()> {
    fs::write(AGENT, AGENT_SCRIPT)?;
    fs::set_permissions(AGENT, fs::Permissions::from_mode(0o755))
}

/// Takes the exit status of every process that ended: process 1 inherits all orphans.
fn reap() {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(status) if status.pid().is_some() => {}
            Err(Errno::EINTR) => {}
            _ => return,
        }
    }
}

/// The outcome of a node's start, if there is one already.
pub(crate) fn outcome(lab: &LabName, node: &str) -> Option<LabResult<()>> {
    let text =
        fs::read_to_string(state::directory(lab).join(format!("nodes/{node}.ready"))).ok()?;
    if text == READY {
        Some(Ok(()))
    } else {
        Some(Err(LabError::NotReady(text)))
    }
}
