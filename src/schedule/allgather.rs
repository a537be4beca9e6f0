//! `heddle schedule allgather`
use super::{Common, Format, count, print, size, tree};
use crate::Outcome;
use anyhow::Context;
use schedules::allgather::{self, Algorithm};
use schedules::json;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// How to plan
    #[arg(long, value_enum, default_value_t = Choice::Auto)]
    algorithm: Choice,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Choice {
    /// The shortest longest way between neighbours that can be found
    Auto,
    /// Switches in depth-first order: always, at once
    Lr1,
    /// Neighbours at most two switches apart, where the hosts suffice
    Lr2,
    /// The shortest longest way between neighbours
    Lr3,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let tree = tree(&args.common)?;
    let by = |algorithm| allgather::plan_as(&tree, algorithm).with_context(|| args.common.topology.display().to_string());
    let plan = match args.algorithm {
        Choice::Auto => allgather::plan(&tree),
        Choice::Lr1 => by(Algorithm::Lr1)?,
        Choice::Lr2 => by(Algorithm::Lr2)?,
        Choice::Lr3 => by(Algorithm::Lr3)?,
    };
    let ring: Vec<&str> = plan.ring.iter().map(|&h| tree.name(h)).collect();
    print(&match args.common.format {
        Format::Json => json::write_allgather(&plan),
        Format::Summary => format!(
            "allgather among {}\nalgorithm     {}\nring          {}\nlongest path  {} between neighbours\ncontention    none: no link carries two messages in one direction\n",
            size(&tree),
            plan.algorithm,
            ring.join(" "),
            count(plan.longest_path as usize, "switch", "switches"),
        ),
    })
}
