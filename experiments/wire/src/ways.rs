//! The way of a call by its name, and what each rank carries out.
use crate::library::LibraryPattern;
use crate::ranked_hosts::RankedHosts;
use crate::reductions::ReductionPattern;
use anyhow::{Context, bail, ensure};
use inventory::Bytes;
use inventory::tree::Tree;
use policy::decision_table::{Collective, DataCarrier, DecisionTable, Way};
use schedules::alltoall::AlltoallSchedule;
use schedules::relay::{self, RankRelay, RelayCollective};
use schedules::synchronization::scheme::SyncScheme;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::window::OctetWindow;
use schedules::{allgather, alltoall, verify};
use std::fmt;
use std::time::Duration;

/// MPICH sends blocks up to this size so many at a time, longer ones pairwise.
const SCATTERED: Bytes = Bytes(32 << 10);
const AT_ONCE: u32 = 32;
/// And combines elements up to this size by doubling, more by halving.
const DOUBLED: Bytes = Bytes(2 << 10);

/// The end of the name of a way that does not choose links.
const BY_HASH: &str = "by hash";

/// A way of heddle's, or a library's pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SimulatedWay {
    Own(Way),
    /// Planned as if links side by side were one, over which a hash spreads flows.
    ByHash(Way),
    Library(LibraryPattern),
    Reduction(ReductionPattern),
    /// A reduction along the ring of hosts.
    Relayed,
    /// One message for each pair of hosts, all at once: the part of that way which crosses cables.
    Bundled,
    /// The same in turns, over the core.
    BundledPhases,
}

impl fmt::Display for SimulatedWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulatedWay::Own(way) => way.fmt(f),
            SimulatedWay::ByHash(way) => f.pad(&format!("{way} {BY_HASH}")),
            SimulatedWay::Library(pattern) => pattern.fmt(f),
            SimulatedWay::Reduction(pattern) => pattern.fmt(f),
            SimulatedWay::Relayed => Way::Relay.fmt(f),
            SimulatedWay::Bundled => Way::Bundled.fmt(f),
            SimulatedWay::BundledPhases => Way::BundledPhases.fmt(f),
        }
    }
}

impl SimulatedWay {
    /// The way of this name; `default` is that of heddle's own choice.
    pub(crate) fn named(
        name: &str,
        ranks: &RankedHosts,
        collective: Collective,
        size: Bytes,
    ) -> anyhow::Result<SimulatedWay> {
        if let Some(own) = name.strip_suffix(BY_HASH) {
            let merged = RankedHosts::new(ranks.hosts.clone().by_hash())?;
            let way = SimulatedWay::named(own.trim_end(), &merged, collective, size)?;
            return Ok(match way {
                SimulatedWay::Own(way) => SimulatedWay::ByHash(way),
                other => other,
            });
        }
        if collective == Collective::Allreduce {
            if let Ok(pattern) = name.parse() {
                return Ok(SimulatedWay::Reduction(pattern));
            }
        } else if let Ok(pattern) = name.parse() {
            return Ok(SimulatedWay::Library(pattern));
        }
        let way = if name == "credit" {
            Way::Aapc {
                sync: alltoall::lane_credit(&ranks.leaves).scheme(size),
                over: DataCarrier::Tcp,
            }
        } else if name == "default" {
            let RankedHosts { hosts, host_of, .. } = ranks;
            let table = DecisionTable::unmeasured(hosts, host_of, Duration::ZERO, None);
            table.choose(collective, size)
        } else {
            name.parse::<Way>()
                .with_context(|| format!("way \"{name}\""))?
        };
        Ok(match way {
            Way::Native if collective == Collective::Allreduce => {
                SimulatedWay::Reduction(if size <= DOUBLED {
                    ReductionPattern::Doubling
                } else {
                    ReductionPattern::Halving
                })
            }
            Way::Native if size <= SCATTERED && collective == Collective::Alltoall => {
                SimulatedWay::Library(LibraryPattern::Throttled(AT_ONCE))
            }
            Way::Native => SimulatedWay::Library(LibraryPattern::Pairwise),
            Way::Relay if collective == Collective::Allreduce => SimulatedWay::Relayed,
            Way::Bundled => SimulatedWay::Bundled,
            Way::BundledPhases => SimulatedWay::BundledPhases,
            own => SimulatedWay::Own(own),
        })
    }
}

/// The parts of all ranks, and the plan of an all-to-all.
#[derive(Debug, Default)]
pub(crate) struct WireParts {
    pub(crate) parts: Vec<RankPart>,
    pub(crate) alltoall: Option<AlltoallSchedule>,
}

/// The parts of all ranks, verified.
pub(crate) fn planned(tree: &Tree, way: Way, collective: Collective) -> anyhow::Result<WireParts> {
    ensure!(
        way.serves(collective),
        "way \"{way}\" does not serve {collective}; see heddle schedule"
    );
    let (mut lead, mut alltoall) = (None, None);
    let (schedule, window) = match way {
        Way::Aapc { sync, .. } => {
            let plan = alltoall::plan(tree, sync);
            verify::alltoall(tree, &plan).context("the schedule is not sound")?;
            let schedule = TransferSchedule::on_tree(tree, &plan)
                .ok()
                .context("a token without its message")?;
            ensure!(
                schedule.meetings().is_empty(),
                "way \"{way}\": the core knows no barriers; take tokens"
            );
            lead = plan.lead(tree);
            alltoall = Some(plan);
            (schedule, window(tree, sync)?)
        }
        Way::Ring { .. } => {
            let plan = allgather::plan(tree);
            verify::allgather(tree, &plan).context("the schedule is not sound")?;
            (TransferSchedule::from(&plan), None)
        }
        Way::Rings => {
            let plan = allgather::rings::plan(tree).context("no trunk here is slow: way ring")?;
            verify::rings(tree, &plan).context("the schedule is not sound")?;
            (plan.schedule, None)
        }
        Way::Native | Way::Lg | Way::Bundled | Way::BundledPhases | Way::Relay => {
            bail!("way \"{way}\" does not go over the core; take aapc, ring or rings tcp")
        }
    };
    Ok(WireParts {
        parts: (0..tree.hosts())
            .map(|rank| RankPart {
                window,
                lead,
                ..part::of(&schedule, rank)
            })
            .collect(),
        alltoall,
    })
}

/// The shares of all ranks in an allreduce along heddle's ring, verified; each host has one rank.
pub(crate) fn relayed(tree: &Tree) -> anyhow::Result<Vec<RankRelay>> {
    let ring = allgather::plan(tree).ring;
    let shares: Vec<RankRelay> = (0..ring.len())
        .map(|position| relay::share(&ring, position, RelayCollective::Allreduce))
        .collect();
    verify::relay(&ring, RelayCollective::Allreduce, &shares).context("the ring is not sound")?;
    let mut by_rank: Vec<(u32, RankRelay)> = ring.into_iter().zip(shares).collect();
    by_rank.sort_unstable_by_key(|(rank, _)| *rank);
    Ok(by_rank.into_iter().map(|(_, share)| share).collect())
}

/// The octets that a rank may have under way.
fn window(tree: &Tree, sync: SyncScheme) -> anyhow::Result<Option<Bytes>> {
    if sync != SyncScheme::WINDOW {
        return Ok(None);
    }
    let host_of: Vec<u32> = (0..tree.hosts()).collect();
    let window = OctetWindow::of(tree, &host_of);
    verify::window(tree, &host_of, window).context("the window is not sound")?;
    Ok(Some(window.octets))
}
