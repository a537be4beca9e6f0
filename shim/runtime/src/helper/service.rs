//! The helper's end: one thread reads epochs, one writes job records, and the main one hears the
//! rank, which it can do however long the file system leaves the other two waiting.
use super::framing::{self, IncomingOctets};
use super::{HelperReport, HelperRequest};
use directory::following::{EpochFollower, ReaderOutcome};
use directory::job_record::writing::replace;
use directory::layout::JOBS;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The helper looks for epochs at this interval, while the rank wants it.
const EVERY: Duration = Duration::from_millis(250);
/// A rank that has not asked for so long is busy elsewhere.
const WANTED: Duration = Duration::from_secs(2);
/// After so long without an answer the directory counts as stalled.
pub const STALLED: Duration = Duration::from_secs(5);
/// The helper checks that at this interval.
const CHECK: Duration = Duration::from_millis(500);
/// The rank is gone: so long the helper tries to write what it left.
const LAST_WORDS: Duration = Duration::from_secs(600);

/// The state that the threads share.
#[derive(Debug, Default)]
struct HelperQueue {
    /// When the rank last asked for epochs.
    asked: Option<Instant>,
    /// Files to be written, by where they lie in the directory.
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Files that came, and those dealt with: overwritten ones too.
    came: u64,
    done: u64,
    /// Since when a thread has been waiting for the file system.
    reading: Option<Instant>,
    writing: Option<Instant>,
}

impl HelperQueue {
    fn add(&mut self, file: PathBuf, octets: Vec<u8>) {
        self.came += 1;
        self.done += u64::from(self.files.insert(file, octets).is_some());
    }
}

#[derive(Debug)]
struct HelperShared {
    desk: Mutex<HelperQueue>,
    changed: Condvar,
    rank: Mutex<UnixStream>,
}

impl HelperShared {
    fn desk(&self) -> MutexGuard<'_, HelperQueue> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        desk: MutexGuard<'a, HelperQueue>,
        at_most: Duration,
    ) -> MutexGuard<'a, HelperQueue> {
        self.changed
            .wait_timeout(desk, at_most)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    /// A rank that does not hear any more has ended: the main thread notices.
    fn tell(&self, report: &HelperReport) {
        let _ = framing::send(
            &*self.rank.lock().unwrap_or_else(PoisonError::into_inner),
            report,
        );
    }
}

/// Serves a rank whose library is of this build until it ends and its last job record is written; tells another
/// one that it does not, in a message that all builds understand. Jobs begin while heddle is upgraded.
///
/// # Errors
/// The system gives no thread or no second descriptor of the socket.
pub fn serve(dir: &Path, build: &str, mut rank: UnixStream) -> io::Result<()> {
    if build != presence::BUILD {
        let problem = format!(
            "heddle-helper is of heddle {}, this job's library of {build}: start the job anew, with the library and \
             the helper of one package",
            presence::BUILD
        );
        framing::send(&rank, &HelperReport::Unusable(problem))?;
        // Its requests are read and dropped: a closed socket would look to it as a lost helper.
        return io::copy(&mut rank, &mut io::sink()).map(drop);
    }
    let shared = Arc::new(HelperShared {
        desk: Mutex::default(),
        changed: Condvar::new(),
        rank: Mutex::new(rank.try_clone()?),
    });
    for (name, work) in [
        ("epochs", look as fn(&HelperShared, &Path)),
        ("records", write),
    ] {
        let (shared, dir) = (Arc::clone(&shared), dir.to_owned());
        thread::Builder::new()
            .name(name.into())
            .spawn(move || work(&shared, &dir))?;
    }
    // However it ended, there is nobody to tell.
    let _ = hear(&shared, rank);
    let left = Instant::now();
    let mut desk = shared.desk();
    while desk.done < desk.came && left.elapsed() < LAST_WORDS {
        desk = shared.wait(desk, CHECK);
    }
    Ok(())
}

/// Takes the rank's requests until it ends.
fn hear(shared: &HelperShared, mut rank: UnixStream) -> io::Result<()> {
    rank.set_read_timeout(Some(CHECK))?;
    let (mut incoming, mut octets, mut stalled) =
        (IncomingOctets::default(), vec![0; 64 << 10], false);
    loop {
        match rank.read(&mut octets) {
            Ok(0) => return Ok(()),
            Ok(count) => incoming.add(&octets[..count]),
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::TimedOut
                        | io::ErrorKind::Interrupted
                ) => {}
            Err(e) => return Err(e),
        }
        while let Some(request) = incoming.next()? {
            let mut desk = shared.desk();
            match request {
                HelperRequest::Look => desk.asked = Some(Instant::now()),
                HelperRequest::Record { name, json } => desk.add(Path::new(JOBS).join(name), json),
                HelperRequest::File { name, octets } => desk.add(name.into(), octets),
            }
            shared.changed.notify_all();
        }
        let waits = {
            let desk = shared.desk();
            [desk.reading, desk.writing]
                .into_iter()
                .flatten()
                .any(|since| since.elapsed() >= STALLED)
        };
        if waits != stalled {
            stalled = waits;
            shared.tell(if stalled {
                &HelperReport::Stalled
            } else {
                &HelperReport::GoesOn
            });
        }
    }
}

/// Looks for epochs while the rank asks for them.
fn look(shared: &HelperShared, dir: &Path) {
    shared.tell(&HelperReport::Begins);
    let (mut follower, mut unusable) = (EpochFollower::new(dir), None);
    loop {
        let mut desk = shared.desk();
        while desk.asked.is_none_or(|at| at.elapsed() > WANTED) {
            desk = shared.wait(desk, WANTED);
        }
        desk.reading = Some(Instant::now());
        drop(desk);
        let look = follower.look();
        shared.desk().reading = None;
        if let Some(problem) = follower.take_complaint() {
            shared.tell(&HelperReport::Unlearned(problem));
        }
        match look {
            ReaderOutcome::Same => {}
            ReaderOutcome::New(lean) => {
                unusable = None;
                shared.tell(&HelperReport::Epoch(lean.to_bytes()));
            }
            ReaderOutcome::Unusable(problem) if unusable.as_ref() == Some(&problem) => {}
            ReaderOutcome::Unusable(problem) => {
                shared.tell(&HelperReport::Unusable(problem.clone()));
                unusable = Some(problem);
            }
        }
        thread::sleep(EVERY);
    }
}

/// Writes job records and other files as they come.
fn write(shared: &HelperShared, dir: &Path) {
    loop {
        let mut desk = shared.desk();
        let (file, octets) = loop {
            match desk.files.pop_first() {
                Some(file) => break file,
                None => desk = shared.wait(desk, WANTED),
            }
        };
        desk.writing = Some(Instant::now());
        drop(desk);
        let problem = if file.starts_with(JOBS) {
            record(&dir.join(file), &octets)
        } else {
            let made = fs::create_dir_all(dir);
            let written = made.and_then(|()| replace(&dir.join(file), &octets));
            written.err().map(|e| e.to_string())
        };
        let mut desk = shared.desk();
        desk.writing = None;
        desk.done += 1;
        let records = desk.done;
        shared.changed.notify_all();
        drop(desk);
        shared.tell(&HelperReport::Written { records, problem });
    }
}

/// Writes a job record; gives what went wrong.
fn record(file: &Path, json: &[u8]) -> Option<String> {
    match replace(file, json) {
        // Nobody has published here yet: that is reported where epochs are looked for.
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        written => written.err().map(|e| {
            format!(
                "{}: {e}; the controller does not hear of this job",
                file.display()
            )
        }),
    }
}
