//! A shared directory that stops answering before a job, in its middle and at its end. No call
//! waits for it, nor does MPI_Finalize, nor the end of the process. A job reports it in one line.
//!
//! Needs root, and: apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev bindfs e2fsprogs
//! mount
use crate::common::epochs::{FORCED, TREE, publish, records};
use crate::common::job::{BOTH, TestJob, compiled};
use crate::common::machine_share::MachinePart;
use crate::common::stalled_storage::{StallableFolder, StalledStorage};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const STORAGES: [StalledStorage; 2] = [StalledStorage::Disk, StalledStorage::Server];
/// The largest number of lines about the stall in a job. Rank 1 leads a communicator, too, but only
/// the job's rank 0 prints the line.
const ROOTS: usize = 1;
/// The time limit of every wait in this test.
const LONG: Duration = Duration::from_secs(60);
/// Neither a call nor a job's end may take this long.
const LONGEST_CALL: f64 = 5.0;

/// Waits until something holds; false if it did not within the limit.
fn comes(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > LONG {
            return false;
        }
        sleep(Duration::from_millis(50));
    }
    true
}

/// A job of checked calls on four hosts, under way. Its output goes into files, so that nothing
/// here waits for a process that cannot end.
struct FrozenJob<'a> {
    what: String,
    folder: &'a StallableFolder,
    child: Child,
    /// Its output, and the file whose removal ends it.
    beside: TempDir,
}

impl<'a> FrozenJob<'a> {
    fn start(mpi: &str, storage: StalledStorage, folder: &'a StallableFolder) -> FrozenJob<'a> {
        let program = compiled("steady.c", mpi, &[]);
        let job = TestJob::new(mpi, 4)
            .dir(folder.path())
            .env(FORCED.0, FORCED.1);
        let beside = TempDir::new().expect("a temporary directory");
        let file = |name: &str| File::create(beside.path().join(name)).expect("a file");
        let lives = beside.path().join("lives");
        let mut command = job.command(
            &program,
            &["250", lives.to_str().expect("a plain path"), "5"],
        );
        command.stdout(file("out")).stderr(file("err"));
        let child = command.spawn().expect("timeout, of coreutils");
        FrozenJob {
            what: format!("{mpi}, {storage:?}"),
            folder,
            child,
            beside,
        }
    }

    fn lives(&self) -> PathBuf {
        self.beside.path().join("lives")
    }

    fn output(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.beside.path().join(name)).expect("its output"))
            .into_owned()
    }

    /// The lines about the directory.
    // Only this place depends on the words of that line.
    fn reports(&self) -> usize {
        let path = self.folder.path().display().to_string();
        self.output("err")
            .lines()
            .filter(|line| {
                line.contains("heddle:") && line.contains("does not answer") && line.contains(&path)
            })
            .count()
    }

    fn waits_for(&mut self, expected: &str, mut holds: impl FnMut(&FrozenJob) -> bool) {
        let came = comes(|| holds(self) || self.child.try_wait().expect("its state").is_some())
            && holds(self);
        assert!(
            came,
            "{}: waited for: {expected}\n{}\n{}",
            self.what,
            self.output("out"),
            self.output("err")
        );
    }

    fn makes_its_first_calls(&mut self) {
        self.waits_for("the first calls", |job| job.lives().exists());
    }

    /// Waits until all its communicators have recorded that they follow this epoch.
    fn follows(&mut self, epoch: u64) {
        let folder = self.folder.path();
        self.waits_for(&format!("three records of epoch {epoch}"), |_| {
            let records = if folder.join("jobs").exists() {
                records(folder)
            } else {
                Vec::new()
            };
            records.len() == 3 && records.iter().all(|record| record.epoch == epoch)
        });
    }

    /// The job reports the stall, goes on and ends while the directory still stalls.
    fn tells_of_the_stall_and_ends(mut self) {
        self.waits_for("the line about the directory", |job| job.reports() > 0);
        self.goes_on();
        assert!(
            self.reports() <= ROOTS,
            "{}: {}",
            self.what,
            self.output("err")
        );
        self.ends();
    }

    /// Waits while the job reports its calls a few more times; it does so each second.
    fn goes_on(&mut self) {
        let before = calls_so_far(self);
        self.waits_for("three more seconds of calls", |job| {
            calls_so_far(job) >= before + 3
        });
    }

    /// Tells it to end. It must end by itself, even while the directory stalls.
    fn ends(mut self) {
        fs::remove_file(self.lives()).expect("nobody else removes it");
        let mut ended = None;
        comes(|| {
            ended = self.child.try_wait().expect("its state");
            ended.is_some()
        });
        let (out, err) = (self.output("out"), self.output("err"));
        let status =
            ended.unwrap_or_else(|| panic!("{}: the job does not end\n{out}\n{err}", self.what));
        assert!(status.success(), "{}: {status}\n{out}\n{err}", self.what);
        assert!(out.ends_with(" 0 wrong\n"), "{}: {out}", self.what);
        let (_, longest) = out.rsplit_once("the longest ").expect("the longest call");
        let longest: f64 = longest
            .split_once(" s")
            .expect("its seconds")
            .0
            .parse()
            .expect("a number");
        assert!(
            longest < LONGEST_CALL,
            "{}: a call took {longest} s\n{err}",
            self.what
        );
    }
}

fn calls_so_far(job: &FrozenJob) -> usize {
    job.output("out").matches(" calls so far").count()
}

impl Drop for FrozenJob<'_> {
    /// If it has not ended, its ranks may wait for the directory, and then nobody can kill them.
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.folder.go_on();
            // `timeout` hands the signal on to the launcher, and the launcher hands it on to the
            // ranks.
            let _ = Command::new("kill")
                .arg(self.child.id().to_string())
                .status();
            let _ = self.child.wait();
        }
    }
}

/// Each MPI library over each storage that stalls, with one epoch published. The job gets the
/// machine before anything stalls, because a stall is limited in time.
fn each(check: impl Fn(&str, StalledStorage, &StallableFolder)) {
    for storage in STORAGES {
        for mpi in BOTH {
            let _share = MachinePart::Half.take();
            let folder = StallableFolder::new(storage);
            publish(folder.path(), TREE);
            check(mpi, storage, &folder);
        }
    }
}

#[test]
fn stalled_before_the_job_it_runs_to_its_end() {
    each(|mpi, storage, folder| {
        folder.stall();
        let mut job = FrozenJob::start(mpi, storage, folder);
        job.makes_its_first_calls();
        job.tells_of_the_stall_and_ends();
    });
}

#[test]
fn stalled_in_its_middle_it_runs_to_its_end() {
    each(|mpi, storage, folder| {
        let mut job = FrozenJob::start(mpi, storage, folder);
        job.makes_its_first_calls();
        job.follows(1);
        folder.stall();
        job.tells_of_the_stall_and_ends();
    });
}

/// From the last calls through MPI_Finalize to the end of the processes.
#[test]
fn stalled_just_before_its_end_it_ends() {
    each(|mpi, storage, folder| {
        let mut job = FrozenJob::start(mpi, storage, folder);
        job.makes_its_first_calls();
        job.follows(1);
        folder.stall();
        job.ends();
    });
}

#[test]
fn when_the_directory_answers_again_the_job_takes_up_a_new_epoch() {
    each(|mpi, storage, folder| {
        let mut job = FrozenJob::start(mpi, storage, folder);
        job.makes_its_first_calls();
        job.follows(1);
        folder.stall();
        job.waits_for("the line about the directory", |job| job.reports() > 0);
        job.goes_on();
        folder.go_on();
        publish(
            folder.path(),
            &TREE.replace("n3: {switch: s1", "n3: {switch: s2"),
        );
        job.follows(2);
        assert!(
            job.reports() <= ROOTS,
            "{}: {}",
            job.what,
            job.output("err")
        );
        job.ends();
    });
}

/// The tests above rest on this: a writer waits for both storages and a reader only for a server,
/// until the storage goes on.
#[test]
fn a_stalled_folder_keeps_everybody_waiting() {
    fn starts(program: &str, file: &Path) -> Child {
        Command::new(program)
            .arg(file)
            .spawn()
            .unwrap_or_else(|e| panic!("{program}: {e}"))
    }
    for storage in STORAGES {
        let _share = MachinePart::Half.take();
        let folder = StallableFolder::new(storage);
        let (read, written) = (folder.path().join("read"), folder.path().join("written"));
        fs::write(&read, "").expect("written");
        folder.stall();
        let mut reads = starts("cat", &read);
        let mut writes = starts("touch", &written);
        assert!(
            storage == StalledStorage::Server || comes(|| is_done(&mut reads)),
            "nobody waits to read a frozen disk"
        );
        sleep(Duration::from_secs(1));
        assert_eq!(
            (is_done(&mut reads), is_done(&mut writes)),
            (storage == StalledStorage::Disk, false),
            "{storage:?}"
        );
        folder.go_on();
        assert!(
            comes(|| is_done(&mut reads)) && comes(|| is_done(&mut writes)) && written.exists(),
            "{storage:?}"
        );
    }
}

fn is_done(child: &mut Child) -> bool {
    child.try_wait().expect("its state").is_some()
}
