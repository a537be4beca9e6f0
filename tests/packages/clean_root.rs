//! A root of its own over this machine's files: what is installed there is gone with it.
use super::tools::output_of;
use crate::common::killed::KilledAtEnd;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The files as they were, with everything that was written since apart.
pub(super) struct CleanRoot {
    holder: KilledAtEnd,
    folder: TempDir,
    /// The root that it shows.
    before: PathBuf,
}

/// Files that packages leave by design: the package system's own files, users, and temporary files.
const NOT_OF_A_PACKAGE: &[&str] = &[
    "var/lib/dpkg",
    "var/lib/apt",
    "var/lib/systemd/deb-systemd-helper",
    "var/log",
    "var/cache",
    "etc/passwd",
    "etc/group",
    "etc/shadow",
    "etc/gshadow",
    "etc/.pwd.lock",
];

impl CleanRoot {
    pub(super) fn open() -> CleanRoot {
        let folder = TempDir::new().expect("a temporary directory");
        // `make test-packages` names a root without anything of this machine.
        let before = std::env::var_os("CLEAN_ROOT").map_or_else(|| "/".into(), PathBuf::from);
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "tests/packages/clean_root.sh"])
            .args([folder.path(), &before]);
        let mut holder = KilledAtEnd(command.stdout(Stdio::piped()).spawn().expect("unshare"));
        let mut line = String::new();
        let output = BufReader::new(holder.stdout.take().expect("piped")).read_line(&mut line);
        assert!(
            output.is_ok() && line == "ready\n",
            "clean_root.sh; mounting needs root"
        );
        CleanRoot {
            holder,
            folder,
            before,
        }
    }

    /// A command in that root.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--mount", "--target", &self.holder.id().to_string()])
            .arg("chroot")
            .arg(self.folder.path().join("root"))
            .arg(program);
        command
    }

    /// Runs a command line without quotes in that root.
    pub(super) fn run(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let mut command = self.command(words.next().expect("a program"));
        output_of(command.args(words))
    }

    /// A command that was made for this machine's own root, moved into that one.
    pub(super) fn inside(&self, command: &Command) -> Command {
        let mut inside = self.command(command.get_program().to_str().expect("plain"));
        inside.args(command.get_args());
        inside.envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
        inside
    }

    /// True if that root holds nothing of this machine.
    pub(super) fn is_bare(&self) -> bool {
        self.before != Path::new("/")
    }

    /// A path of that root, as this test reaches it.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.outside("root").join(path.trim_start_matches('/'))
    }

    fn outside(&self, part: &str) -> PathBuf {
        let folder = self.folder.path().strip_prefix("/").expect("absolute");
        Path::new("/proc")
            .join(self.holder.id().to_string())
            .join("root")
            .join(folder)
            .join(part)
    }

    /// The files that differ from before, except for those that packages leave by design.
    pub(super) fn left(&self) -> Vec<String> {
        let upper = self.outside("upper");
        let mut left = Vec::new();
        self.differing(&upper, &upper, &mut left);
        left.retain(|path| {
            !NOT_OF_A_PACKAGE.iter().any(|known| {
                path == known
                    || path.starts_with(&format!("{known}/"))
                    || path == &format!("{known}-")
            })
        });
        if self.is_bare() {
            // There apt has installed everything that the packages depend on.
            left.retain(|path| path.contains("heddle"));
        }
        left.sort();
        left
    }

    /// A folder counts where it is new: one that was there is copied when something in it changes.
    fn differing(&self, upper: &Path, folder: &Path, into: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("the upper folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(upper).expect("below it");
            let now = fs::symlink_metadata(&path).expect("there");
            let before = fs::symlink_metadata(self.before.join(name));
            if !now.is_dir() || before.is_err() {
                into.push(name.display().to_string());
            } else if let Ok(before) = before
                && (before.mode(), before.uid()) != (now.mode(), now.uid())
            {
                into.push(format!("{}: owner or mode", name.display()));
            }
            if now.is_dir() {
                self.differing(upper, &path, into);
            }
        }
    }
}
