//! A process set's own schedule out of an epoch.
//!
//! Every rank plans for itself and comes to the same plan; [`FollowedEpoch::digest`] lets the ranks
//! make sure of it. They plan when a call first may go another way than the library's: a
//! [`UnplannedEpoch`] tells that from the decision table alone.
use crate::clusters;
use crate::process_set_view::{FollowError, ProcessSetView};
use crate::settings::ForcedWays;
use directory::epoch::LeanEpoch;
use inventory::Bytes;
use schedules::alltoall::AlltoallAlgorithm;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::verify;
use schedules::{allgather, alltoall, bundled, lg};
use selection::decision_table::{
    Collective, DataCarrier, DecisionGrounds, DecisionTable, Mpi, Way,
};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Messages of several blocks are copied, and MPI counts them by `int`: where they could have more
/// octets, the call goes another way.
const MOST_TOGETHER: u64 = 1 << 30;

/// Measured on 12 hosts with trunks three times as fast (docs/limits.md): over the libraries'
/// point-to-point these schedules take longer than the libraries' own routine.
const WIDE: &str = "; trunks are faster than host links: all-to-all stays the library's unless \
                    `heddle tune` finds better, or HEDDLE_FORCE=aapc";

/// An epoch before anything is planned.
#[derive(Debug)]
pub struct UnplannedEpoch {
    lean: LeanEpoch,
    table: DecisionTable,
    force: ForcedWays,
}

impl UnplannedEpoch {
    /// An epoch under `mpi`.
    pub fn new(lean: LeanEpoch, mpi: Mpi, force: ForcedWays) -> UnplannedEpoch {
        UnplannedEpoch {
            table: lean.table.clone().for_mpi(mpi),
            lean,
            force,
        }
    }

    /// Whether a call with blocks of this size may go another way than the library's.
    pub fn may_differ(&self, collective: Collective, block: u64) -> bool {
        let forced = self.force.ways(collective);
        let own = |way: Way| way != Way::Native;
        if forced.is_empty() {
            own(self.table.choose(collective, Bytes(block)))
        } else {
            forced.iter().copied().any(own)
        }
    }

    /// Whether a call of this collective may, at some size.
    pub fn takes_part(&self, collective: Collective) -> bool {
        takes_part(&self.table, &self.force, collective)
    }

    /// Why a call goes the library's way, in a few words.
    pub fn why(&self, collective: Collective, block: u64) -> String {
        let decided = self
            .table
            .entry(collective, Bytes(block))
            .filter(|_| self.force.ways(collective).is_empty());
        decided.map_or_else(|| "forced".to_owned(), |entry| entry.grounds.to_string())
    }

    /// Plans for the process set whose rank `r` runs on `hosts[r]`, and keeps what `rank` needs.
    ///
    /// # Errors
    /// [`FollowError`], the same on every rank.
    pub fn plan(&self, hosts: &[String], rank: u32) -> Result<FollowedEpoch, FollowError> {
        FollowedEpoch::plan(&self.lean, self.table.clone(), &self.force, hosts, rank)
    }
}

fn takes_part(table: &DecisionTable, force: &ForcedWays, collective: Collective) -> bool {
    let forced = force.ways(collective);
    let own = |way: Way| way != Way::Native && way.serves(collective);
    if forced.is_empty() {
        table.entries(collective).iter().any(|entry| own(entry.way))
    } else {
        forced.iter().copied().any(own)
    }
}

/// An epoch as one rank of a process set follows it.
#[derive(Debug)]
pub struct FollowedEpoch {
    /// The process set on the epoch's tree.
    pub view: ProcessSetView,
    /// What is followed, in one line.
    pub summary: String,
    table: DecisionTable,
    force: ForcedWays,
    /// By way, over MPI: this rank's part, in as many as the schedule's barriers divide it into.
    /// Only the ways that the table or the forced way can ask for; LG only where the ranks span
    /// clusters.
    parts: Vec<(Way, Vec<RankPart>)>,
    digest: u64,
}

impl FollowedEpoch {
    fn plan(
        lean: &LeanEpoch,
        mut table: DecisionTable,
        force: &ForcedWays,
        hosts: &[String],
        rank: u32,
    ) -> Result<FollowedEpoch, FollowError> {
        let view = ProcessSetView::of(lean, hosts)?;
        let ProcessSetView {
            epoch,
            hosts,
            leaves,
            host_of,
            ..
        } = &view;
        let epoch = *epoch;
        let wide = AlltoallAlgorithm::faster_for(leaves) == AlltoallAlgorithm::Capacity;
        if wide {
            // What was measured elsewhere was so where all links are alike.
            for entries in [&mut table.alltoall, &mut table.alltoallv] {
                entries.retain(|entry| {
                    entry.way == Way::Native || entry.grounds != DecisionGrounds::Elsewhere
                });
            }
        }
        let wrong = |violation| FollowError::Wrong {
            epoch,
            violation: Box::new(violation),
        };
        let ring = allgather::plan(leaves);
        verify::allgather(leaves, &ring).map_err(wrong)?;
        let mut digest = DefaultHasher::new();
        (epoch, &force, &ring.ring).hash(&mut digest);
        (
            &table.alltoall,
            &table.allgather,
            &table.alltoallv,
            &table.allgatherv,
        )
            .hash(&mut digest);
        let over = DataCarrier::Mpi;
        let mut parts = vec![(
            Way::Ring { over },
            vec![part::of(&TransferSchedule::from(&ring), rank)],
        )];
        let mut phases = 0;
        for sync in schemes(&table, force) {
            let plan = alltoall::plan(leaves, sync);
            verify::alltoall(leaves, &plan).map_err(wrong)?;
            (&plan.phases, &plan.syncs).hash(&mut digest);
            phases = plan.phases.len();
            let schedule = TransferSchedule::try_from(&plan);
            let schedule = schedule.unwrap_or_else(|wait| {
                unreachable!("the verifier has found every message: {wait:?}")
            });
            parts.push((
                Way::Aapc { sync, over },
                part::of(&schedule, rank).between(schedule.meetings()),
            ));
        }
        if ways(&table, force).any(|way| way == Way::Bundled) {
            let phases = alltoall::plan(hosts, SyncKind::None).phases;
            phases.hash(&mut digest);
            parts.push((Way::Bundled, vec![bundled::part(host_of, &phases, rank)]));
        }
        let mut summary = format!(
            "epoch {epoch}, {} ranks on {} hosts, {phases} phases",
            leaves.hosts(),
            hosts.hosts()
        );
        if ways(&table, force).any(|way| way == Way::Lg) {
            match clusters::of_ranks(&lean.topology, hosts, leaves, host_of) {
                Ok(clusters) => {
                    let plan = lg::plan(leaves, &clusters, None);
                    verify::lg(leaves, &plan).map_err(wrong)?;
                    summary += &format!(
                        "; lg among {} clusters, {} steps",
                        plan.clusters.len(),
                        plan.steps.len()
                    );
                    // Planned from what is in the digest already: the tree, whose ring it is, and
                    // the clusters.
                    plan.clusters
                        .iter()
                        .for_each(|cluster| cluster.hosts.hash(&mut digest));
                    parts.push((
                        Way::Lg,
                        vec![part::of(&TransferSchedule::from(&plan), rank)],
                    ));
                }
                Err(reason) => summary += &format!("; no lg: {reason}"),
            }
        }
        if wide && table.alltoall.iter().all(|entry| entry.way == Way::Native) {
            summary += WIDE;
        }
        let (force, digest) = (force.clone(), digest.finish() | 1);
        Ok(FollowedEpoch {
            view,
            summary,
            table,
            force,
            parts,
            digest,
        })
    }

    /// The same on all ranks that made the same plan; never 0.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The way of a call with blocks of this size, before which `calls` of its kind came one after
    /// the other.
    pub fn way(&self, collective: Collective, block: u64, calls: u64) -> Way {
        let forced = self
            .force
            .way(collective, Bytes(block), calls)
            .filter(|&way| self.can(way, block));
        forced.unwrap_or_else(|| {
            self.table
                .choose_where(collective, Bytes(block), |way| self.can(way, block))
        })
    }

    /// Whether this communicator can go a way with blocks of this size, connections or not.
    fn can(&self, way: Way, block: u64) -> bool {
        let together = |blocks: u64| block.saturating_mul(blocks) <= MOST_TOGETHER;
        match way {
            Way::Lg => {
                self.parts(way).iter().any(|part| part.phases > 0)
                    && together(self.view.host_of.len() as u64)
            }
            Way::Bundled => together(bundled::most_blocks(&self.view.host_of)),
            _ => true,
        }
    }

    /// Whether this collective may ask for connections: if forced to, and else where the topology
    /// says where every host is reached.
    pub fn may_connect(&self, collective: Collective) -> bool {
        !self.force.ways(collective).is_empty() || self.view.has_all_addresses()
    }

    /// The way in the place of one that needs connections which cannot be had.
    pub fn way_without_tcp(&self, collective: Collective, block: u64, way: Way) -> Way {
        let forced = !self.force.ways(collective).is_empty();
        let can = |way: Way| way.carrier() != Some(DataCarrier::Tcp) && self.can(way, block);
        if forced {
            way.with_carrier(DataCarrier::Mpi)
        } else {
            self.table.choose_where(collective, Bytes(block), can)
        }
    }

    /// Why a call that came to this way goes it, in a few words.
    pub fn why(&self, collective: Collective, block: u64, way: Way) -> String {
        let decided = self
            .table
            .entry(collective, Bytes(block))
            .filter(|_| self.force.ways(collective).is_empty());
        match decided {
            None => "forced".to_owned(),
            Some(entry) if self.way(collective, block, 0) == way => entry.grounds.to_string(),
            Some(entry) => format!("instead of {}, which cannot be gone", entry.way),
        }
    }

    /// Whether a call of this collective may go another way than the library's, at some size.
    pub fn takes_part(&self, collective: Collective) -> bool {
        takes_part(&self.table, &self.force, collective)
    }

    /// This rank's part of a way's schedule, in as many as its barriers divide it into; none where
    /// [`FollowedEpoch::way`] never says so.
    pub fn parts(&self, way: Way) -> &[RankPart] {
        let way = way.with_carrier(DataCarrier::Mpi);
        self.parts
            .iter()
            .find(|(known, _)| *known == way)
            .map_or(&[], |(_, parts)| parts)
    }
}

/// The ways of all-to-alls that the table, or the forced way, can ask for.
fn ways<'a>(table: &'a DecisionTable, force: &'a ForcedWays) -> impl Iterator<Item = Way> + 'a {
    let forced = force.ways(Collective::Alltoall).iter().copied();
    forced.chain(
        table
            .alltoall
            .iter()
            .chain(&table.alltoallv)
            .map(|entry| entry.way),
    )
}

/// Their synchronizations.
fn schemes(table: &DecisionTable, force: &ForcedWays) -> Vec<SyncScheme> {
    let mut schemes: Vec<SyncScheme> = ways(table, force)
        .filter_map(|way| {
            if let Way::Aapc { sync, .. } = way {
                Some(sync)
            } else {
                None
            }
        })
        .collect();
    schemes.sort_unstable();
    schemes.dedup();
    schemes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_set_view::MOST_RANKS;
    use inventory::TopologyFile;

    const PAIR: &str = "switches: [a, b]\nhosts: \
                        {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: {switch: b}}\nlinks: \
                        [{a: a, b: b, rate: RATE}]";

    fn lean(rate: &str) -> LeanEpoch {
        let topology = TopologyFile::parse("pair.yaml", &PAIR.replace("RATE", rate)).unwrap();
        LeanEpoch {
            number: 7,
            topology,
            table: DecisionTable::default(),
        }
    }

    fn plan(
        rate: &str,
        force: ForcedWays,
        hosts: &[&str],
        rank: u32,
    ) -> Result<FollowedEpoch, FollowError> {
        let hosts: Vec<String> = hosts.iter().map(|h| (*h).to_owned()).collect();
        UnplannedEpoch::new(lean(rate), Mpi::Mpich, force).plan(&hosts, rank)
    }

    fn peers(follow: &FollowedEpoch) -> Vec<u32> {
        let way = Way::Aapc {
            sync: SyncKind::Receiver.into(),
            over: DataCarrier::Tcp,
        };
        let mut peers: Vec<u32> = follow
            .parts(way)
            .iter()
            .flat_map(|part| &part.sends)
            .map(|send| send.peer)
            .collect();
        peers.sort_unstable();
        peers
    }

    #[test]
    fn every_rank_makes_the_same_plan_and_sends_to_every_other() {
        let hosts = ["z", "w.cluster.example", "x", "z", "w"];
        let plans: Vec<FollowedEpoch> = (0..5)
            .map(|rank| plan("1G", ForcedWays::default(), &hosts, rank).unwrap())
            .collect();
        for (rank, follow) in plans.iter().enumerate() {
            assert_eq!(follow.digest(), plans[0].digest());
            assert_eq!(
                peers(follow),
                (0..5).filter(|&p| p != rank as u32).collect::<Vec<_>>(),
                "rank {rank}"
            );
        }
        let next = |rank: u32| {
            plans[rank as usize].parts(Way::Ring {
                over: DataCarrier::Mpi,
            })[0]
                .sends[0]
                .peer
        };
        let mut ring: Vec<u32> = (0..5)
            .scan(0, |rank, _| Some(std::mem::replace(rank, next(*rank))))
            .collect();
        let place = |rank: u32| ring.iter().position(|&r| r == rank).unwrap() as i32;
        assert!(
            [1, 4].contains(&(place(0) - place(3)).abs()),
            "ranks of one host are neighbours: {ring:?}"
        );
        ring.sort_unstable();
        assert_eq!(ring, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn small_blocks_stay_the_librarys() {
        let follow = plan("1G", ForcedWays::default(), &["w", "x", "y", "z"], 0).unwrap();
        assert_eq!(follow.way(Collective::Alltoall, 8, 0), Way::Native);
        assert_eq!(
            follow.way(Collective::Alltoall, 1 << 20, 0),
            Way::Aapc {
                sync: SyncKind::Receiver.into(),
                over: DataCarrier::Mpi
            }
        );
        assert_eq!(
            follow.way(Collective::Allgather, 1 << 20, 0),
            Way::Ring {
                over: DataCarrier::Mpi
            }
        );
    }

    #[test]
    fn what_may_differ_is_known_without_a_plan() {
        let prospect = |force: &str| {
            UnplannedEpoch::new(lean("1G"), Mpi::Mpich, ForcedWays::parse(force).unwrap())
        };
        let differs =
            |force: &str, collective, block| prospect(force).may_differ(collective, block);
        assert!(
            !differs("", Collective::Alltoall, 8) && differs("", Collective::Alltoall, 1 << 20)
        );
        assert!(
            differs("ring", Collective::Allgather, 8)
                && !differs("native", Collective::Alltoall, 1 << 20)
        );
        assert!(
            !prospect("").takes_part(Collective::Alltoallv)
                && prospect("aapc").takes_part(Collective::Alltoallv)
        );
    }

    #[test]
    fn over_faster_trunks_the_library_goes_unless_forced_and_then_several_messages_at_once() {
        let hosts = ["w", "x", "y", "z"];
        let follow = plan("10G", ForcedWays::default(), &hosts, 0).unwrap();
        assert_eq!(follow.way(Collective::Alltoall, 1 << 20, 0), Way::Native);
        assert_eq!(
            follow.way(Collective::Allgather, 1 << 20, 0),
            Way::Ring {
                over: DataCarrier::Mpi
            }
        );
        assert!(
            follow.summary.contains("stays the library's"),
            "{}",
            follow.summary
        );
        let phases = |rate: &str| {
            let forced = plan(rate, ForcedWays::parse("aapc").unwrap(), &hosts, 0).unwrap();
            assert_eq!(
                forced.way(Collective::Alltoall, 8, 0),
                Way::Aapc {
                    sync: SyncKind::Receiver.into(),
                    over: DataCarrier::Mpi
                }
            );
            assert_eq!(peers(&forced), [1, 2, 3]);
            forced.summary
        };
        assert!(phases("1G").ends_with("4 phases"));
        assert!(phases("10G").contains("3 phases"));
    }

    #[test]
    fn ranks_that_span_clusters_go_by_lg_where_asked_to() {
        let follow = |hosts: &[&str], force: &str, clusters: &str| {
            let mut lean = lean("10M");
            lean.topology =
                TopologyFile::parse("pair.yaml", &(PAIR.replace("RATE", "10M") + clusters))
                    .unwrap();
            let hosts: Vec<String> = hosts.iter().map(|h| (*h).to_owned()).collect();
            let prospect = UnplannedEpoch::new(lean, Mpi::Mpich, ForcedWays::parse(force).unwrap());
            (0..hosts.len() as u32)
                .map(|rank| prospect.plan(&hosts, rank).unwrap())
                .collect::<Vec<_>>()
        };
        let both = ["w", "w", "x", "z", "y"];
        let declared = "\nclusters: {east: [y, z], west: [w, x]}";
        for clusters in ["", declared] {
            let plans = follow(&both, "lg", clusters);
            assert!(plans.iter().all(|plan| plan.digest() == plans[0].digest()
                && plan.way(Collective::Alltoall, 8, 0) == Way::Lg));
            assert_eq!(plans[0].way(Collective::Alltoallv, 8, 0), Way::Native);
            assert_ne!(
                plans[0].way(Collective::Alltoall, MOST_TOGETHER, 0),
                Way::Lg,
                "a message of too many octets"
            );
            assert!(
                plans[0].summary.contains("; lg among 2 clusters, "),
                "{}",
                plans[0].summary
            );
            let sent = |rank: usize| {
                plans[rank].parts(Way::Lg)[0]
                    .sends
                    .iter()
                    .map(|send| send.peer)
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                (0..5).map(|rank| sent(rank).len()).sum::<usize>(),
                6 + 2 + 3 + 3,
                "in west, in east, and across in each direction"
            );
            let own = plans[3].parts(Way::Lg)[0]
                .receives
                .iter()
                .flat_map(|r| &r.blocks)
                .filter(|b| b.dst == 3);
            assert_eq!(
                own.map(|b| b.src)
                    .collect::<std::collections::BTreeSet<_>>(),
                [0, 1, 2, 4].into()
            );
        }
        assert!(
            follow(&both, "ring", declared)[0].parts(Way::Lg).is_empty(),
            "nobody asked"
        );
        for (hosts, clusters, reason) in [
            (
                &["w", "x"][..],
                declared,
                "no lg: all hosts are in one cluster, west",
            ),
            (
                &both,
                "\nclusters: {west: [w, x, y]}",
                "no lg: host z is in no cluster",
            ),
        ] {
            let plan = &follow(hosts, "lg", clusters)[0];
            assert!(plan.summary.contains(reason), "{}", plan.summary);
            assert_eq!(
                (
                    plan.way(Collective::Alltoall, 8, 0),
                    plan.parts(Way::Lg).len()
                ),
                (Way::Native, 0)
            );
            assert!(
                plan.way(Collective::Alltoall, 1 << 20, 0) != Way::Lg,
                "as the table says"
            );
        }
    }

    #[test]
    fn barriers_part_the_steps_of_all_ranks_alike() {
        let force = |name: &str| {
            let turns = |key: &str| (key == "HEDDLE_TURNS").then(|| name.to_owned());
            crate::settings::RuntimeSettings::read(turns).0.force
        };
        for (name, parts) in [
            ("aapc barrier", 4),
            ("aapc barrier(2)", 2),
            ("aapc barrier+receiver(3)", 2),
            ("aapc sender(2)", 1),
        ] {
            for rank in 0..4 {
                let follow = plan("1G", force(name), &["w", "x", "y", "z"], rank).unwrap();
                let Way::Aapc { sync, .. } = follow.way(Collective::Alltoall, 8, 0) else {
                    panic!("{name}")
                };
                let planned = follow.parts(Way::Aapc {
                    sync,
                    over: DataCarrier::Mpi,
                });
                let sends = || planned.iter().flat_map(|part| &part.sends);
                assert_eq!(
                    (planned.len(), sends().count() >= 3),
                    (parts, true),
                    "{name}"
                );
                assert!(sends().map(|send| send.phase).is_sorted());
            }
        }
    }

    #[test]
    fn what_cannot_be_planned_says_why() {
        let problem = |hosts: &[&str]| plan("1G", ForcedWays::default(), hosts, 0).unwrap_err();
        assert_eq!(problem(&["w", "w"]), FollowError::OneHost("w".into()));
        assert!(
            problem(&["w", "q"])
                .to_string()
                .contains("\"q\" is not in the topology")
        );
        assert!(
            problem(&vec!["w"; MOST_RANKS + 1])
                .to_string()
                .contains("1025 ranks")
        );
    }
}
