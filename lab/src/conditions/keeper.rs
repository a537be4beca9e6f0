//! The process that makes a job's conditions. It says when they are there, keeps them up until its
//! standard input ends, and ends them. Since the other end of that pipe is in the process that runs
//! the job, the conditions end with the job, whatever ends it.
use super::{JobConditions, TrafficBeside, ends, flows, loss};
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::exec;
use crate::name::LabName;
use crate::state::LabState;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;

const READY: &str = "ready";

/// A running keeper. Dropping it ends the conditions.
pub(crate) struct ConditionsKeeper {
    process: Child,
}

impl ConditionsKeeper {
    /// Starts the process, and returns when the conditions are there. `neighbour` are the arguments
    /// of `heddle lab mpirun` for a neighbour, without its hosts. `None` if there is nothing to
    /// keep up.
    pub(crate) fn start(
        lab: &LabName,
        conditions: &JobConditions,
        neighbour: Vec<OsString>,
    ) -> LabResult<Option<ConditionsKeeper>> {
        let flags = conditions.kept_flags();
        if flags.is_empty() {
            return Ok(None);
        }
        let process = Command::new(OWN_PROGRAM)
            .args(["lab", "conditions", "--name", lab.as_str()])
            .args(flags)
            .arg("--")
            .args(neighbour)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .during(|| "mpirun: starting the job's conditions".into())?;
        let mut keeper = ConditionsKeeper { process };
        let mut line = String::new();
        if let Some(output) = keeper.process.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .during(|| "mpirun: waiting for the job's conditions".into())?;
        }
        if line.trim() == READY {
            return Ok(Some(keeper));
        }
        Err(LabError::NotReady(
            "mpirun: the job's conditions could not be made, so the job did not start".into(),
        ))
    }

    /// Ends the conditions.
    ///
    /// # Errors
    /// [`LabError::NotReady`] if one of them had ended before.
    pub(crate) fn end(mut self) -> LabResult<()> {
        if self.end_process().is_ok_and(|status| status.success()) {
            return Ok(());
        }
        Err(LabError::NotReady(
            "mpirun: a condition ended before the job, which ran without it at last".into(),
        ))
    }

    fn end_process(&mut self) -> io::Result<ExitStatus> {
        drop(self.process.stdin.take());
        self.process.wait()
    }
}

impl Drop for ConditionsKeeper {
    fn drop(&mut self) {
        // Its status is that of `end`, if anybody asks.
        let _ = self.end_process();
    }
}

/// Makes the conditions, prints a line, and keeps them up until standard input ends. `neighbour` is
/// as for [`crate::mpi::run`]: the arguments of `heddle lab mpirun`, without hosts.
///
/// # Errors
/// [`LabError`] if a condition cannot be made, or ends by itself.
pub fn keep(lab: &str, conditions: &JobConditions, neighbour: &[OsString]) -> LabResult<()> {
    let state = LabState::load(&LabName::new(lab)?)?;
    conditions.check(&state.plan)?;
    let (end, ended) = mpsc::channel();
    for kind in &conditions.beside {
        start_beside(&state, kind, neighbour, &end)?;
    }
    let _rules = match conditions.loss {
        Some(share) => Some(loss::start(&state, share)?),
        None => None,
    };
    writeln!(io::stdout(), "{READY}").during(|| "conditions: standard output".into())?;
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        end.send(Ok(()))
    });
    // The thread holds a sender as long as there is a channel.
    ended.recv().unwrap_or(Ok(()))
}

/// Starts one kind of traffic. Its end, which is an error, is sent to `end`.
fn start_beside(
    state: &LabState,
    kind: &TrafficBeside,
    neighbour: &[OsString],
    end: &Sender<LabResult<()>>,
) -> LabResult<()> {
    match kind {
        TrafficBeside::Flows { number, way } => {
            let (from, to) = ends(&state.plan, kind, way)?;
            (0..*number).try_for_each(|_| flows::start_flow(state, from, to, end))
        }
        TrafficBeside::Udp { share, way } => {
            let (from, to) = ends(&state.plan, kind, way)?;
            flows::start_datagrams(state, from, to, *share, end)
        }
        TrafficBeside::Mpi { hosts } => {
            start_neighbour(hosts, neighbour, end);
            Ok(())
        }
    }
}

/// The running binary, also inside a node.
pub(super) const OWN_PROGRAM: &str = "/proc/self/exe";

/// Starts the job's program without heddle on these hosts, again after each run that ends well. A run that fails is sent to `end`.
pub(super) fn start_neighbour(
    hosts: &[String],
    arguments: &[OsString],
    end: &Sender<LabResult<()>>,
) {
    let mut command = Command::new(OWN_PROGRAM);
    command
        .args(["lab", "mpirun", "--hosts", &hosts.join(",")])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    // The kernel also ends it with the thread that starts it, which lives as long as this process.
    exec::end_with_parent(&mut command);
    let (hosts, end) = (hosts.join(","), end.clone());
    thread::spawn(move || end.send(Err(first_failure(&hosts, command))));
}

/// Runs the command again and again, until it fails.
fn first_failure(hosts: &str, mut command: Command) -> LabError {
    loop {
        match command.status().during(|| "mpirun: a neighbour".into()) {
            Ok(status) if status.success() => {}
            Ok(status) => {
                return LabError::NotReady(format!(
                    "mpirun: the neighbour on {hosts} ended with {status}"
                ));
            }
            Err(error) => return error,
        }
    }
}
