//! Jobs of the lab that call checked collectives until they are told to end.
use super::troubles::Cluster;
use super::{HANGS, Kind, job};
use lab::mpi::{Job, Mpi};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Milliseconds between a job's rounds of four calls: several jobs share few cores.
const REST: &str = "20";

/// A job under way.
pub(crate) struct Running {
    pub(crate) name: String,
    child: Mutex<Child>,
    /// It ends when this file is gone.
    alive: PathBuf,
    calls: Arc<AtomicU64>,
    said: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

/// A job that has ended well.
pub(crate) struct Ended {
    /// What it counted.
    pub(crate) line: String,
    pub(crate) said: String,
    /// Epochs its largest communicator followed, one after the other.
    pub(crate) followed: usize,
}

impl Running {
    /// On all hosts, each of which sees the shared directory in its own way.
    pub(crate) fn start(cluster: &Cluster, (mpi, ways): Kind) -> Running {
        let name = format!("{mpi} {ways}");
        let program = job::compiled("steady.c", mpi, &[]);
        let alive = cluster.up.path(&format!("{name} lives"));
        let library = if mpi == "openmpi" { Mpi::OpenMpi } else { Mpi::Mpich };
        let limit = 12 * 3600;
        let job = Job { timeout: Some(Duration::from_secs(limit)), ..Job::new(library) };
        let mut command = cluster.up.lab.mpirun(&job, [cluster.in_view()]);
        command.arg(&program).arg(limit.to_string()).arg(&alive).arg(REST);
        command.env("HEDDLE_FORCE", ways).env("HEDDLE_VERBOSE", "1").env("HEDDLE_WATCHDOG", "2").env_remove("HEDDLE");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (calls, said) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(String::new())));
        let streams: [Box<dyn Read + Send>; 2] = [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        let readers = streams.map(|stream| {
            let (calls, said) = (Arc::clone(&calls), Arc::clone(&said));
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    match line.strip_prefix("steady: ").and_then(|counted| counted.split_once(" calls so far, 0 wrong")) {
                        Some((counted, _)) => calls.store(counted.parse().unwrap(), Ordering::Relaxed),
                        None => *said.lock().unwrap() += &(line + "\n"),
                    }
                }
            })
        });
        Running { name, child: Mutex::new(child), alive, calls, said, readers: readers.into() }
    }

    /// Calls so far, told once a second.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_some()
    }

    /// What it said beside its counts.
    pub(crate) fn said(&self) -> String {
        format!("--- {}, {} calls\n{}", self.name, self.calls(), self.said.lock().unwrap())
    }

    /// Tells it to end, and insists that it does, and well.
    pub(crate) fn end(mut self) -> Ended {
        fs::remove_file(&self.alive).unwrap();
        let began = Instant::now();
        while !self.has_ended() {
            assert!(began.elapsed() < HANGS, "{} does not end: {}", self.name, self.said());
            std::thread::sleep(Duration::from_millis(50));
        }
        let status = self.child.lock().unwrap().wait().unwrap();
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
        let said = self.said.lock().unwrap().clone();
        assert!(status.success(), "{}: {status}: {said}", self.name);
        let counted = said.lines().find_map(|line| line.strip_prefix("steady: ")).unwrap_or_else(|| panic!("no count: {said}"));
        let followed = said.lines().filter(|line| line.contains("heddle: follows epoch ") && line.contains(", 4 ranks on 4 hosts")).count();
        Ended { line: format!("{}: {counted}", self.name), followed, said }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}
