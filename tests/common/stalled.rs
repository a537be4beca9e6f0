//! File systems that stop answering: a disk that is frozen, where changes wait and reading goes on, and a server that is stopped, where
//! both wait. Takes root.
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What holds the shared directory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Storage {
    /// ext4 in a file, frozen as for a snapshot. Who waits for it cannot be killed.
    Disk,
    /// A FUSE server, stopped. It keeps nothing in the kernel's caches, so that reading asks it each time.
    Server,
}

/// A folder on a file system of its own. It goes on and is gone when this is dropped.
pub(crate) struct StallableFolder {
    server: Option<Child>,
    mount: PathBuf,
    /// The image or the served folder, and the place it is mounted at.
    _beside: TempDir,
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|e| panic!("{program}: {e}; see scripts/packages"));
    assert!(output.status.success(), "{program} {arguments:?}: {} (takes root)", String::from_utf8_lossy(&output.stderr));
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

impl StallableFolder {
    pub(crate) fn new(storage: Storage) -> StallableFolder {
        let beside = TempDir::new().expect("a temporary directory");
        let (mount, image, served) = (beside.path().join("mount"), beside.path().join("image"), beside.path().join("served"));
        for folder in [&mount, &served] {
            fs::create_dir(folder).expect("a folder");
        }
        let mut folder = StallableFolder { server: None, mount, _beside: beside };
        match storage {
            Storage::Disk => {
                File::create(&image).and_then(|file| file.set_len(64 << 20)).expect("an image");
                run("mkfs.ext4", &["-q", text(&image)]);
                run("mount", &["-o", "loop", text(&image), text(&folder.mount)]);
            }
            Storage::Server => {
                let mut server = Command::new("bindfs");
                server.args(["-f", "-o", "direct_io,attr_timeout=0,entry_timeout=0,negative_timeout=0"]).arg(&served).arg(&folder.mount);
                folder.server = Some(server.stdout(Stdio::null()).spawn().expect("bindfs; see scripts/packages"));
                let began = Instant::now();
                while !mounted(&folder.mount) {
                    assert!(began.elapsed() < Duration::from_secs(60), "bindfs has mounted nothing");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.mount
    }

    pub(crate) fn stall(&self) {
        let (program, arguments) = self.switch("-f", "-STOP");
        run(program, &[&arguments[0], &arguments[1]]);
    }

    /// Lets it go on, also where it has not stalled.
    pub(crate) fn go_on(&self) {
        let (program, arguments) = self.switch("-u", "-CONT");
        // Thawing what is not frozen is an error, and no harm.
        let _ = Command::new(program).args(arguments).stderr(Stdio::null()).status();
    }

    fn switch(&self, freezer: &str, signal: &str) -> (&str, [String; 2]) {
        match &self.server {
            None => ("fsfreeze", [freezer.to_owned(), text(&self.mount).to_owned()]),
            Some(server) => ("kill", [signal.to_owned(), server.id().to_string()]),
        }
    }
}

fn mounted(folder: &Path) -> bool {
    Command::new("mountpoint").arg("-q").arg(folder).status().expect("mountpoint, of util-linux").success()
}

impl Drop for StallableFolder {
    fn drop(&mut self) {
        self.go_on();
        if mounted(&self.mount) {
            // Lazily: who has waited may be there yet. The loop device goes with its file system.
            let _ = Command::new("umount").arg("-l").arg(&self.mount).status();
        }
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
