//! Packets that each host drops at random as they arrive from the data network.
use super::{LibraryNetwork, Percent};
use crate::error::{LabError, LabResult};
use crate::state::LabState;
use crate::{netns, requirements};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The nft processes of all hosts. The kernel removes each one's table when the process ends.
pub(super) struct LossRules(Vec<Child>);

impl Drop for LossRules {
    fn drop(&mut self) {
        for process in &mut self.0 {
            // It has ended already, or ends now.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Checks that nft is there.
///
/// # Errors
/// [`LabError::Missing`] with the command that installs it.
pub(super) fn check() -> LabResult<()> {
    match requirements::find("nft") {
        Some(_) => Ok(()),
        None => Err(LabError::Missing(
            "mpirun: --loss: nft is not installed; run: apt-get install nftables".into(),
        )),
    }
}

/// Lets every host of the lab drop this share of the packets from the data network.
pub(super) fn start(state: &LabState, share: Percent) -> LabResult<LossRules> {
    // Each job has a table of its own, so that two jobs do not share one's rule.
    let table = format!("heddle_loss_{}", std::process::id());
    let rule = rule(&table, share);
    let mut rules = LossRules(Vec::new());
    for host in state.plan.hosts() {
        let namespace = netns::path(&state.name, &host.name);
        rules
            .0
            .push(netns::within(&namespace, || own_table(&rule))?);
    }
    for host in state.plan.hosts() {
        let namespace = netns::path(&state.name, &host.name);
        await_table(&namespace, &host.name, &table)?;
    }
    Ok(rules)
}

/// The owner of a table is the process that made it.
fn rule(table: &str, share: Percent) -> String {
    format!(
        "add table ip {table} {{ flags owner; chain arriving {{ type filter hook input priority 0; \
         iifname \"{}\" numgen random mod {} < {} counter drop; }}; }}\n",
        LibraryNetwork::Data.interface(),
        Percent::ALL,
        share.thousandths()
    )
}

/// An nft that makes the table and then waits for more commands, so that the table stays.
fn own_table(rule: &str) -> io::Result<Child> {
    let mut nft = Command::new("nft")
        .arg("-i")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    if let Some(commands) = &mut nft.stdin {
        commands.write_all(rule.as_bytes())?;
    }
    Ok(nft)
}

/// nft does not say when it has carried out a command.
fn await_table(namespace: &Path, host: &str, table: &str) -> LabResult<()> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let end = Instant::now() + PATIENCE;
    loop {
        let listed = netns::within(namespace, || {
            Command::new("nft")
                .args(["list", "table", "ip", table])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
        });
        if listed.is_ok_and(|status| status.success()) {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(LabError::NotReady(format!(
                "mpirun: --loss: host \"{host}\": nft made no rule in {} s; the kernel needs nf_tables \
                 with nft_numgen",
                PATIENCE.as_secs()
            )));
        }
        thread::sleep(Duration::from_millis(10));
    }
}
