//! Taking down a lab, or the remains that a killed `up` left.
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::name::LabName;
use crate::netns;
use crate::state::{self, LabLock};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

/// Ends every process of a lab and removes its namespaces and files. Returns false if there was
/// nothing of such a lab.
pub(crate) fn down(lab: &LabName) -> LabResult<bool> {
    let known = state::directory(lab).exists();
    let _lock = known.then(|| LabLock::take(lab)).transpose()?;
    let any = known || !netns::of_lab(lab).is_empty();
    remove(lab).map(|()| any)
}

/// [`down`] for a caller that holds the lab's lock, or knows that there is nothing to lock.
pub(crate) fn remove(lab: &LabName) -> LabResult<()> {
    clear(lab)?;
    let directory = state::directory(lab);
    match fs::remove_dir(&directory) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            return Err(e).during(|| directory.display().to_string());
        }
        _ => {}
    }
    state::remove_empty_base();
    Ok(())
}

/// Like [`remove`], but keeps the directory itself, which is the lock.
pub(crate) fn clear(lab: &LabName) -> LabResult<()> {
    let names = netns::of_lab(lab);
    // Inside the lab the names are hidden. The inits' files show that the caller is inside.
    let named = names.iter().filter_map(|n| netns::inode(n).ok());
    end_processes(lab, &named.chain(state::namespaces(lab)).collect())?;
    for name in names {
        netns::remove(&name)?;
    }
    let directory = state::directory(lab);
    for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.during(|| path.display().to_string())?;
    }
    Ok(())
}

/// Kills every process in one of these network namespaces and waits until all are gone. Most end
/// with the first kill: the head node's init is the root of the lab's process tree.
fn end_processes(lab: &LabName, namespaces: &HashSet<u64>) -> LabResult<()> {
    let own = netns::inode(Path::new("/proc/self/ns/net")).ok();
    if own.is_some_and(|o| namespaces.contains(&o)) {
        return Err(LabError::Refused(format!(
            "lab \"{lab}\": cannot be taken down from inside; run it outside: heddle lab down \
             --name {lab}"
        )));
    }
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let alive = inhabitants(namespaces);
        if alive.is_empty() {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(LabError::NotReady(format!(
                "lab \"{lab}\": processes {alive:?} do not end"
            )));
        }
        for pid in alive {
            // The process may have ended in between.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes in these network namespaces.
fn inhabitants(namespaces: &HashSet<u64>) -> Vec<i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|p| p.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        netns::inode(Path::new(&format!("/proc/{pid}/ns/net")))
            .is_ok_and(|n| namespaces.contains(&n))
    })
    .collect()
}
