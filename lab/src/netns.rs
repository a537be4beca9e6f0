//! Named network namespaces in the form of `ip netns`: bind mounts below `/run/netns`.
use crate::error::{KernelErrorContext, LabResult};
use crate::name::LabName;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

const DIRECTORY: &str = "/run/netns";

const NONE: Option<&str> = None;

/// The mount point of a node's namespace.
pub(crate) fn path(lab: &LabName, node: &str) -> PathBuf {
    Path::new(DIRECTORY).join(format!("{}{node}", prefix(lab)))
}

/// The prefix of the names of a lab's namespaces. No other lab has it, because names of labs have
/// no dots.
fn prefix(lab: &LabName) -> String {
    format!("hd.{lab}.")
}

/// The identity of a namespace file: its inode number on the kernel's namespace file system.
pub(crate) fn inode(file: &Path) -> io::Result<u64> {
    fs::metadata(file).map(|m| m.ino())
}

/// Makes a namespace and its name. The namespace has no IPv6 and accepts gratuitous ARP, its
/// bridges bypass the firewall, and its cables keep frames in order.
pub(crate) fn create(path: &Path) -> LabResult<()> {
    shared_directory().during(|| format!("{DIRECTORY}: making it a shared mount"))?;
    // A namespace belongs to a thread. A thread of its own leaves the caller's namespace alone.
    std::thread::scope(|s| {
        s.spawn(|| {
            fs::File::create_new(path)?;
            unshare(CloneFlags::CLONE_NEWNET)?;
            let own = Some("/proc/thread-self/ns/net");
            mount(own, path, NONE, MsFlags::MS_BIND, NONE)?;
            settings()
        })
        .join()
    })
    .unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
    .during(|| format!("network namespace {}: making it", path.display()))
}

/// Makes a namespace forward IP like a router. It answers each packet whose time to live ends
/// there, with the address of the interface that the packet came in by. It does not filter packets
/// by their source, and sends no redirects.
pub(crate) fn forward(path: &Path) -> LabResult<()> {
    let settings = [
        ("ipv4/ip_forward", "1"),
        ("ipv4/icmp_ratelimit", "0"),
        ("ipv4/icmp_errors_use_inbound_ifaddr", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        ("ipv4/conf/all/send_redirects", "0"),
        ("ipv4/conf/default/send_redirects", "0"),
        // Of several ways a flow takes one, by addresses, protocol and ports. The policy of that name (1)
        // would take the number that the sender's kernel drew for its socket, as no cable carries it away.
        ("ipv4/fib_multipath_hash_policy", "3"),
        // 0x37: source and destination address, protocol, both ports (ip-sysctl of the kernel).
        ("ipv4/fib_multipath_hash_fields", "55"),
    ];
    within(path, || set(&settings))
}

/// The namespaces of a lab that have a name.
pub(crate) fn of_lab(lab: &LabName) -> Vec<PathBuf> {
    let prefix = prefix(lab);
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    entries
        .filter(|e| e.file_name().to_string_lossy().starts_with(&prefix))
        .map(|e| e.path())
        .collect()
}

/// Removes a name. The namespace ends with its last process.
pub(crate) fn remove(path: &Path) -> LabResult<()> {
    // This fails if `up` was killed before the mount.
    let _ = umount2(path, MntFlags::MNT_DETACH);
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(e).during(|| format!("network namespace {}: removing it", path.display()))
        }
        _ => Ok(()),
    }
}

/// Runs `work` on a thread inside the namespace.
pub(crate) fn within<T: Send>(
    path: &Path,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> LabResult<T> {
    std::thread::scope(|s| {
        s.spawn(|| -> io::Result<T> {
            setns(fs::File::open(path)?, CloneFlags::CLONE_NEWNET)?;
            work()
        })
        .join()
    })
    .unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
    .during(|| format!("network namespace {}: entering it", path.display()))
}

/// Makes the directory a shared mount, so that removing a mount below it also removes the copies in
/// other mount namespaces.
fn shared_directory() -> io::Result<()> {
    fs::create_dir_all(DIRECTORY)?;
    if share_directory().is_err() {
        let whole = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount(Some(DIRECTORY), DIRECTORY, NONE, whole, NONE)?;
        share_directory()?;
    }
    Ok(())
}

fn share_directory() -> nix::Result<()> {
    let shared = MsFlags::MS_SHARED | MsFlags::MS_REC;
    mount(NONE, DIRECTORY, NONE, shared, NONE)
}

fn settings() -> io::Result<()> {
    set(&[
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv4/conf/all/arp_accept", "1"),
        ("ipv4/conf/default/arp_accept", "1"),
        // TCP keeps measures of a closed connection for the next one to that host, so that a job would begin where the
        // one before it ended.
        ("ipv4/tcp_no_metrics_save", "1"),
        ("bridge/bridge-nf-call-iptables", "0"),
        ("bridge/bridge-nf-call-ip6tables", "0"),
        ("bridge/bridge-nf-call-arptables", "0"),
    ])?;
    keep_order()
}

/// Lets one processor receive all frames of a flow. Otherwise a veth pair hands each frame to the
/// processor that sends it, and on busy processors frames of one queue overtake those of another,
/// which no real cable does.
fn keep_order() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let processors = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed:"))
        .unwrap_or_default();
    set(&[("core/rps_default_mask", processors.trim())])
}

fn set(settings: &[(&str, &str)]) -> io::Result<()> {
    for (key, value) in settings {
        match fs::write(Path::new("/proc/sys/net").join(key), value) {
            // A kernel without IPv6 or without the bridge's firewall hooks lacks these files.
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(io::Error::new(e.kind(), format!("net/{key}: {e}")));
            }
            _ => {}
        }
    }
    Ok(())
}
