//! The binary. Each subcommand has a file with its flags and its wiring, and no logic.
// Futures of the agent, nested in those of a subcommand, are deeper than the compiler follows by itself.
#![recursion_limit = "256"]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#[macro_use]
mod output;

mod agent;
mod bench;
mod cert;
mod check;
mod completions;
mod connection;
mod controller;
mod demo;
mod discover;
mod doctor;
mod flags;
mod history;
mod init;
mod input_file;
mod lab;
mod log;
mod manual;
mod map;
mod map_order;
mod predict;
mod publish;
mod schedule;
mod status;
mod trace;
mod tui;
mod tune;
mod verify;
mod version;
mod what_if;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::{ExitCode, exit};
use std::thread::sleep;
use std::time::Duration;

/// Topologies are many small texts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps the all-to-all and allgather calls of MPI jobs free of collisions on switched Ethernet,
/// also while cables move.
#[derive(Parser)]
#[command(
    name = "heddle",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 success, 1 a check failed, 2 wrong usage, 64 bad input or \
                  configuration."
)]
struct Cli {
    #[command(subcommand)]
    command: HeddleCommand,
}

/// The commands. Each is described at its `Args`, which its help shows in full.
#[derive(Subcommand)]
enum HeddleCommand {
    Init(init::Args),
    Schedule(schedule::Args),
    Verify(verify::Args),
    Discover(discover::Args),
    Check(check::Args),
    Predict(predict::Args),
    WhatIf(what_if::Args),
    Map(map::Args),
    Publish(publish::Args),
    History(history::Args),
    Controller(controller::Args),
    Cert(cert::Args),
    Agent(agent::Args),
    Status(status::Args),
    Tui(tui::Args),
    Lab(lab::Args),
    Bench(bench::Args),
    Tune(tune::Args),
    Trace(trace::Args),
    Demo(demo::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

/// The end of a command without an error. Errors are bad input: exit status 64.
enum CommandOutcome {
    Done,
    /// A check that the command was asked for failed: exit status 1.
    CheckFailed,
    /// The exit status is that of a plugin of Nagios.
    Monitored(api::status::ServiceState),
}

impl CommandOutcome {
    fn check(passed: bool) -> CommandOutcome {
        if passed {
            CommandOutcome::Done
        } else {
            CommandOutcome::CheckFailed
        }
    }
}

fn tell_misspelt_variables() {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for misspelt in inventory::environment::misspelt(names) {
        tell!("heddle: {misspelt}");
    }
}

fn main() -> ExitCode {
    let versioned = Cli::command()
        .version(version::SHORT)
        .long_version(version::long());
    let matches = manual::described(versioned).try_get_matches();
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.unwrap_or_else(|e| exit_with_usage(&e));
    if is_first_rank() {
        tell_misspelt_variables();
    }
    let result = match cli.command {
        HeddleCommand::Init(args) => init::run(&args),
        HeddleCommand::Schedule(args) => schedule::run(&args),
        HeddleCommand::Verify(args) => verify::run(&args),
        HeddleCommand::Discover(args) => discover::run(&args),
        HeddleCommand::Check(args) => check::run(&args),
        HeddleCommand::Predict(args) => predict::run(&args),
        HeddleCommand::WhatIf(args) => what_if::run(&args),
        HeddleCommand::Map(args) => map::run(&args),
        HeddleCommand::Publish(args) => publish::run(&args),
        HeddleCommand::History(args) => history::run(&args),
        HeddleCommand::Controller(args) => controller::run(&args),
        HeddleCommand::Cert(args) => cert::run(&args),
        HeddleCommand::Agent(args) => agent::run(&args),
        HeddleCommand::Status(args) => status::run(&args),
        HeddleCommand::Tui(args) => tui::run(&args),
        HeddleCommand::Lab(args) => lab::run(&args),
        HeddleCommand::Bench(args) => bench::run(&args),
        HeddleCommand::Tune(args) => tune::run(&args),
        HeddleCommand::Trace(args) => trace::run(&args),
        HeddleCommand::Demo(args) => demo::run(&args),
        HeddleCommand::Doctor(args) => doctor::run(&args),
        HeddleCommand::Completions(args) => {
            completions::run(&args, manual::described(Cli::command()))
        }
    };
    match result {
        Ok(CommandOutcome::Done) => ExitCode::SUCCESS,
        Ok(CommandOutcome::CheckFailed) => ExitCode::from(1),
        Ok(CommandOutcome::Monitored(state)) => ExitCode::from(state.exit_status()),
        Err(error) => {
            tell!(
                "{}heddle: {}",
                log::error_prefix(),
                inventory::sanitize::message(&format!("{error:#}"))
            );
            ExitCode::from(64)
        }
    }
}

/// A launcher ends the whole job with its first rank that fails: the first one speaks before.
const SPEAKS_BEFORE: Duration = Duration::from_secs(1);

/// True for the first rank if an MPI launcher started this process, and outside of a job. The first rank
/// speaks for all.
fn is_first_rank() -> bool {
    let ranks = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].map(std::env::var_os);
    ranks.into_iter().flatten().all(|rank| rank == "0")
}

/// Ends the process because of how it was called; the first rank says why.
fn exit_with_usage(error: &clap::Error) -> ! {
    if !is_first_rank() {
        sleep(SPEAKS_BEFORE);
        exit(error.exit_code());
    }
    error.exit()
}
