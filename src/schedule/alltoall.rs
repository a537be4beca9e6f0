//! `heddle schedule alltoall`
use super::{Common, Format, count, print, size, tree};
use crate::Outcome;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use inventory::Tree;
use schedules::alltoall::{Alltoall, plan_reduced};
use schedules::bound::Bound;
use schedules::json;
use schedules::sync::{Reduction, SyncKind, syncs};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// How to plan; auto takes aapc, which counts every link as equally fast
    #[arg(long, value_enum, default_value_t = Algorithm::Auto)]
    algorithm: Algorithm,
    /// What keeps messages of different phases apart
    #[arg(long, default_value_t = SyncKind::Receiver,
        value_parser = PossibleValuesParser::new(["none", "sender", "receiver", "barrier"]).try_map(|name| name.parse::<SyncKind>()))]
    sync: SyncKind,
    /// Leave out every token that others imply
    #[arg(long)]
    minimal: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Algorithm {
    Auto,
    Aapc,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (Algorithm::Auto | Algorithm::Aapc) = args.algorithm;
    let tree = tree(&args.common)?;
    let plan = plan_reduced(&tree, args.sync, if args.minimal { Reduction::Minimal } else { Reduction::Chain });
    print(&match args.common.format {
        Format::Json => json::write_alltoall(&plan),
        Format::Summary => summary(&tree, &plan, args.sync),
    })
}

fn summary(tree: &Tree, plan: &Alltoall, sync: SyncKind) -> String {
    let Bound { edge: (from, to), load, .. } = &plan.bound;
    let reason = if *load == 0 { "nothing to send".to_owned() } else { format!("{from} -> {to} carries {}", messages(*load as usize)) };
    let mut lines = vec![
        format!("all-to-all among {}", size(tree)),
        format!("algorithm     {}", plan.algorithm),
        format!("bound         {}: {reason}", phases(plan.bound.phases)),
        format!("schedule      {}, {}", phases(plan.phases.len() as u64), messages(plan.messages())),
        format!("sync          {sync}{}", tokens(tree, plan, sync)),
    ];
    let rates: Vec<_> = (0..tree.nodes()).filter(|&v| tree.parent(v).is_some()).map(|v| tree.rate(v)).collect();
    if let (Some(slowest), Some(fastest)) = (rates.iter().min(), rates.iter().max())
        && slowest < fastest
    {
        lines.push(format!("note          links differ in rate ({slowest} to {fastest}); aapc uses each like the slowest"));
    }
    lines.join("\n") + "\n"
}

fn tokens(tree: &Tree, plan: &Alltoall, sync: SyncKind) -> String {
    match sync {
        SyncKind::None => ": phases may run into each other".to_owned(),
        SyncKind::Barrier => format!(": {} between phases", count(plan.phases.len().saturating_sub(1), "barrier", "barriers")),
        SyncKind::Sender | SyncKind::Receiver => {
            let number = |reduction| syncs(tree, &plan.algorithm.capacities(tree), &plan.phases, sync, reduction).len();
            let (chain, minimal) = (number(Reduction::Chain), number(Reduction::Minimal));
            format!(": {} in this plan; {chain} chained, {minimal} minimal", count(plan.syncs.len(), "token", "tokens"))
        }
    }
}

fn phases(number: u64) -> String {
    count(number as usize, "phase", "phases")
}

fn messages(number: usize) -> String {
    count(number, "message", "messages")
}
