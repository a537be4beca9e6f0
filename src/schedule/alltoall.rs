//! `heddle schedule alltoall`
use super::{MOST_RANKS, ScheduleArgs, ScheduleFormat, drawn, size, tree_of};
use crate::CommandOutcome;
use crate::flags::{NameList, one_of, whole};
use crate::output::print;
use anyhow::{Context, bail};
use clap::builder::TypedValueParser;
use inventory::{TopologyFile, Tree, counted};
use schedules::alltoall::{
    AlltoallAlgorithm, AlltoallSchedule, MINIMAL_HOSTS, plan_as, plan_reduced,
};
use schedules::bound::PhaseBound;
use schedules::lg::{self, ClusterPartition, LG, LgSchedule};
use schedules::synchronization::dummy::dummies;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::synchronization::{SyncKind, SyncReduction};
use schedules::{json, program};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: ScheduleArgs,
    /// The planning algorithm
    #[arg(long, value_enum, default_value_t = AlltoallChoice::Auto)]
    algorithm: AlltoallChoice,
    /// The mechanism that keeps messages of different phases apart: tokens from the sender or the
    /// receiver of the earlier message, barriers, or barriers with tokens between them; none for no
    /// mechanism, and dummy for filler messages of idle hosts [default: receiver]
    #[arg(long, value_parser = mechanism())]
    sync: Option<SyncMechanism>,
    /// Keep blocks of N phases apart instead of single phases; with barrier+sender and
    /// barrier+receiver, put barriers between blocks
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u32::MAX.into()))]
    block: Option<u32>,
    /// Leave out every token that other tokens imply
    #[arg(long)]
    minimal: bool,
    /// Reorder the phases so that they need fewer tokens; for at most 128 ranks
    #[arg(long)]
    reorder: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum AlltoallChoice {
    /// capacity if faster links shorten the schedule, aapc otherwise; where the other messages fit
    /// in, one host after the other sends over the most loaded link
    Auto,
    /// Each link carries one message at a time; there are as many phases as the most loaded link
    /// has messages
    Aapc,
    /// Faster links carry several messages at a time
    Capacity,
    /// Few large messages between clusters: those that the topology file declares, or the parts
    /// between links that are slower than every host's
    Lg,
}

/// Reads the name of a mechanism.
fn mechanism() -> impl TypedValueParser<Value = SyncMechanism> {
    one_of(SyncMechanism::ALL, |mechanism| mechanism.name().into())
}

pub(super) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let topology = args.common.topology.read()?;
    let scheme = SyncScheme::new(args.sync.unwrap_or(SyncMechanism::Receiver), args.block)?;
    let tree = tree_of(
        &args.common.topology.path,
        &topology,
        &NameList::all(&args.common.hosts),
        MOST_RANKS,
    )?;
    let algorithm = match args.algorithm {
        AlltoallChoice::Auto => None,
        AlltoallChoice::Aapc => Some(AlltoallAlgorithm::Aapc),
        AlltoallChoice::Capacity => Some(AlltoallAlgorithm::Capacity),
        AlltoallChoice::Lg => return lg(args, &tree, &topology),
    };
    let reduction = if args.minimal {
        SyncReduction::Minimal
    } else {
        SyncReduction::Chain
    };
    let in_order = match algorithm {
        Some(algorithm) => plan_as(&tree, algorithm, scheme, reduction),
        None => plan_reduced(&tree, scheme, reduction),
    };
    let plan = if args.reorder {
        in_order.reordered(&tree, reduction)
    } else {
        in_order
    };
    print(&match args.common.format {
        ScheduleFormat::Json => json::write_readable_alltoall(&plan).with_context(|| {
            let file = args.common.topology.path.display();
            format!(
                "{file}: heddle verify could not read this schedule, so it is not printed; \
                     --sync dummy needs no tokens"
            )
        })?,
        ScheduleFormat::Svg => drawn::alltoall(&tree, &heading(&tree, &topology), &plan),
        ScheduleFormat::C => program::alltoall(&tree, &plan),
        ScheduleFormat::Text => summary(&tree, &topology, &plan, reduction),
    })
}

fn lg(args: &Args, tree: &Tree, topology: &TopologyFile) -> anyhow::Result<CommandOutcome> {
    if args.sync.is_some() || args.block.is_some() || args.minimal || args.reorder {
        let what = "--sync, --block, --minimal and --reorder concern phases; lg has steps, each \
                    of which ends before the next begins";
        clap::Command::new("heddle schedule alltoall")
            .error(clap::error::ErrorKind::ArgumentConflict, what)
            .exit();
    }
    let file = args.common.topology.path.display();
    let clusters =
        ClusterPartition::stated_or_found(tree, topology).with_context(|| file.to_string())?;
    let plan = lg::plan(tree, &clusters, None);
    print(&match args.common.format {
        ScheduleFormat::Json => json::write_lg(&plan),
        ScheduleFormat::Svg => drawn::lg(tree, &heading(tree, topology), &plan),
        ScheduleFormat::C => {
            bail!("{file}: lg has no C form; use --format json, or another algorithm")
        }
        ScheduleFormat::Text => lg_summary(tree, topology, &plan),
    })
}

fn lg_summary(tree: &Tree, topology: &TopologyFile, plan: &LgSchedule) -> String {
    let clusters: Vec<String> = plan
        .clusters
        .iter()
        .map(|c| format!("{} ({})", c.name, c.hosts.len()))
        .collect();
    let PhaseBound {
        edge: (from, to),
        load,
        ..
    } = &plan.bound;
    let backbone = match load {
        0 => "nothing goes between clusters".to_owned(),
        load => format!(
            "{from} -> {to} carries {} in {}",
            counted(*load, "block"),
            messages(plan.messages as usize)
        ),
    };
    let transfers = plan.steps.iter().map(Vec::len).sum();
    let lines = [
        heading(tree, topology),
        format!("algorithm     {LG}"),
        format!("clusters      {}", clusters.join(", ")),
        format!("bound         {backbone}"),
        format!(
            "schedule      {}, {}",
            counted(plan.steps.len(), "step"),
            messages(transfers)
        ),
    ];
    lines.join("\n") + "\n"
}

/// `all-to-all among 12 hosts on 4 switches`.
fn heading(tree: &Tree, topology: &TopologyFile) -> String {
    format!("all-to-all among {}", size(tree, topology))
}

fn summary(
    tree: &Tree,
    topology: &TopologyFile,
    plan: &AlltoallSchedule,
    own: SyncReduction,
) -> String {
    let PhaseBound {
        edge: (from, to),
        load,
        capacity,
        ..
    } = &plan.bound;
    let at_once = if *capacity > 1 {
        format!(", {capacity} at once")
    } else {
        String::new()
    };
    let reason = if *load == 0 {
        "nothing to send".to_owned()
    } else {
        format!(
            "{from} -> {to} carries {}{at_once}",
            messages(*load as usize)
        )
    };
    let mut lines = vec![
        heading(tree, topology),
        format!("algorithm     {}", plan.algorithm),
        format!("bound         {}: {reason}", phases(plan.bound.phases)),
        format!(
            "schedule      {}, {}{}",
            phases(plan.phases.len() as u64),
            messages(plan.messages()),
            pace(tree, plan)
        ),
        format!("sync          {}: {}", plan.scheme, sync(tree, plan, own)),
    ];
    if plan.algorithm == AlltoallAlgorithm::Aapc
        && AlltoallAlgorithm::faster_for(tree) == AlltoallAlgorithm::Capacity
    {
        lines.push(
            "note          links differ in speed, and aapc uses each like the slowest; \
                    capacity would take less time"
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

/// The rate of each message, if links carry several at a time.
fn pace(tree: &Tree, plan: &AlltoallSchedule) -> String {
    let capacities = plan.algorithm.capacities(tree);
    if capacities.are_unit() {
        String::new()
    } else {
        format!(" of {} each", capacities.rate())
    }
}

/// The tokens that a reduction leaves, of which the plan has its `own` already.
fn tokens_reduced(
    tree: &Tree,
    plan: &AlltoallSchedule,
    own: SyncReduction,
    reduction: SyncReduction,
) -> usize {
    if reduction == own {
        return plan.syncs.len();
    }
    let capacities = plan.algorithm.capacities(tree);
    let syncs = plan
        .scheme
        .syncs(tree, &capacities, &plan.phases, reduction);
    syncs.len()
}

/// The tokens, barriers and filler messages of the scheme, of which the plan has its `own` reduction.
fn sync(tree: &Tree, plan: &AlltoallSchedule, own: SyncReduction) -> String {
    let scheme = plan.scheme;
    let barriers = (0..plan.phases.len())
        .filter(|&phase| scheme.barrier_before(phase))
        .count();
    let mut parts = Vec::new();
    if barriers > 0 {
        parts.push(counted(barriers, "barrier"));
    }
    if scheme.tokens() != SyncKind::None {
        let tokens = counted(plan.syncs.len(), "token");
        let chain = tokens_reduced(tree, plan, own, SyncReduction::Chain);
        // The minimal set of more hosts takes longer than their plan.
        let minimal = (own == SyncReduction::Minimal || tree.hosts() <= MINIMAL_HOSTS).then(|| {
            let minimal = tokens_reduced(tree, plan, own, SyncReduction::Minimal);
            format!(", {minimal} minimal")
        });
        parts.push(format!(
            "{tokens} in this plan; {chain} chained{}",
            minimal.unwrap_or_default()
        ));
    }
    if scheme.mechanism() == SyncMechanism::Dummy {
        parts.push(counted(dummies(tree, &plan.phases).len(), "filler message"));
    }
    if !scheme.keeps_all_apart() {
        let what = if scheme.block() > 1 {
            "phases of a block"
        } else {
            "phases"
        };
        parts.push(format!("{what} may run into each other"));
    }
    parts.join(", ")
}

fn phases(number: u64) -> String {
    counted(number, "phase")
}

fn messages(number: usize) -> String {
    counted(number, "message")
}
