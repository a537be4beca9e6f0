//! `heddle schedule allgather`
use super::{MOST_RANKS, ScheduleArgs, ScheduleFormat, drawn, size, tree_of};
use crate::CommandOutcome;
use crate::flags::NameList;
use crate::output::print;
use anyhow::Context;
use inventory::{Bytes, Tree, counted};
use schedules::allgather::{self, AllgatherAlgorithm, RingShare, rings};
use schedules::{bound, json, program};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: ScheduleArgs,
    /// The planning algorithm
    #[arg(long, value_enum, default_value_t = AllgatherChoice::Auto)]
    algorithm: AllgatherChoice,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum AllgatherChoice {
    /// lr3, or where that takes too long lr2 or lr1
    Auto,
    /// Switches in depth-first order: always possible, planned at once
    Lr1,
    /// Neighbours at most two switches apart, if the hosts suffice
    Lr2,
    /// The ring whose longest path between neighbours is the shortest possible
    Lr3,
}

pub(super) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let topology = args.common.topology.read()?;
    let tree = tree_of(
        &args.common.topology.path,
        &topology,
        &NameList::all(&args.common.hosts),
        MOST_RANKS,
    )?;
    let plan = match args.algorithm {
        AllgatherChoice::Auto => Ok(allgather::plan(&tree)),
        AllgatherChoice::Lr1 => allgather::plan_as(&tree, AllgatherAlgorithm::Lr1),
        AllgatherChoice::Lr2 => allgather::plan_as(&tree, AllgatherAlgorithm::Lr2),
        AllgatherChoice::Lr3 => allgather::plan_as(&tree, AllgatherAlgorithm::Lr3),
    };
    let plan = plan.with_context(|| args.common.topology.path.display().to_string())?;
    let is_one_rank_each = tree
        .host_names()
        .iter()
        .all(|name| topology.hosts.contains_key(name));
    let ring: Vec<&str> = plan.ring.iter().map(|&h| tree.name(h)).collect();
    print(&match args.common.format {
        ScheduleFormat::Json => json::write_allgather(&plan),
        ScheduleFormat::Svg => {
            let title = format!("allgather among {}", size(&tree, &topology));
            drawn::allgather(&tree, &title, &plan)
        }
        ScheduleFormat::C => program::allgather(&plan),
        ScheduleFormat::Text => format!(
            "allgather among {}\nalgorithm     {}\nring          {}\nlongest path  {} between \
             neighbours\ncontention    none: no link carries two messages in one \
             direction\nbound         {}\n",
            size(&tree, &topology),
            plan.algorithm,
            ring.join(" "),
            counted(plan.longest_path, "switch"),
            share(&tree, is_one_rank_each),
        ),
    })
}

/// The ring's speed as a share of the speed that the most loaded link allows.
fn share(tree: &Tree, is_one_rank_each: bool) -> String {
    let Some(RingShare { edge, share }) = allgather::ring_share(tree) else {
        return "nothing to send".to_owned();
    };
    let (from, to) = edge;
    let ring = 100.0 * share;
    let text = format!("{from} -> {to}; the ring reaches {ring:.0} % of it");
    // The runtime plans them for a rank a host.
    let plan = Some(tree)
        .filter(|_| is_one_rank_each)
        .and_then(rings::plan);
    let Some(plan) = plan else { return text };
    const BLOCK: Bytes = Bytes(1 << 20);
    let several = 100.0 * bound::allgather_bound_seconds(tree, BLOCK) / plan.seconds(BLOCK);
    let rings = plan.rings.len();
    format!("{text}, {rings} rings over tcp (the way rings) {several:.0} %")
}
