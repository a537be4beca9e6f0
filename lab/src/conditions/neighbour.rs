//! A neighbour: the job's program without heddle on other hosts. A run that ends well is followed
//! by another.
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::exec;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

/// The running binary, also inside a node.
pub(super) const OWN_PROGRAM: &str = "/proc/self/exe";

/// Starts the neighbour on these hosts. A run that fails is sent to `end`.
pub(super) fn start(hosts: &[String], arguments: &[OsString], end: &Sender<LabResult<()>>) {
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
