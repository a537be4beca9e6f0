//! Checks for programs, libraries and rights on this machine.
use NeedProbe::{Kernel, Library, Program, Python, RawSockets, Rights, Runtime};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The check for a need.
#[derive(Debug)]
pub enum NeedProbe {
    /// Root, or the capabilities to make namespaces and their interfaces.
    Rights,
    /// The front of heddle's library, where it is installed or built.
    Runtime,
    /// Root, or the capability to open raw sockets.
    RawSockets,
    /// A program on the search path, or in a folder of daemons.
    Program(&'static str),
    /// A library in the usual folders; the text is the begin of its file name.
    Library(&'static str),
    /// A module the system's python imports.
    Python(&'static str),
    /// A command that must succeed in a network namespace of its own.
    Kernel(&'static [&'static str]),
}

/// The burst size of TCP pacing on short paths: with the default, packets leave in bursts that
/// overrun shallow switch buffers.
const PACING: &str = "/proc/sys/net/ipv4/tcp_tso_rtt_log";

impl NeedProbe {
    /// Returns whether the need is met.
    pub fn is_there(&self) -> bool {
        match self {
            Rights => may_make_namespaces(),
            Runtime => runtime_folder().is_some(),
            // CAP_NET_RAW of linux/capability.h.
            RawSockets => granted(1 << 13),
            Program(name) => program(name).is_some(),
            Library(name) => library(name),
            // The system's python, not the first one on the search path: packages install modules
            // for that one.
            Python(module) => {
                succeeds(Command::new("/usr/bin/python3").args(["-c", &format!("import {module}")]))
            }
            // Without root, a user namespace shows whether the kernel supports it.
            Kernel(words) => {
                let own = if may_make_namespaces() {
                    "--net"
                } else {
                    "--user"
                };
                let more: &[&str] = if own == "--user" {
                    &["--map-root-user", "--net"]
                } else {
                    &[]
                };
                succeeds(
                    Command::new("unshare")
                        .arg(own)
                        .args(more)
                        .arg("--")
                        .args(*words),
                )
            }
        }
    }
}

/// Returns whether a command succeeds, and discards its output.
fn succeeds(command: &mut Command) -> bool {
    let path = format!(
        "{}:/usr/sbin:/sbin",
        std::env::var("PATH").unwrap_or_default()
    );
    command
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Returns whether CAP_NET_ADMIN and CAP_SYS_ADMIN are granted.
fn may_make_namespaces() -> bool {
    granted(1 << 12 | 1 << 21)
}

/// Returns whether the kernel grants these capabilities to this process (capabilities(7)).
fn granted(wanted: u64) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let granted = status
        .lines()
        .find_map(|l| l.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    granted.is_some_and(|g| g & wanted == wanted)
}

/// The folder of the runtime that belongs to this program: built beside it, or installed.
pub fn runtime_folder() -> Option<PathBuf> {
    let me = std::env::current_exe().ok()?;
    let folder = me.parent()?;
    let lib = ["lib", "../lib/heddle"]
        .map(|place| folder.join(place))
        .into_iter()
        .find(|lib| lib.join("libheddle.so").is_file())?;
    Some(lib.canonicalize().unwrap_or(lib))
}

/// The path of a program, on the search path or in a folder of daemons.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Looks for a library in `/usr/lib*`, in its folders, and in `/usr/lib/llvm-N/lib` for clang.
fn library(name: &str) -> bool {
    ["/usr/lib", "/usr/lib64", "/usr/local/lib"]
        .into_iter()
        .any(|folder| {
            let first = inside(Path::new(folder));
            first.iter().any(|file| is_library(file, name))
                || first.iter().any(|f| {
                    inside(f).iter().any(|file| is_library(file, name))
                        || inside(&f.join("lib"))
                            .iter()
                            .any(|file| is_library(file, name))
                })
        })
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).map_or_else(|_| vec![], |d| d.flatten().map(|e| e.path()).collect())
}

fn is_library(file: &Path, name: &str) -> bool {
    file.file_name().is_some_and(|f| {
        f.to_string_lossy().starts_with(name) && f.to_string_lossy().contains(".so")
    })
}

/// The value of `net.ipv4.tcp_tso_rtt_log`, if it lets TCP send in bursts.
pub fn bursts() -> Option<u32> {
    std::fs::read_to_string(PACING)
        .ok()?
        .trim()
        .parse()
        .ok()
        .filter(|log| *log > 0)
}
