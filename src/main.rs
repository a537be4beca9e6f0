//! The one binary. Each subcommand is a file of its own: flags and wiring, no logic.
mod agent;
mod bench;
mod check;
mod completions;
mod controller;
mod demo;
mod discover;
mod doctor;
mod flags;
mod history;
mod lab;
mod log;
mod output;
mod predict;
mod publish;
mod schedule;
mod tui;
mod tune;
mod verify;
mod what_if;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Keeps MPI jobs on collision-free all-to-all and allgather schedules for the switch tree as it is
/// now.
#[derive(Parser)]
#[command(
    name = "heddle",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 done, 1 a check failed, 2 usage, 64 bad input or configuration."
)]
struct Cli {
    #[command(subcommand)]
    command: HeddleCommand,
}

#[derive(Subcommand)]
enum HeddleCommand {
    /// Plan a collective for a topology file and print the schedule
    Schedule(schedule::Args),
    /// Check a schedule against a topology file; name the first violation
    Verify(verify::Args),
    /// Take one look at the network and print what is there
    Discover(discover::Args),
    /// Compare the cabling with a plan; name every difference, and exit with status 1 where there
    /// is one
    Check(check::Args),
    /// Predict how long each algorithm takes on a topology file
    Predict(predict::Args),
    /// Say what recabling would gain, before anybody touches a cable
    WhatIf(what_if::Args),
    /// Publish one epoch from a topology file, without a daemon
    Publish(publish::Args),
    /// List published epochs and what changed between them
    History(history::Args),
    /// Run the daemon: watch the network, plan, publish
    Controller(controller::Args),
    /// Run the host agent on a compute node: report cards, neighbours and distances to the
    /// controller
    Agent(agent::Args),
    /// Show topology, load, jobs and epochs in the terminal
    Tui(tui::Args),
    /// Emulate a switched-Ethernet cluster on this machine
    Lab(lab::Args),
    /// Measure collectives across the lab's hosts, with and without the runtime
    Bench(bench::Args),
    /// Measure on the real hosts which way is fastest at which size, for the next epoch
    Tune(tune::Args),
    /// Bring up a cluster, run a job on it, move a cable, and show that all follows
    Demo(demo::Args),
    /// Check what this machine lacks to run heddle
    Doctor(doctor::Args),
    /// Print shell completions or man pages
    Completions(completions::Args),
}

/// A command ended as it should, or a check it was asked for failed. Errors are bad input: exit
/// status 64.
enum CommandOutcome {
    Done,
    CheckFailed,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        HeddleCommand::Schedule(args) => schedule::run(&args),
        HeddleCommand::Verify(args) => verify::run(&args),
        HeddleCommand::Discover(args) => discover::run(&args),
        HeddleCommand::Check(args) => check::run(&args),
        HeddleCommand::Predict(args) => predict::run(&args),
        HeddleCommand::WhatIf(args) => what_if::run(&args),
        HeddleCommand::Publish(args) => publish::run(&args),
        HeddleCommand::History(args) => history::run(&args),
        HeddleCommand::Controller(args) => controller::run(&args),
        HeddleCommand::Agent(args) => agent::run(&args),
        HeddleCommand::Tui(args) => tui::run(&args),
        HeddleCommand::Lab(args) => lab::run(&args),
        HeddleCommand::Bench(args) => bench::run(&args),
        HeddleCommand::Tune(args) => tune::run(&args),
        HeddleCommand::Demo(args) => demo::run(&args),
        HeddleCommand::Doctor(args) => doctor::run(&args),
        HeddleCommand::Completions(args) => completions::run(&args, &mut Cli::command()),
    };
    match result {
        Ok(CommandOutcome::Done) => ExitCode::SUCCESS,
        Ok(CommandOutcome::CheckFailed) => ExitCode::from(1),
        Err(error) => {
            eprintln!(
                "heddle: {}",
                inventory::sanitize::message(&format!("{error:#}"))
            );
            ExitCode::from(64)
        }
    }
}
