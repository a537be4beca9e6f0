//! The files of a lab that is up, in `/run/heddle-lab/NAME/`.
//!
//! | path | content |
//! |---|---|
//! | `state.json` | the present plan |
//! | `inventory.yaml` | for `heddle controller --inventory` |
//! | `topology.yaml` | the lab's topology file with the hosts' addresses, for `heddle publish` |
//! | `shared/` | the shared directory: `HEDDLE_DIR` of jobs in the lab |
//! | `nodes/NAME.json` | the identity of a node's init |
//! | `nodes/NAME.ready` | `ready`, or the reason why the node did not come up |
//! | `logs/` | the logs of inits and daemons |
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::name::LabName;
use crate::netns;
use crate::plan::LabPlan;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const BASE: &str = "/run/heddle-lab";

/// The directory of a lab.
pub(crate) fn directory(lab: &LabName) -> PathBuf {
    Path::new(BASE).join(lab.as_str())
}

/// Removes the directory of all labs if the last one is gone.
pub(crate) fn remove_empty_base() {
    // This fails while another lab has files there, and the directory stays.
    let _ = fs::remove_dir(BASE);
}

/// The recorded state of a lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LabState {
    pub(crate) name: LabName,
    /// The heddle binary it was built by.
    pub(crate) program: PathBuf,
    pub(crate) plan: LabPlan,
    /// True once `up` has finished.
    pub(crate) complete: bool,
}

impl LabState {
    /// Reads the state of a lab.
    pub(crate) fn load(lab: &LabName) -> LabResult<LabState> {
        let path = directory(lab).join("state.json");
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(LabError::Refused(format!(
                    "lab \"{lab}\": not up; bring it up with: heddle lab up FILE --name {lab}"
                )));
            }
            Err(e) => return Err(e).during(|| path.display().to_string()),
        };
        serde_json::from_slice(&text).map_err(|e| {
            LabError::Refused(format!(
                "{}: {e}; take the lab down with: heddle lab down --name {lab}",
                path.display()
            ))
        })
    }

    /// Writes the state in place of the old one.
    pub(crate) fn save(&self) -> LabResult<()> {
        let text = serde_json::to_vec_pretty(self)
            .unwrap_or_else(|e| unreachable!("plain structs always serialize: {e}"));
        write(&directory(&self.name).join("state.json"), &text)
    }
}

/// Holds a lab for one change at a time.
pub(crate) struct LabLock(#[allow(dead_code, reason = "held, not read")] Flock<File>);

impl LabLock {
    /// Takes the lock of a lab whose directory exists.
    pub(crate) fn take(lab: &LabName) -> LabResult<LabLock> {
        let path = directory(lab);
        let file = File::open(&path).during(|| path.display().to_string())?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| busy(lab))?;
        // The directory may have been removed between the two steps. Then the lock protects
        // nothing.
        let same = fs::metadata(&path).and_then(|now| Ok(now.ino() == lock.metadata()?.ino()));
        if same.unwrap_or(false) {
            Ok(LabLock(lock))
        } else {
            Err(busy(lab))
        }
    }
}

fn busy(lab: &LabName) -> LabError {
    LabError::Refused(format!(
        "lab \"{lab}\": another command is changing it right now; try again when it is done"
    ))
}

/// The identity of a node's init. It has a process number on each level of process namespaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InitIdentity {
    /// Its process numbers, the outermost namespace's first.
    pub(crate) pids: Vec<i32>,
    /// Inode number of its network namespace.
    pub(crate) netns: u64,
}

impl InitIdentity {
    /// The identity of the calling process. Call this while `/proc` is still the one outside.
    pub(crate) fn of_self() -> io::Result<InitIdentity> {
        let status = fs::read_to_string("/proc/self/status")?;
        let line = status
            .lines()
            .find_map(|l| l.strip_prefix("NSpid:"))
            .unwrap_or_default();
        let pids = line
            .split_whitespace()
            .filter_map(|p| p.parse().ok())
            .collect();
        Ok(InitIdentity {
            pids,
            netns: netns::inode(Path::new("/proc/self/ns/net"))?,
        })
    }

    /// The process number of a node's init in the caller's namespace, if the init lives.
    pub(crate) fn pid(lab: &LabName, node: &str) -> Option<i32> {
        let text = fs::read(directory(lab).join(format!("nodes/{node}.json"))).ok()?;
        let identity: InitIdentity = serde_json::from_slice(&text).ok()?;
        // Another process may have the number by now; the namespace shows it.
        identity
            .pids
            .iter()
            .find(|pid| {
                netns::inode(&PathBuf::from(format!("/proc/{pid}/ns/net")))
                    .is_ok_and(|i| i == identity.netns)
            })
            .copied()
    }

    /// Writes it for other processes to read.
    pub(crate) fn save(&self, lab: &LabName, node: &str) -> LabResult<()> {
        let text = serde_json::to_vec(self)
            .unwrap_or_else(|e| unreachable!("plain structs always serialize: {e}"));
        write(&directory(lab).join(format!("nodes/{node}.json")), &text)
    }
}

/// The network namespaces that the nodes of a lab recorded.
pub(crate) fn namespaces(lab: &LabName) -> Vec<u64> {
    let files = fs::read_dir(directory(lab).join("nodes"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path());
    let identities = files
        .filter(|f| f.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|f| fs::read(f).ok());
    identities
        .filter_map(|text| serde_json::from_slice::<InitIdentity>(&text).ok())
        .map(|i| i.netns)
        .collect()
}

/// Replaces a file atomically.
pub(crate) fn write(path: &Path, content: &[u8]) -> LabResult<()> {
    let new = path.with_extension("new");
    File::create(&new)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&new, path))
        .during(|| path.display().to_string())
}
