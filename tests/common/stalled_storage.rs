//! File systems that stop answering: a disk that is frozen, where changes wait and reading goes on,
//! and a server that is stopped, where both wait. Takes root.
use super::until::until_so;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// The kind of storage that holds the shared directory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StalledStorage {
    /// ext4 in a file, frozen as for a snapshot. A process that waits for it cannot be killed.
    Disk,
    /// A FUSE server, stopped. It keeps nothing in the kernel's caches, so that reading asks it
    /// each time.
    Server,
}

/// The time after which it goes on by itself, even if the test was killed. No test lets it stall
/// for so long.
const LONGEST_STALL_SECONDS: u32 = 240;

/// A folder on a file system of its own. When this is dropped, the file system goes on and is
/// unmounted.
pub(crate) struct StallableFolder {
    server: Option<Child>,
    mount: PathBuf,
    /// While it stalls: the process that will let it go on, even if this process dies.
    rescue: Mutex<Option<Child>>,
    /// The image or the served folder, and the place it is mounted at.
    _beside: TempDir,
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}; see scripts/packages"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {} (takes root)",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

impl StallableFolder {
    pub(crate) fn new(storage: StalledStorage) -> StallableFolder {
        let (mut folder, beside) = StallableFolder::unmounted();
        match storage {
            StalledStorage::Disk => {
                let image = beside.join("image");
                // Sparse; with room for the files that hostile users leave in it.
                File::create(&image)
                    .and_then(|file| file.set_len(256 << 20))
                    .expect("an image");
                run("mkfs.ext4", &["-q", text(&image)]);
                run("mount", &["-o", "loop", text(&image), text(&folder.mount)]);
            }
            StalledStorage::Server => {
                let served = beside.join("served");
                fs::create_dir(&served).expect("a folder");
                folder.serve(&served);
            }
        }
        folder
    }

    /// Another folder seen through a server that can be stopped.
    pub(crate) fn mirror(of: &Path) -> StallableFolder {
        let (mut folder, _) = StallableFolder::unmounted();
        folder.serve(of);
        folder
    }

    fn unmounted() -> (StallableFolder, PathBuf) {
        let beside = TempDir::new().expect("a temporary directory");
        let (mount, path) = (beside.path().join("mount"), beside.path().to_owned());
        fs::create_dir(&mount).expect("a folder");
        (
            StallableFolder {
                server: None,
                mount,
                rescue: Mutex::new(None),
                _beside: beside,
            },
            path,
        )
    }

    fn serve(&mut self, served: &Path) {
        let mut server = Command::new("bindfs");
        server
            .args("-f -o direct_io,attr_timeout=0,entry_timeout=0,negative_timeout=0".split(' '))
            .arg(served)
            .arg(&self.mount);
        self.server = Some(
            server
                .stdout(Stdio::null())
                .spawn()
                .expect("bindfs; see scripts/packages"),
        );
        until_so("bindfs mounts", || mounted(&self.mount));
    }

    pub(crate) fn path(&self) -> &Path {
        &self.mount
    }

    pub(crate) fn stall(&self) {
        let (program, arguments) = self.switch("-u", "-CONT");
        let later = format!("sleep {LONGEST_STALL_SECONDS}; exec \"$@\"");
        let mut rescue = Command::new("sh");
        rescue
            .args(["-c", &later, "sh", program])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        *self.rescue() = Some(rescue.process_group(0).spawn().expect("sh"));
        let (program, arguments) = self.switch("-f", "-STOP");
        run(program, &[&arguments[0], &arguments[1]]);
    }

    /// Kills the server. The mount stays, and every question to it fails.
    pub(crate) fn kill_server(&mut self) {
        let mut server = self.server.take().expect("a server");
        server.kill().expect("a process of this test");
        server.wait().expect("a process of this test");
    }

    /// Lets the file system go on. It need not be stalled.
    pub(crate) fn go_on(&self) {
        let (program, arguments) = self.switch("-u", "-CONT");
        // To thaw a file system that is not frozen is an error, but does no harm.
        let _ = Command::new(program)
            .args(arguments)
            .stderr(Stdio::null())
            .status();
        if let Some(mut rescue) = self.rescue().take() {
            let _ = Command::new("kill")
                .args(["-KILL", "--", &format!("-{}", rescue.id())])
                .stderr(Stdio::null())
                .status();
            let _ = rescue.wait();
        }
    }

    fn rescue(&self) -> MutexGuard<'_, Option<Child>> {
        self.rescue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn switch(&self, freezer: &str, signal: &str) -> (&str, [String; 2]) {
        match &self.server {
            None => (
                "fsfreeze",
                [freezer.to_owned(), text(&self.mount).to_owned()],
            ),
            Some(server) => ("kill", [signal.to_owned(), server.id().to_string()]),
        }
    }
}

fn mounted(folder: &Path) -> bool {
    Command::new("mountpoint")
        .arg("-q")
        .arg(folder)
        .status()
        .expect("mountpoint, of util-linux")
        .success()
}

impl Drop for StallableFolder {
    fn drop(&mut self) {
        self.go_on();
        if mounted(&self.mount) {
            // Lazily: a process that waited may still use it. The loop device goes with its file
            // system.
            let _ = Command::new("umount").arg("-l").arg(&self.mount).status();
        }
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
