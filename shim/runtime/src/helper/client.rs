//! The rank's end. Nothing here waits for a file: what the helper has said is taken, what it is
//! asked for it answers later.
use super::framing::{self, IncomingOctets};
use super::orphan::{OrphanProcess, above_standard_streams};
use super::service::STALLED;
use super::{HelperReport, HelperRequest};
use crate::signals;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// A helper that takes nothing for so long is given up: its main thread waits for nobody.
const PATIENCE: Duration = Duration::from_millis(500);
/// The helper is asked this often at most.
const ASK: Duration = Duration::from_millis(125);
/// Between two looks of a rank that waits for its helper.
const PAUSE: Duration = Duration::from_millis(1);
/// A helper that has not begun to run is waited for so long by those that would wait for the directory: a host whose
/// processors are all taken lets it wait.
const STARTS: Duration = Duration::from_secs(10);

/// The state of the epoch, as this rank knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EpochNews {
    /// The current one, as [`directory::epoch::LeanEpoch`] in bytes.
    Epoch(Arc<[u8]>),
    /// There is none that could be used, and why.
    Unusable(String),
}

/// A description of the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryProblem {
    /// For people.
    pub text: String,
    /// True if the job hears of no new epoch because of it, or only the controller of no job
    /// record.
    pub concerns_epochs: bool,
}

/// The shared directory of this process.
#[derive(Debug)]
pub struct SharedDirectory {
    path: PathBuf,
    helper: Option<UnixStream>,
    /// Why the helper could not be started, once that is known.
    failed: Arc<OnceLock<String>>,
    incoming: IncomingOctets,
    asked: Option<Instant>,
    opened: Instant,
    /// When the helper reported that it runs.
    began: Option<Instant>,
    /// Grows with each piece of news.
    version: u64,
    news: Option<EpochNews>,
    sent: u64,
    written: u64,
    stalled: bool,
    /// It was notified that nothing comes.
    silence_told: bool,
    complaints: Vec<DirectoryProblem>,
}

/// The one of this process, opened by the first call. It touches no file itself, and returns before
/// the helper runs.
pub fn of_this_process(path: &Path, helper: &Path) -> Arc<Mutex<SharedDirectory>> {
    static OPENED: OnceLock<Arc<Mutex<SharedDirectory>>> = OnceLock::new();
    Arc::clone(OPENED.get_or_init(|| Arc::new(Mutex::new(SharedDirectory::open(path, helper)))))
}

/// Locks it.
pub fn lock(directory: &Mutex<SharedDirectory>) -> MutexGuard<'_, SharedDirectory> {
    directory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedDirectory {
    fn open(path: &Path, helper: &Path) -> SharedDirectory {
        let mut directory = SharedDirectory {
            path: path.to_owned(),
            helper: None,
            failed: Arc::default(),
            incoming: IncomingOctets::default(),
            asked: None,
            opened: Instant::now(),
            began: None,
            version: 0,
            news: None,
            sent: 0,
            written: 0,
            stalled: false,
            silence_told: false,
            complaints: Vec::new(),
        };
        match start(path, helper, Arc::clone(&directory.failed)) {
            Ok(stream) => directory.helper = Some(stream),
            Err(e) => directory.lost(&format!("{}: {e}", helper.display())),
        }
        directory
    }

    /// The news since version `seen`, with their version. The helper goes on looking.
    pub fn look(&mut self, seen: u64) -> Option<(u64, EpochNews)> {
        self.hear();
        let is_late = match self.began {
            Some(began) => began.elapsed() >= STALLED,
            None => self.opened.elapsed() >= STARTS,
        };
        if self.news.is_none() && is_late {
            self.tell_silence();
        }
        if self.asked.is_none_or(|at| at.elapsed() >= ASK) {
            self.asked = Some(Instant::now());
            self.ask(&HelperRequest::Look);
        }
        self.news
            .clone()
            .filter(|_| self.version != seen)
            .map(|news| (self.version, news))
    }

    /// Waits until there is any news, at most so long: for ranks that look for the first time.
    pub fn wait_for_news(&mut self, at_most: Duration) {
        self.wait(at_most, |directory| directory.news.is_some());
    }

    /// The same for ranks that have nothing to follow without: so long from when the helper runs. That nothing came
    /// is a complaint.
    pub fn insist_on_news(&mut self, at_most: Duration) {
        let came = Instant::now();
        self.wait(at_most + STARTS, |directory| {
            let reads = directory.began.map(|at| at.max(came).elapsed());
            directory.news.is_some()
                || reads.map_or(directory.opened.elapsed() >= STARTS, |reads| {
                    reads >= at_most
                })
        });
        if self.news.is_none() {
            self.tell_silence();
        }
    }

    /// Has a job record written.
    pub fn write(&mut self, name: &str, json: Vec<u8>) {
        self.hear();
        if self.ask(&HelperRequest::Record {
            name: name.to_owned(),
            json,
        }) {
            self.sent += 1;
        }
    }

    /// Waits until all records are written, at most so long, and not at all for a directory that is
    /// known to be stalled.
    pub fn flush(&mut self, at_most: Duration) {
        self.wait(at_most, |directory| {
            directory.written >= directory.sent || directory.stalled
        });
    }

    /// The problems so far, each of them once.
    pub fn complaints(&mut self) -> Vec<DirectoryProblem> {
        std::mem::take(&mut self.complaints)
    }

    fn wait(&mut self, at_most: Duration, enough: impl Fn(&SharedDirectory) -> bool) {
        let began = Instant::now();
        self.look(0);
        while !enough(self) && self.helper.is_some() && began.elapsed() < at_most {
            thread::sleep(PAUSE);
            self.look(0);
        }
    }

    fn ask(&mut self, request: &HelperRequest) -> bool {
        let Some(helper) = &self.helper else {
            return false;
        };
        match framing::send(helper, request) {
            Ok(()) => true,
            Err(e) => {
                self.lost(&e.to_string());
                false
            }
        }
    }

    /// Takes what has come. Of a message that has begun the rest is on its way.
    fn hear(&mut self) {
        let began = Instant::now();
        let mut octets = [0; 16 << 10];
        while let Some(helper) = &self.helper {
            match recv(helper.as_raw_fd(), &mut octets, MsgFlags::MSG_DONTWAIT) {
                Ok(0) => self.lost("it ended"),
                Ok(count) => {
                    self.incoming.add(&octets[..count]);
                    self.take_in();
                }
                Err(Errno::EAGAIN) if !self.incoming.is_partial() => return,
                Err(Errno::EAGAIN | Errno::EINTR) if began.elapsed() < PATIENCE => {
                    thread::sleep(PAUSE)
                }
                Err(e) => self.lost(&e.to_string()),
            }
        }
    }

    fn take_in(&mut self) {
        loop {
            match self.incoming.next() {
                Ok(Some(report)) => self.take_report(report),
                Ok(None) => return,
                Err(e) => return self.lost(&e.to_string()),
            }
        }
    }

    fn take_report(&mut self, report: HelperReport) {
        match report {
            HelperReport::Epoch(lean) => self.is_news(EpochNews::Epoch(lean.into())),
            HelperReport::Unusable(problem) => self.is_news(EpochNews::Unusable(problem)),
            HelperReport::Written { records, problem } => {
                self.written = records;
                problem.into_iter().for_each(|text| self.murmur(text));
            }
            HelperReport::Unlearned(problem) => self.murmur(problem),
            HelperReport::Stalled => {
                self.stalled = true;
                let is_told = std::mem::take(&mut self.silence_told) && self.began.is_some();
                if !is_told {
                    self.complain_of_no_answer(STALLED);
                }
            }
            HelperReport::GoesOn => self.stalled = false,
            HelperReport::Begins => self.began = Some(Instant::now()),
        }
    }

    /// A complaint for those who ask only.
    fn murmur(&mut self, text: String) {
        self.complaints.push(DirectoryProblem {
            text,
            concerns_epochs: false,
        });
    }

    /// Nothing has come since the directory was opened.
    fn tell_silence(&mut self) {
        if self.silence_told || self.stalled {
            return;
        }
        self.silence_told = true;
        match self.began {
            Some(began) => self.complain_of_no_answer(began.elapsed()),
            None => self.complain(format!(
                "{}: the process that reads it for this job does not run after {} s: are all processors of the first \
                 rank's host taken? The MPI library's own routines run until it has read an epoch",
                self.path.display(),
                self.opened.elapsed().as_secs()
            )),
        }
    }

    fn complain_of_no_answer(&mut self, after: Duration) {
        self.complain(format!(
            "{}: the shared directory does not answer for {} s; the job goes on without it, and hears of no new epoch \
             until it does",
            self.path.display(),
            after.as_secs()
        ));
    }

    fn complain(&mut self, text: String) {
        self.complaints.push(DirectoryProblem {
            text,
            concerns_epochs: true,
        });
    }

    fn is_news(&mut self, news: EpochNews) {
        self.version += 1;
        self.news = Some(news);
    }

    /// There is no helper any more: what is followed stays.
    fn lost(&mut self, how: &str) {
        self.helper = None;
        // A helper that could not start ends its socket, too: why it could not says more than the end.
        let how = self.failed.get().map_or(how, String::as_str);
        let problem = format!(
            "{}: the process that reads it for this job is lost ({how})",
            self.path.display()
        );
        if self.news.is_none() {
            self.is_news(EpochNews::Unusable(problem));
        } else {
            self.complain(format!(
                "{problem}; the epoch stays, and the controller hears no more of this job"
            ));
        }
    }
}

/// Starts the helper; gives the socket to it. Another thread waits for it to run: the program may
/// lie on a file system that is slow.
pub(super) fn start(
    path: &Path,
    helper: &Path,
    failed: Arc<OnceLock<String>>,
) -> io::Result<UnixStream> {
    let (ours, its) = UnixStream::pair()?;
    // A program that has closed its standard streams must not find this in their place.
    let ours = UnixStream::from(above_standard_streams(ours)?);
    ours.set_write_timeout(Some(PATIENCE))?;
    // Relative to where the rank is now; its helper goes elsewhere.
    let mut orphan = OrphanProcess::new(
        helper.as_os_str(),
        [
            std::path::absolute(path)?.as_os_str(),
            presence::BUILD.as_ref(),
        ],
        its,
    )?;
    let name = helper.display().to_string();
    signals::with_signals_blocked(|| {
        thread::Builder::new()
            .name("heddle-start".into())
            .spawn(move || {
                // Before the socket is closed: then the end is noticed.
                if let Err(e) = orphan.start() {
                    _ = failed.set(format!("{name}: {e}"));
                }
                drop(orphan);
            })
    })?;
    Ok(ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    /// The complaints about a directory whose helper is this script, which has reported that it reads or has not.
    fn complaints_with(script: &str, reads: bool) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let helper = folder.path().join("helper");
        fs::write(&helper, script).unwrap();
        fs::set_permissions(&helper, Permissions::from_mode(0o755)).unwrap();
        let mut directory = SharedDirectory::open(folder.path(), &helper);
        if reads {
            directory.take_report(HelperReport::Begins);
        } else {
            directory.opened = directory.opened.checked_sub(STARTS).unwrap();
        }
        directory.insist_on_news(Duration::from_millis(50));
        directory.look(0);
        directory.take_report(HelperReport::Stalled);
        let complaints = directory.complaints();
        complaints.into_iter().map(|problem| problem.text).collect()
    }

    #[test]
    fn silence_is_told_once_and_by_its_cause() {
        let silent = "#!/bin/sh\nexec /bin/cat >/dev/null\n";
        let complaints = complaints_with(silent, true);
        assert!(
            complaints.len() == 1 && complaints[0].contains("does not answer"),
            "{complaints:?}"
        );
        let complaints = complaints_with(silent, false);
        assert!(
            complaints.len() == 2
                && complaints[0].contains("does not run")
                && complaints[1].contains("does not answer"),
            "{complaints:?}"
        );
    }
}
