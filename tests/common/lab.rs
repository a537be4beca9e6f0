//! A lab of a test. Needs root and the programs of the lab; without them it does not come up and says which command gives them.
use inventory::TopologyFile;
use lab::{Lab, Options};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const HEDDLE: &str = env!("CARGO_BIN_EXE_heddle");

/// Labs come up one after the other: two cores carry one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Waits for the other labs of this test file to be down.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lab that is taken down whatever happens, what it was built from, and a folder for what is written about it.
pub(crate) struct Up {
    pub(crate) lab: Lab,
    pub(crate) file: TopologyFile,
    pub(crate) folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Up {
    /// Brings up a topology file's text.
    pub(crate) fn new(test: &str, text: &str) -> Up {
        let _turn = turn();
        let file = TopologyFile::parse("topology", text).unwrap();
        let name = format!("t{}-{test}", std::process::id());
        let lab = Lab::up(&name, &file, Options::default(), Path::new(HEDDLE)).unwrap();
        Up { lab, file, folder: tempfile::tempdir().unwrap(), _turn }
    }

    /// Where a file of this name goes in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The lab's inventory without the lines that begin with `less`, and with more behind it. It has patience: a single look is
    /// whole on a busy machine, too.
    pub(crate) fn inventory(&self, less: &str, more: &str) -> PathBuf {
        let written = fs::read_to_string(self.lab.inventory_path()).unwrap();
        let kept: String = written.lines().filter(|l| less.is_empty() || !l.trim().starts_with(less)).map(|l| format!("{l}\n")).collect();
        assert!(less.is_empty() || kept != written, "no {less} in {written}");
        let path = self.path("inventory.yaml");
        fs::write(&path, kept.replace("timing: {", "timing: {timeout: 5s, ") + more).unwrap();
        path
    }

    /// What a program prints on a node, where it must succeed.
    pub(crate) fn exec(&self, node: &str, program: &[&str]) -> String {
        let output = self.lab.exec(node, program).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{node} {program:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    /// What `heddle discover` finds from the head node.
    pub(crate) fn discover(&self, inventory: &Path, format: &str, more: &[&str]) -> String {
        let look = [HEDDLE, "discover", "--inventory", inventory.to_str().unwrap(), "--format", format];
        self.exec("ctl", &[&look, more].concat())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = Lab::down(self.lab.name());
    }
}
