//! Named network namespaces, the way `ip netns` keeps them: a bind mount below `/run/netns`.
use crate::error::{KernelErrorContext, LabResult};
use crate::name::LabName;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const DIRECTORY: &str = "/run/netns";

/// Where the namespace of a node is mounted.
pub(crate) fn path(lab: &LabName, node: &str) -> PathBuf {
    Path::new(DIRECTORY).join(format!("{}{node}", prefix(lab)))
}

/// What the namespaces of a lab, and of no other, start with: names of labs have no dots.
fn prefix(lab: &LabName) -> String {
    format!("hd.{lab}.")
}

/// The identity of a namespace file: its inode number on the kernel's namespace file system.
pub(crate) fn inode(file: &Path) -> io::Result<u64> {
    fs::metadata(file).map(|m| m.ino())
}

/// Makes a namespace and its name. It has no IPv6, takes unasked ARP into account, bridges in it
/// pass no firewall, and cables keep frames in order.
pub(crate) fn create(path: &Path) -> LabResult<()> {
    shared_directory().during(|| format!("{DIRECTORY}: making it a shared mount"))?;
    let make = || -> io::Result<()> {
        fs::File::create_new(path)?;
        unshare(CloneFlags::CLONE_NEWNET)?;
        mount(
            Some("/proc/thread-self/ns/net"),
            path,
            None::<&str>,
            MsFlags::MS_BIND,
            None::<&str>,
        )?;
        settings()
    };
    // A namespace belongs to a thread; one of its own keeps the caller's where it is.
    std::thread::scope(|s| s.spawn(make).join())
        .unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
        .during(|| format!("network namespace {}: making it", path.display()))
}

/// Makes a namespace forward IP as a router does: it answers each packet whose time to live ends
/// there, under the address the packet came in by, and believes that routes are as they are meant.
pub(crate) fn forward(path: &Path) -> LabResult<()> {
    let settings = [
        ("ipv4/ip_forward", "1"),
        ("ipv4/icmp_ratelimit", "0"),
        ("ipv4/icmp_errors_use_inbound_ifaddr", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        ("ipv4/conf/all/send_redirects", "0"),
        ("ipv4/conf/default/send_redirects", "0"),
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

/// Takes a name away; the namespace ends with its last process.
pub(crate) fn remove(path: &Path) -> LabResult<()> {
    // Not mounted: a name whose `up` was killed before the mount.
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
    let enter = || -> io::Result<T> {
        setns(fs::File::open(path)?, CloneFlags::CLONE_NEWNET)?;
        work()
    };
    std::thread::scope(|s| s.spawn(enter).join())
        .unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
        .during(|| format!("network namespace {}: entering it", path.display()))
}

/// Mounts below a shared directory are also taken away where other mount namespaces have a copy of
/// them.
fn shared_directory() -> io::Result<()> {
    fs::create_dir_all(DIRECTORY)?;
    let share = || {
        mount(
            None::<&str>,
            DIRECTORY,
            None::<&str>,
            MsFlags::MS_SHARED | MsFlags::MS_REC,
            None::<&str>,
        )
    };
    if share().is_err() {
        mount(
            Some(DIRECTORY),
            DIRECTORY,
            None::<&str>,
            MsFlags::MS_BIND | MsFlags::MS_REC,
            None::<&str>,
        )?;
        share()?;
    }
    Ok(())
}

fn settings() -> io::Result<()> {
    set(&[
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv4/conf/all/arp_accept", "1"),
        ("ipv4/conf/default/arp_accept", "1"),
        ("ipv4/tcp_no_metrics_save", "1"),
        ("bridge/bridge-nf-call-iptables", "0"),
        ("bridge/bridge-nf-call-ip6tables", "0"),
        ("bridge/bridge-nf-call-arptables", "0"),
    ])?;
    keep_order()
}

/// Lets one processor take in what is of one flow. A veth pair otherwise hands each frame to the
/// processor that happens to send it, and where processors are busy, frames overtake each other
/// from one's queue to the other's: no cable does that.
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
            // A kernel without IPv6 or without the bridge's firewall hooks needs no switching off.
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(io::Error::new(e.kind(), format!("net/{key}: {e}")));
            }
            _ => {}
        }
    }
    Ok(())
}
