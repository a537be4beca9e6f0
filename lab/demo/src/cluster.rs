//! The demo's parts: the lab, the controller on its head node, a job across its hosts.
use anyhow::{Context, bail, ensure};
use api::Snapshot;
use inventory::{Mpi, TopologyFile};
use lab::mpi::MpiJob;
use lab::plan::CONTROL;
use lab::{Lab, LabOptions};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Finds the benchmark program that is built for an MPI library.
pub type BenchProgram = fn(Mpi) -> anyhow::Result<PathBuf>;

/// The routines that serve a job's collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobRoutines {
    /// The MPI library's own routines. heddle's library counts calls and does nothing else, so that
    /// the interface shows this job, too.
    OfTheLibrary,
    /// Those that heddle takes by itself. Nothing is forced.
    AsInstalled,
}

/// A lab with its controller and its job. Dropping it takes all of it down.
pub(crate) struct DemoCluster {
    pub(crate) file: TopologyFile,
    pub(crate) lab: Lab,
    program: PathBuf,
    mpi: Mpi,
    bench: BenchProgram,
    logs: PathBuf,
    daemon: Option<Child>,
    job: Option<Child>,
    is_up: bool,
}

impl DemoCluster {
    /// Brings the lab up.
    pub(crate) fn up(
        name: &str,
        file: TopologyFile,
        mpi: Mpi,
        bench: BenchProgram,
    ) -> anyhow::Result<DemoCluster> {
        let program = std::env::current_exe().context("the path of this program")?;
        let lab = Lab::up(name, &file, LabOptions::default(), &program)?;
        let logs = lab.dir();
        Ok(DemoCluster {
            file,
            lab,
            program,
            mpi,
            bench,
            logs,
            daemon: None,
            job: None,
            is_up: true,
        })
    }

    /// Starts the controller on the head node.
    pub(crate) fn start_controller(&mut self) -> anyhow::Result<()> {
        let log = File::create(self.logs.join("controller.log"))?;
        let mut command = self.lab.exec(CONTROL, [&self.program]);
        command
            .arg("controller")
            .arg("--inventory")
            .arg(self.lab.inventory_path())
            .arg("--dir")
            .arg(self.lab.shared_dir());
        self.daemon = Some(
            command
                .stdin(Stdio::null())
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()?,
        );
        Ok(())
    }

    /// Starts the benchmark on all hosts, with every byte checked, until [`DemoCluster::end_job`]
    /// or for at most `limit`. Its lines arrive on the channel.
    pub(crate) fn start_job(
        &mut self,
        routines: JobRoutines,
        limit: Duration,
    ) -> anyhow::Result<mpsc::Receiver<String>> {
        let bench = (self.bench)(self.mpi)?;
        let job = MpiJob {
            timeout: Some(limit + Duration::from_secs(60)),
            ..MpiJob::new(self.mpi)
        };
        let mut command = self.lab.mpirun(&job, [bench]);
        command.args([
            "--watch",
            "--check",
            "--collective",
            "both",
            "--size",
            "65536",
            "--seconds",
            &limit.as_secs().to_string(),
        ]);
        File::create(self.job_wanted())?;
        command.arg("--while").arg(self.job_wanted());
        if routines == JobRoutines::OfTheLibrary {
            command.env("HEDDLE_FORCE", "native");
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(self.logs.join("job.log"))?)
            .spawn()?;
        let (send, lines) = mpsc::channel();
        let out = child.stdout.take().context("the job's output")?;
        // This reads to the end even if nobody listens any more: a full or closed pipe would stop
        // the job.
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        self.job = Some(child);
        Ok(lines)
    }

    /// The job runs while this file exists; its hosts see the lab's directory.
    fn job_wanted(&self) -> PathBuf {
        self.logs.join("job-wanted")
    }

    /// Ends the job, waits for it, and checks its exit status.
    pub(crate) fn end_job(&mut self, limit: Duration) -> anyhow::Result<()> {
        let mut job = self.job.take().context("no job was started")?;
        std::fs::remove_file(self.job_wanted())?;
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(status) = job.try_wait()? {
                ensure!(
                    status.success(),
                    "the job ended with {status}: {}",
                    self.tail("job.log")
                );
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = job.kill(); // Its time is over; `down` ends its other processes.
        bail!(
            "the job did not end within {limit:?}: {}",
            self.tail("job.log")
        )
    }

    /// Polls the controller's API until `found` gives a result. The error names `what`.
    pub(crate) fn wait<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut found: impl FnMut(&Snapshot) -> Option<T>,
    ) -> anyhow::Result<T> {
        let start = Instant::now();
        let mut last = None;
        while start.elapsed() < limit {
            self.all_run()?;
            // This fails until the controller listens, which is an error only after the limit.
            if let Ok(snapshot) = self.snapshot() {
                if let Some(t) = found(&snapshot) {
                    return Ok(t);
                }
                last = Some(snapshot);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let alarms = last
            .map(|s| {
                s.alarms
                    .iter()
                    .map(|a| format!("\n  {}: {}", a.subject, a.text))
                    .collect::<String>()
            })
            .unwrap_or_default();
        bail!(
            "waited {limit:?} for {what} in vain{alarms}\n{}",
            self.tail("controller.log")
        )
    }

    fn all_run(&mut self) -> anyhow::Result<()> {
        if let Some(status) = ended(&mut self.daemon)? {
            bail!(
                "the controller ended with {status}: {}",
                self.tail("controller.log")
            );
        }
        if let Some(status) = ended(&mut self.job)? {
            bail!(
                "the job ended early with {status}: {}",
                self.tail("job.log")
            );
        }
        Ok(())
    }

    /// The controller's present state, asked for on the head node's loopback interface.
    fn snapshot(&self) -> anyhow::Result<Snapshot> {
        Ok(self.lab.within_network(CONTROL, || {
            let mut answer = ureq::get("http://127.0.0.1:7171/v1/snapshot")
                .call()
                .map_err(io::Error::other)?;
            answer.body_mut().read_json().map_err(io::Error::other)
        })?)
    }

    /// The terminal interface, on this terminal until it is quit.
    pub(crate) fn watch(&self) -> anyhow::Result<()> {
        let status = Command::new(&self.program)
            .args(["tui", "--lab", self.lab.name()])
            .status()?;
        ensure!(
            status.success(),
            "the terminal interface ended with {status}"
        );
        Ok(())
    }

    fn tail(&self, log: &str) -> String {
        let text = std::fs::read_to_string(self.logs.join(log)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    /// Takes everything down.
    pub(crate) fn down(&mut self) -> anyhow::Result<()> {
        self.is_up = false;
        for mut child in self.job.take().into_iter().chain(self.daemon.take()) {
            let _ = child.kill(); // This fails if it has ended already.
            let _ = child.wait();
        }
        Lab::down(self.lab.name())?;
        Ok(())
    }
}

fn ended(child: &mut Option<Child>) -> std::io::Result<Option<std::process::ExitStatus>> {
    child
        .as_mut()
        .map(Child::try_wait)
        .transpose()
        .map(Option::flatten)
}

impl Drop for DemoCluster {
    fn drop(&mut self) {
        if self.is_up {
            let _ = self.down(); // Another error comes first, and is the one to report.
        }
    }
}
