//! A shared directory as each host sees it, the wrong views of it, and the frozen directory itself.
use super::cluster::{HOSTS, StressCluster};
use crate::common::stalled_storage::StallableFolder;
use directory::pointer::EpochPointer;
use schedules::random::SplitMix64;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// One thing that happens to the shared directory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DirectoryTrouble {
    /// Its file system accepts no change; the controller and the jobs wait with theirs.
    Frozen,
    /// A host sees something else in its place.
    Spoilt(&'static str, DirectoryView),
}

impl DirectoryTrouble {
    /// Two events a round; every fourth time one of them freezes the directory. The wrong views are
    /// mostly on a host with the first rank of a communicator, because the runtime never looks at
    /// the views of other ranks.
    pub(crate) fn drawn(round: u64, random: &mut SplitMix64) -> [DirectoryTrouble; 2] {
        let host = [0, 1, 0, 1, 0, 1, 2, 3][random.below(8)];
        let other = (host + 1 + random.below(3)) % HOSTS.len();
        // The index of the round's first wrong view. Each freeze before took the place of one.
        let next = (2 * round - (round + 1) / 4) as usize;
        match round % 4 {
            2 => [DirectoryTrouble::Frozen, spoilt(host, next)],
            _ => [spoilt(host, next), spoilt(other, next + 1)],
        }
    }

    /// Its name in the table of troubles.
    pub(crate) fn counted_as(&self) -> &'static str {
        match self {
            DirectoryTrouble::Frozen => "directories frozen",
            DirectoryTrouble::Spoilt(_, DirectoryView::Stopped) => "views stopped",
            DirectoryTrouble::Spoilt(..) => "views spoilt",
        }
    }

    pub(crate) fn cause(&self, cluster: &mut StressCluster, random: &mut SplitMix64) {
        match *self {
            DirectoryTrouble::Frozen => cluster.shared.stall(),
            DirectoryTrouble::Spoilt(host, view) => cluster.views.spoil(host, view, random),
        }
    }

    /// Repairs the trouble: all hosts see the directory again, and it answers.
    pub(crate) fn repair(&self, cluster: &mut StressCluster) {
        match *self {
            DirectoryTrouble::Frozen => cluster.shared.go_on(),
            DirectoryTrouble::Spoilt(host, _) => {
                cluster.views.mend(host);
                cluster.views.mirror.go_on();
            }
        }
    }
}

fn spoilt(host: usize, kind: usize) -> DirectoryTrouble {
    DirectoryTrouble::Spoilt(HOSTS[host], VIEWS[kind % VIEWS.len()])
}

/// One link a host, which leads to the shared directory or to something else.
pub(crate) struct DirectoryViews {
    folder: PathBuf,
    shared: PathBuf,
    /// The directory through a server that can be stopped.
    mirror: StallableFolder,
    made: u32,
}

/// The view of a host in the place of the shared directory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DirectoryView {
    /// The directory as it was, while others see it change.
    Stale,
    /// The epoch before the last.
    Older,
    Empty,
    Missing,
    /// The pointer without its end.
    PointerCut,
    /// One file of each epoch cut short.
    Cut,
    /// One file of each epoch with a bit flipped.
    Flipped,
    /// Names without the files behind them.
    FilesMissing,
    /// A server that does not answer: every reader waits.
    Stopped,
}

const VIEWS: [DirectoryView; 9] = [
    DirectoryView::Stale,
    DirectoryView::Stopped,
    DirectoryView::Cut,
    DirectoryView::Empty,
    DirectoryView::Flipped,
    DirectoryView::Missing,
    DirectoryView::PointerCut,
    DirectoryView::FilesMissing,
    DirectoryView::Older,
];

impl DirectoryViews {
    /// All hosts see the directory itself.
    pub(crate) fn new(
        folder: PathBuf,
        shared: &Path,
        mirror: StallableFolder,
        hosts: &[&str],
    ) -> DirectoryViews {
        fs::create_dir(&folder).unwrap();
        let views = DirectoryViews {
            folder,
            shared: shared.to_owned(),
            mirror,
            made: 0,
        };
        hosts.iter().for_each(|host| views.mend(host));
        views
    }

    /// The host sees the directory itself.
    fn mend(&self, host: &str) {
        self.turn(host, &self.shared);
    }

    /// Gives the host another view.
    fn spoil(&mut self, host: &str, view: DirectoryView, random: &mut SplitMix64) {
        self.made += 1;
        let copy = self.folder.join(format!("copy{}", self.made));
        match view {
            DirectoryView::Missing => {}
            DirectoryView::Empty => fs::create_dir(&copy).unwrap(),
            DirectoryView::Stopped => self.mirror.stall(),
            _ => {
                copy_folder(&self.shared, &copy);
                damage(&copy, view, random);
            }
        }
        self.turn(
            host,
            if let DirectoryView::Stopped = view {
                self.mirror.path()
            } else {
                &copy
            },
        );
    }

    /// Changes the link by a rename, between two of the job's looks or in the middle of a look.
    fn turn(&self, host: &str, to: &Path) {
        let new = self.folder.join(format!(".{host}"));
        symlink(to, &new).unwrap();
        fs::rename(new, self.folder.join(host)).unwrap();
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for path in entries(from) {
        let copy = to.join(path.file_name().unwrap());
        if path.ends_with("jobs") {
            // A hostile user's files are not part of a view.
            fs::create_dir(&copy).unwrap();
        } else if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            // A file that is still being written may be renamed before it is copied.
            let _ = fs::copy(path, copy);
        }
    }
}

fn damage(copy: &Path, view: DirectoryView, random: &mut SplitMix64) {
    let pointer = copy.join("current");
    let line = fs::read_to_string(&pointer).unwrap();
    let mut epochs: Vec<PathBuf> = entries(&copy.join("epochs"));
    // A folder that was still being written when it was copied is not an epoch.
    epochs.retain(|epoch| {
        epoch.file_name().is_some_and(|name| name.len() == 8)
            && epoch.join("manifest.json").is_file()
    });
    epochs.sort();
    match view {
        DirectoryView::Stale
        | DirectoryView::Empty
        | DirectoryView::Missing
        | DirectoryView::Stopped => return,
        DirectoryView::PointerCut => {
            return fs::write(pointer, &line[..random.below(line.len())]).unwrap();
        }
        DirectoryView::Older => {
            let older = &epochs[epochs.len().saturating_sub(2)];
            let number = older
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            let manifest = fs::read(older.join("manifest.json")).unwrap();
            return fs::write(pointer, EpochPointer::new(number, &manifest).to_string()).unwrap();
        }
        DirectoryView::FilesMissing => epochs
            .iter()
            .flat_map(|epoch| entries(epoch))
            .for_each(|file| fs::remove_file(file).unwrap()),
        DirectoryView::Cut | DirectoryView::Flipped => epochs.iter().for_each(|epoch| {
            let files = entries(epoch);
            let file = &files[random.below(files.len())];
            let mut bytes = fs::read(file).unwrap();
            let at = random.below(bytes.len());
            match (view, bytes.get_mut(at)) {
                (DirectoryView::Flipped, Some(byte)) => *byte ^= 1 << random.below(8),
                _ => bytes.truncate(at),
            }
            fs::write(file, bytes).unwrap();
        }),
    }
    // The same pointer in other octets: it counts as new, so that the job reads the epoch again.
    fs::write(pointer, line.trim_end()).unwrap();
}

/// The content of a folder; empty if the folder is gone meanwhile.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}
