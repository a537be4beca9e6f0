//! Schedules as programs: a C file with an MPI_Alltoall or MPI_Allgather for one topology. It needs
//! MPI, but nothing of heddle.
//!
//! Source: aapc-2007 section 6 (automatic routine generator) and Table 5 (its schemes). Input: a
//! plan. Guarantee: communicators whose ranks are the plan's hosts, found by processor name, have
//! the phases, messages and tokens of the plan; all others use the MPI library's own routine.
//! Foreign names cannot leave their string or comment. Cost: O(messages + tokens) time and text.
//! Deviations:
//! - The paper's routines are unrolled, with one branch per machine. Here each host has a table of
//!   steps, 6 bytes each in the running program, and one routine carries them out.
//! - The paper does not state the size of a dummy. Here it has the size of a block, so that an idle
//!   host takes as long as a busy one. A host ends each phase, receiving included, before the next.
//!   In all other schemes only the sends follow the order of phases; receives are posted ahead.
mod c_text;
mod steps;
#[cfg(test)]
mod tests;

use crate::allgather::AllgatherSchedule;
use crate::alltoall::AlltoallSchedule;
use crate::bound::PhaseBound;
use crate::synchronization::dummy::dummies;
use crate::synchronization::scheme::SyncMechanism;
use c_text::{comment, literal};
use inventory::{Tree, counted};
use std::fmt::Write;
use steps::ProgramStep;

const STEP: &str = include_str!("step.c");
const PLACE: &str = include_str!("place.c");
const ALLTOALL: &str = include_str!("alltoall.c");
const ALLGATHER: &str = include_str!("allgather.c");

/// A C file with MPI_Alltoall by `plan`, which was planned on `tree`.
///
/// On a star of 300 hosts the text has 35 bytes per message and 20 per token; the running program
/// has 23 and 12.
pub fn alltoall(tree: &Tree, plan: &AlltoallSchedule) -> String {
    let scheme = plan.scheme;
    let fillers = if scheme.mechanism() == SyncMechanism::Dummy {
        dummies(tree, &plan.phases)
    } else {
        Vec::new()
    };
    let steps = steps::by_host(plan, &fillers);
    let barriers = (0..plan.phases.len())
        .filter(|&phase| scheme.barrier_before(phase))
        .count();
    let PhaseBound {
        phases,
        edge: (from, to),
        load,
        capacity,
    } = &plan.bound;
    let facts = [
        ("Algorithm", plan.algorithm.to_string()),
        (
            "Schedule",
            format!(
                "{}, {}",
                counted(plan.phases.len(), "phase"),
                counted(plan.messages(), "message")
            ),
        ),
        (
            "Bound",
            format!(
                "{}: {} -> {} carries {}, {capacity} at once",
                counted(*phases, "phase"),
                comment(from),
                comment(to),
                counted(*load, "message")
            ),
        ),
        (
            "Sync",
            format!(
                "{scheme}: {}, {}, {}",
                counted(plan.syncs.len(), "token"),
                counted(barriers, "barrier"),
                counted(fillers.len(), "filler")
            ),
        ),
    ];
    let mut text = head("Alltoall", &plan.hosts, &facts);
    write_hosts(&mut text, &plan.hosts);
    write_steps(&mut text, &plan.hosts, &steps, !fillers.is_empty());
    text + "\n" + PLACE + "\n" + ALLTOALL
}

/// A C file with MPI_Allgather by `plan`.
pub fn allgather(plan: &AllgatherSchedule) -> String {
    let facts = [
        ("Algorithm", plan.algorithm.to_string()),
        (
            "Ring",
            format!(
                "{} between neighbours at most",
                counted(plan.longest_path, "switch")
            ),
        ),
        (
            "Contention",
            if plan.contention_free {
                "none: no link carries two messages in one direction"
            } else {
                "possible"
            }
            .to_owned(),
        ),
    ];
    let mut text = head("Allgather", &plan.hosts, &facts);
    write_hosts(&mut text, &plan.hosts);
    let ring: Vec<String> = if plan.ring.is_empty() {
        vec!["0".to_owned()]
    } else {
        plan.ring.iter().map(u32::to_string).collect()
    };
    text.push_str(
        "\n/* Each sends to the next, the last to the first. */\nstatic const int \
                   ring[HOSTS] = {\n",
    );
    for row in ring.chunks(20) {
        put(&mut text, format_args!("    {},\n", row.join(", ")));
    }
    text + "};\n\n" + PLACE + "\n" + ALLGATHER
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}

fn head(collective: &str, hosts: &[String], facts: &[(&str, String)]) -> String {
    let mut text = format!(
        "/* MPI_{collective} for one cluster, by heddle {}. When its cables move, have it written \
         again.\n\n",
        env!("CARGO_PKG_VERSION")
    );
    let ends = match hosts {
        [] => "none".to_owned(),
        [only] => format!("1: {}", comment(only)),
        [first, .., last] => format!("{}: {} to {}", hosts.len(), comment(first), comment(last)),
    };
    for (name, fact) in [("Hosts", ends)].iter().chain(facts) {
        put(&mut text, format_args!("   {name:<12}{fact}\n"));
    }
    let own = collective.to_ascii_lowercase();
    put(
        &mut text,
        format_args!(
            "
   mpicc -c FILE                      defines heddle_{own}, called as MPI_{collective} is
   mpicc -c -DHEDDLE_REPLACE FILE     defines MPI_{collective} itself

   It serves communicators with one rank on each of the hosts and no other rank, in any order. It
   finds the host of a rank by MPI_Get_processor_name; the name may lack its domain. The first call
   on a communicator checks this. On all other communicators, and where there is nothing to move,
   it calls PMPI_{collective}. Errors are those of the MPI library. */
#include <limits.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

"
        ),
    );
    text
}

/// Hosts with several ranks are `name:0`, `name:1`, … in the plan ([`inventory::ranks`]); the table
/// has such a host's name once for each rank.
fn write_hosts(text: &mut String, hosts: &[String]) {
    put(
        text,
        format_args!(
            "#define HOSTS {}\n/* One that runs several ranks is listed for each. */\nstatic \
             const char *const hosts[HOSTS] = {{\n",
            hosts.len().max(1)
        ),
    );
    if hosts.is_empty() {
        text.push_str("    \"\",\n");
    }
    for name in hosts {
        let machine = name
            .split_once(':')
            .map_or(name.as_str(), |(machine, _)| machine);
        put(text, format_args!("    {},\n", literal(machine)));
    }
    text.push_str("};\n");
}

fn write_steps(text: &mut String, hosts: &[String], steps: &[Vec<ProgramStep>], fillers: bool) {
    let number = if hosts.len() <= 1 << 16 {
        "unsigned short"
    } else {
        "unsigned int"
    };
    put(text, format_args!("typedef {number} Number;\n\n{STEP}"));
    for (host, steps) in steps.iter().enumerate() {
        put(
            text,
            format_args!(
                "static const Step steps_{host}[] = {{ /* {} */",
                comment(&hosts[host])
            ),
        );
        steps.iter().for_each(|step| write_step(text, step));
        text.push_str("\n    {END, 0, 0}};\n");
    }
    if steps.is_empty() {
        text.push_str("static const Step steps_0[] = {{END, 0, 0}};\n");
    }
    text.push_str("static const Step *const steps[HOSTS] = {");
    for host in 0..steps.len().max(1) {
        let gap = if host % 10 == 0 { "\n    " } else { " " };
        put(text, format_args!("{gap}steps_{host},"));
    }
    let (together, given) = (
        steps.iter().map(|s| together(s)).max(),
        steps.iter().map(|s| given(s)).max(),
    );
    put(
        text,
        format_args!(
            "\n}};\n/* At most: tokens awaited, or blocks sent, at a time; tokens given in a \
             call. */\nenum {{ TOGETHER = {}, GIVEN = {}, FILLERS = {} }};\n",
            together.unwrap_or(0).max(1),
            given.unwrap_or(0).max(1),
            u8::from(fillers)
        ),
    );
}

fn write_step(text: &mut String, step: &ProgramStep) {
    match step {
        ProgramStep::Phase(phase) => put(text, format_args!("\n    P({phase})")),
        ProgramStep::Await { from, number } => put(text, format_args!(" W({from},{number})")),
        ProgramStep::Send(to) => put(text, format_args!(" S({to})")),
        ProgramStep::Fill(to) => put(text, format_args!(" F({to})")),
        ProgramStep::Receive(from) => put(text, format_args!(" R({from})")),
        ProgramStep::Drain(from) => put(text, format_args!(" D({from})")),
        ProgramStep::Give { to, number } => put(text, format_args!(" G({to},{number})")),
        ProgramStep::Barrier { times, received } => {
            put(text, format_args!("\n    B({times},{received})"))
        }
    }
}

/// The largest number of tokens, or of blocks, in one phase.
fn together(steps: &[ProgramStep]) -> usize {
    let (mut most, mut tokens, mut blocks) = (0, 0, 0);
    for step in steps {
        match step {
            ProgramStep::Phase(_) => (tokens, blocks) = (0, 0),
            ProgramStep::Await { .. } => tokens += 1,
            ProgramStep::Send(_) | ProgramStep::Fill(_) => blocks += 1,
            _ => {}
        }
        most = most.max(tokens).max(blocks);
    }
    most
}

fn given(steps: &[ProgramStep]) -> usize {
    steps
        .iter()
        .filter(|step| matches!(step, ProgramStep::Give { .. }))
        .count()
}
