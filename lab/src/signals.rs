//! A command that builds a lab takes it down when it is stopped: by Ctrl-C, by SIGTERM, or because its
//! terminal is closed.
use crate::error::{KernelErrorContext, LabResult};
use nix::sys::signal::{SigSet, Signal};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use tokio::signal::unix::{SignalKind, signal};

/// From now on these signals take a lab down, complete or not. The exit status is then that of
/// `heddle lab down`. `command` is the subcommand that is stopped.
pub fn down_on_signal(name: &str, command: &'static str) -> LabResult<()> {
    let refused = || "signals".to_owned();
    let program = std::env::current_exe().during(refused)?;
    let mut down = Command::new(&program);
    down.args(["lab", "down", "--name", name]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .during(refused)?;
    let [mut interrupt, mut terminate, mut hangup] = {
        let _within = runtime.enter();
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        [
            interrupt.during(refused)?,
            terminate.during(refused)?,
            hangup.during(refused)?,
        ]
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        let _ = writeln!(
            io::stderr(),
            "heddle {command}: stopped; taking the cluster down"
        );
        // A terminal that is closed sends the signal twice: by its shell, and by the kernel.
        let _ = SigSet::from(Signal::SIGHUP).thread_block();
        // This process may hold the lab in the middle of a change. Becoming `heddle lab down` ends its
        // other threads and frees it.
        let error = down.exec();
        let _ = writeln!(
            io::stderr(),
            "heddle {command}: {}: {error}; take the lab down with: heddle lab down",
            program.display()
        );
        std::process::exit(130);
    });
    Ok(())
}
