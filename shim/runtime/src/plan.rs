//! A communicator's own schedule out of an epoch: its hosts' part of the tree, with its ranks as leaves.
//!
//! Every rank plans for itself and comes to the same plan; [`Follow::digest`] lets the ranks make sure of it.
use crate::clusters;
use crate::settings::Force;
use inventory::tree::{Tree, TreeError};
use inventory::{BitsPerSec, Bytes};
use schedules::alltoall::Algorithm;
use schedules::epoch::Lean;
use schedules::slice::{self, Step};
use schedules::sync::SyncKind;
use schedules::sync::scheme::Scheme;
use schedules::table::{Carrier, Collective, Grounds, Mpi, Table, Way};
use schedules::verify::{self, Violation};
use schedules::{allgather, alltoall, bound, bundled, lg};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

/// Planning takes every rank time and memory that grow with the square of the communicator's size: 0.1 s and
/// 30 MB at this many ranks.
pub const MOST_RANKS: usize = 1024;

/// Messages of several blocks are copied, and MPI counts them by `int`: where they could have more octets, the call goes another way.
const MOST_TOGETHER: u64 = 1 << 30;

/// Measured on 12 hosts with trunks three times as fast (README, "Limits"): over the libraries' point-to-point these schedules take
/// longer than the libraries' own routine.
const WIDE: &str =
    "; trunks are faster than host links: all-to-all stays the library's unless `heddle tune` finds better, or HEDDLE_FORCE=aapc";

/// An epoch as one rank of one communicator follows it.
#[derive(Debug)]
pub struct Follow {
    /// The epoch's number.
    pub epoch: u64,
    /// What is followed, in one line.
    pub summary: String,
    table: Table,
    force: Force,
    hosts: Tree,
    ranks: Vec<u32>,
    /// The host of each rank, and the hosts' addresses.
    host_of: Vec<u32>,
    addresses: Vec<Option<IpAddr>>,
    steps: Vec<(Scheme, Vec<Vec<Step>>)>,
    ring: Vec<u32>,
    /// Empty where the ranks span no clusters, or neither the table nor the forced way asks for it.
    lg: lg::slice::Slice,
    /// Empty where neither asks for it.
    bundle: lg::slice::Slice,
    digest: u64,
}

/// Why a communicator cannot follow an epoch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The epoch's own tree is none, or lacks a host.
    #[error("epoch {epoch}: {error}")]
    Tree {
        /// The epoch's number.
        epoch: u64,
        /// What is wrong.
        error: TreeError,
    },
    /// There is no network between the ranks.
    #[error("all ranks are on host \"{0}\"; there is no network to schedule")]
    OneHost(String),
    /// Too many ranks to plan for.
    #[error("communicator of {0} ranks: plans are made for at most {MOST_RANKS}")]
    TooMany(usize),
    /// The planner made a mistake.
    #[error("epoch {epoch}: the plan for this communicator is wrong ({violation}); please report this")]
    Wrong {
        /// The epoch's number.
        epoch: u64,
        /// What the verifier found.
        violation: Box<Violation>,
    },
}

impl Problem {
    /// Whether an operator wants to hear of it.
    pub fn is_news(&self) -> bool {
        !matches!(self, Problem::OneHost(_))
    }
}

impl Follow {
    /// Plans for the communicator whose rank `r` runs on `hosts[r]` under `mpi`, and keeps what `rank` needs.
    ///
    /// # Errors
    /// [`Problem`], the same on every rank.
    pub fn plan(lean: &Lean, mpi: Mpi, force: &Force, hosts: &[String], rank: u32) -> Result<Follow, Problem> {
        if hosts.len() > MOST_RANKS {
            return Err(Problem::TooMany(hosts.len()));
        }
        let epoch = lean.number;
        let tree = |error| Problem::Tree { epoch, error };
        let whole = lean.topology.tree().map_err(tree)?;
        let members = members(&whole, hosts).map_err(tree)?;
        if let [(only, _)] = members.as_slice() {
            return Err(Problem::OneHost(only.clone()));
        }
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        let hosts = whole.restrict(&names).map_err(tree)?;
        let leaves = ranks_as_leaves(&hosts, &members).map_err(tree)?;

        let mut table = lean.table.clone().under(mpi);
        let wide = Algorithm::fitting(&leaves) == Algorithm::Capacity;
        if wide {
            // What was measured elsewhere was so where all links are alike.
            for entries in [&mut table.alltoall, &mut table.alltoallv] {
                entries.retain(|entry| entry.way == Way::Native || entry.grounds != Grounds::Elsewhere);
            }
        }
        let wrong = |violation| Problem::Wrong { epoch, violation: Box::new(violation) };
        let ring = allgather::plan(&leaves);
        verify::allgather(&leaves, &ring).map_err(wrong)?;
        let mut digest = DefaultHasher::new();
        (epoch, &force, &ring.ring).hash(&mut digest);
        (&table.alltoall, &table.allgather, &table.alltoallv, &table.allgatherv).hash(&mut digest);
        let mut steps = Vec::new();
        let mut phases = 0;
        for scheme in schemes(&table, force) {
            let plan = alltoall::plan(&leaves, scheme);
            verify::alltoall(&leaves, &plan).map_err(wrong)?;
            (&plan.phases, &plan.syncs).hash(&mut digest);
            phases = plan.phases.len();
            steps.push((scheme, between_barriers(scheme, phases, slice::of(&plan, rank))));
        }
        let host_of = host_of(&members);
        let mut bundle = lg::slice::Slice::default();
        if ways(&table, force).any(|way| way == Way::Bundled) {
            let phases = alltoall::plan(&hosts, SyncKind::None).phases;
            phases.hash(&mut digest);
            bundle = bundled::slice(&host_of, &phases, rank);
        }
        let mut summary = format!("epoch {epoch}, {} ranks on {} hosts, {phases} phases", leaves.hosts(), hosts.hosts());
        let mut lg = lg::slice::Slice::default();
        if ways(&table, force).any(|way| way == Way::Lg) {
            match clusters::of_ranks(&lean.topology, &hosts, &leaves, &host_of) {
                Ok(clusters) => {
                    let plan = lg::plan(&leaves, &clusters, None);
                    verify::lg(&leaves, &plan).map_err(wrong)?;
                    summary += &format!("; lg among {} clusters, {} steps", plan.clusters.len(), plan.steps.len());
                    // Planned from what is in the digest already: the tree, whose ring it is, and the clusters.
                    plan.clusters.iter().for_each(|cluster| cluster.hosts.hash(&mut digest));
                    lg = lg::slice::of(&plan, rank);
                }
                Err(reason) => summary += &format!("; no lg: {reason}"),
            }
        }
        if wide && table.alltoall.iter().all(|entry| entry.way == Way::Native) {
            summary += WIDE;
        }
        Ok(Follow {
            epoch,
            summary,
            table,
            force: force.clone(),
            host_of,
            addresses: names.iter().map(|name| lean.topology.hosts.get(*name)?.address).collect(),
            ranks: members.iter().map(|(_, ranks)| ranks.len() as u32).collect(),
            hosts,
            steps,
            ring: ring.ring,
            lg,
            bundle,
            digest: digest.finish() | 1,
        })
    }

    /// The same on all ranks that made the same plan; never 0.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The way of a call with blocks of this size, before which `calls` of its kind came one after the other.
    pub fn way(&self, collective: Collective, block: u64, calls: u64) -> Way {
        let forced = self.force.way(collective, Bytes(block), calls).filter(|&way| self.can(way, block));
        forced.unwrap_or_else(|| self.table.choose_where(collective, Bytes(block), |way| self.can(way, block)))
    }

    /// Whether this communicator can go a way with blocks of this size, connections or not.
    fn can(&self, way: Way, block: u64) -> bool {
        let together = |blocks: u64| block.saturating_mul(blocks) <= MOST_TOGETHER;
        match way {
            Way::Lg => self.lg.steps > 0 && together(self.host_of.len() as u64),
            Way::Bundled => together(bundled::most_blocks(&self.host_of)),
            _ => true,
        }
    }

    /// Whether this collective may ask for connections: if forced to, and else where the topology says where every host is reached.
    pub fn may_connect(&self, collective: Collective) -> bool {
        !self.force.ways(collective).is_empty() || self.addresses.iter().all(Option::is_some)
    }

    /// The way in the place of one that needs connections which cannot be had.
    pub fn way_without_tcp(&self, collective: Collective, block: u64, way: Way) -> Way {
        let forced = !self.force.ways(collective).is_empty();
        let can = |way: Way| way.carrier() != Some(Carrier::Tcp) && self.can(way, block);
        if forced { way.over(Carrier::Mpi) } else { self.table.choose_where(collective, Bytes(block), can) }
    }

    /// Why a call that came to this way goes it, in a few words.
    pub fn why(&self, collective: Collective, block: u64, way: Way) -> String {
        let decided = self.table.entry(collective, Bytes(block)).filter(|_| self.force.ways(collective).is_empty());
        match decided {
            None => "forced".to_owned(),
            Some(entry) if self.way(collective, block, 0) == way => entry.grounds.to_string(),
            Some(entry) => format!("instead of {}, which cannot be gone", entry.way),
        }
    }

    /// Whether a call of this collective may go another way than the library's, at some size.
    pub fn takes_part(&self, collective: Collective) -> bool {
        let forced = self.force.ways(collective);
        let own = |way: Way| way != Way::Native && way.serves(collective);
        if forced.is_empty() { self.table.entries(collective).iter().any(|entry| own(entry.way)) } else { forced.iter().copied().any(own) }
    }

    /// This rank's steps of the all-to-all, in as many parts as its barriers divide it into; none where the table never asks for that
    /// scheme.
    pub fn steps(&self, sync: Scheme) -> &[Vec<Step>] {
        self.steps.iter().find(|(scheme, _)| *scheme == sync).map_or(&[], |(_, steps)| steps)
    }

    /// This rank's part where messages are bundled; empty where the table never asks for that.
    pub fn bundle(&self) -> &lg::slice::Slice {
        &self.bundle
    }

    /// This rank's part of the all-to-all by LG; empty where [`Follow::way`] never says so.
    pub fn lg(&self) -> &lg::slice::Slice {
        &self.lg
    }

    /// The ranks in the order of the allgather's ring.
    pub fn ring(&self) -> &[u32] {
        &self.ring
    }

    /// A rank's address on the network, where the topology says it.
    pub fn address(&self, rank: u32) -> Option<IpAddr> {
        self.addresses[*self.host_of.get(rank as usize)? as usize]
    }

    /// The slowest link's rate on the way from one rank to another; `None` within a host.
    pub fn rate(&self, from: u32, to: u32) -> Option<BitsPerSec> {
        let (from, to) = (*self.host_of.get(from as usize)?, *self.host_of.get(to as usize)?);
        let mut slowest = None;
        self.hosts.path(from, to, |edge| {
            slowest = Some(slowest.map_or(self.hosts.rate(edge / 2), |r: BitsPerSec| r.min(self.hosts.rate(edge / 2))))
        });
        slowest
    }

    /// Seconds a collective takes at the payload bound of the bottleneck edge; with unequal blocks, what the mean one would take.
    pub fn bound_seconds(&self, collective: Collective, block: Bytes) -> f64 {
        match collective {
            Collective::Alltoall | Collective::Alltoallv => bound::alltoall_seconds(&self.hosts, &self.ranks, block),
            Collective::Allgather | Collective::Allgatherv => bound::allgather_seconds(&self.hosts, &self.ranks, block),
        }
    }
}

/// The ways of all-to-alls that the table, or the forced way, can ask for.
fn ways<'a>(table: &'a Table, force: &'a Force) -> impl Iterator<Item = Way> + 'a {
    let forced = force.ways(Collective::Alltoall).iter().copied();
    forced.chain(table.alltoall.iter().chain(&table.alltoallv).map(|entry| entry.way))
}

/// Their synchronizations.
fn schemes(table: &Table, force: &Force) -> Vec<Scheme> {
    let mut schemes: Vec<Scheme> =
        ways(table, force).filter_map(|way| if let Way::Aapc { sync, .. } = way { Some(sync) } else { None }).collect();
    schemes.sort_unstable();
    schemes.dedup();
    schemes
}

/// Steps in as many parts on every rank: all meet in a barrier between one and the next.
fn between_barriers(scheme: Scheme, phases: usize, steps: Vec<Step>) -> Vec<Vec<Step>> {
    let mut parts = vec![Vec::new()];
    let mut steps = steps.into_iter().peekable();
    for phase in 0..phases {
        if scheme.barrier_before(phase) {
            parts.push(Vec::new());
        }
        while let (Some(part), Some(step)) = (parts.last_mut(), steps.next_if(|step| step.phase as usize == phase)) {
            part.push(step);
        }
    }
    parts
}

/// The communicator's hosts as the topology names them, in the order of their first rank, with their ranks.
fn members(tree: &Tree, hosts: &[String]) -> Result<Vec<(String, Vec<u32>)>, TreeError> {
    let known: std::collections::HashMap<&str, usize> = tree.host_names().iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
    let mut place = vec![None; tree.host_names().len()];
    let mut members: Vec<(String, Vec<u32>)> = Vec::new();
    for (rank, host) in hosts.iter().enumerate() {
        // MPI may say "n3.cluster.example" where the inventory says "n3".
        let short = host.split('.').next().unwrap_or(host);
        let number = *known.get(host.as_str()).or_else(|| known.get(short)).ok_or_else(|| TreeError::Unknown(host.clone()))?;
        let at = *place[number].get_or_insert_with(|| {
            members.push((tree.host_names()[number].clone(), Vec::new()));
            members.len() - 1
        });
        members[at].1.push(rank as u32);
    }
    Ok(members)
}

/// The number of each rank's host.
fn host_of(members: &[(String, Vec<u32>)]) -> Vec<u32> {
    let mut host_of = vec![0; members.iter().map(|(_, ranks)| ranks.len()).sum()];
    for (host, (_, ranks)) in (0..).zip(members) {
        ranks.iter().for_each(|&rank| host_of[rank as usize] = host);
    }
    host_of
}

/// The tree with rank `r` as its leaf number `r`.
fn ranks_as_leaves(hosts: &Tree, members: &[(String, Vec<u32>)]) -> Result<Tree, TreeError> {
    // A blank keeps these apart from the names of switches and hosts, which cannot hold one.
    let ranks: Vec<(String, u32)> = (0..).zip(host_of(members)).map(|(rank, host): (u32, u32)| (format!("rank {rank}"), host)).collect();
    hosts.with_ranks(&ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::TopologyFile;

    const PAIR: &str =
        "switches: [a, b]\nhosts: {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: {switch: b}}\nlinks: [{a: a, b: b, rate: RATE}]";

    fn lean(rate: &str) -> Lean {
        let topology = TopologyFile::parse("pair.yaml", &PAIR.replace("RATE", rate)).unwrap();
        Lean { number: 7, topology, table: Table::default() }
    }

    fn plan(rate: &str, force: Force, hosts: &[&str], rank: u32) -> Result<Follow, Problem> {
        let hosts: Vec<String> = hosts.iter().map(|h| (*h).to_owned()).collect();
        Follow::plan(&lean(rate), Mpi::Mpich, &force, &hosts, rank)
    }

    fn peers(follow: &Follow) -> Vec<u32> {
        let mut peers: Vec<u32> = follow.steps(SyncKind::Receiver.into()).iter().flatten().filter_map(|step| step.send_to).collect();
        peers.sort_unstable();
        peers
    }

    #[test]
    fn every_rank_makes_the_same_plan_and_sends_to_every_other() {
        let hosts = ["z", "w.cluster.example", "x", "z", "w"];
        let plans: Vec<Follow> = (0..5).map(|rank| plan("1G", Force::default(), &hosts, rank).unwrap()).collect();
        for (rank, follow) in plans.iter().enumerate() {
            assert_eq!(follow.digest(), plans[0].digest());
            assert_eq!(peers(follow), (0..5).filter(|&p| p != rank as u32).collect::<Vec<_>>(), "rank {rank}");
        }
        let mut ring = plans[0].ring().to_vec();
        let place = |rank: u32| ring.iter().position(|&r| r == rank).unwrap() as i32;
        assert!([1, 4].contains(&(place(0) - place(3)).abs()), "ranks of one host are neighbours: {ring:?}");
        ring.sort_unstable();
        assert_eq!(ring, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn small_blocks_stay_the_librarys() {
        let follow = plan("1G", Force::default(), &["w", "x", "y", "z"], 0).unwrap();
        assert_eq!(follow.way(Collective::Alltoall, 8, 0), Way::Native);
        assert_eq!(follow.way(Collective::Alltoall, 1 << 20, 0), Way::Aapc { sync: SyncKind::Receiver.into(), over: Carrier::Mpi });
        assert_eq!(follow.way(Collective::Allgather, 1 << 20, 0), Way::Ring { over: Carrier::Mpi });
    }

    #[test]
    fn over_faster_trunks_the_library_goes_unless_forced_and_then_several_messages_at_once() {
        let hosts = ["w", "x", "y", "z"];
        let follow = plan("10G", Force::default(), &hosts, 0).unwrap();
        assert_eq!(follow.way(Collective::Alltoall, 1 << 20, 0), Way::Native);
        assert_eq!(follow.way(Collective::Allgather, 1 << 20, 0), Way::Ring { over: Carrier::Mpi });
        assert!(follow.summary.contains("stays the library's"), "{}", follow.summary);
        let phases = |rate: &str| {
            let forced = plan(rate, Force::parse("aapc").unwrap(), &hosts, 0).unwrap();
            assert_eq!(forced.way(Collective::Alltoall, 8, 0), Way::Aapc { sync: SyncKind::Receiver.into(), over: Carrier::Mpi });
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
            lean.topology = TopologyFile::parse("pair.yaml", &(PAIR.replace("RATE", "10M") + clusters)).unwrap();
            let hosts: Vec<String> = hosts.iter().map(|h| (*h).to_owned()).collect();
            let plans =
                (0..hosts.len() as u32).map(|rank| Follow::plan(&lean, Mpi::Mpich, &Force::parse(force).unwrap(), &hosts, rank).unwrap());
            plans.collect::<Vec<_>>()
        };
        let both = ["w", "w", "x", "z", "y"];
        let declared = "\nclusters: {east: [y, z], west: [w, x]}";
        for clusters in ["", declared] {
            let plans = follow(&both, "lg", clusters);
            assert!(plans.iter().all(|plan| plan.digest() == plans[0].digest() && plan.way(Collective::Alltoall, 8, 0) == Way::Lg));
            assert_eq!(plans[0].way(Collective::Alltoallv, 8, 0), Way::Native);
            assert_ne!(plans[0].way(Collective::Alltoall, MOST_TOGETHER, 0), Way::Lg, "a message of too many octets");
            assert!(plans[0].summary.contains("; lg among 2 clusters, "), "{}", plans[0].summary);
            let sent = |rank: usize| plans[rank].lg().sends.iter().map(|s| s.parcel.peer).collect::<Vec<_>>();
            assert_eq!((0..5).map(|rank| sent(rank).len()).sum::<usize>(), 6 + 2 + 3 + 3, "in west, in east, and across in each direction");
            let own = plans[3].lg().receives.iter().flat_map(|r| &r.blocks).filter(|b| b.dst == 3);
            assert_eq!(own.map(|b| b.src).collect::<std::collections::BTreeSet<_>>(), [0, 1, 2, 4].into());
        }
        assert!(follow(&both, "ring", declared)[0].lg().sends.is_empty(), "nobody asked");
        for (hosts, clusters, reason) in [
            (&["w", "x"][..], declared, "no lg: all hosts are in one cluster, west"),
            (&both, "\nclusters: {west: [w, x, y]}", "no lg: host z is in no cluster"),
        ] {
            let plan = &follow(hosts, "lg", clusters)[0];
            assert!(plan.summary.contains(reason), "{}", plan.summary);
            assert_eq!((plan.way(Collective::Alltoall, 8, 0), plan.lg().steps), (Way::Native, 0));
            assert!(plan.way(Collective::Alltoall, 1 << 20, 0) != Way::Lg, "as the table says");
        }
    }

    #[test]
    fn barriers_part_the_steps_of_all_ranks_alike() {
        let force = |name: &str| {
            let turns = |key: &str| (key == "HEDDLE_TURNS").then(|| name.to_owned());
            crate::settings::Settings::read(turns).0.force
        };
        for (name, parts) in [("aapc barrier", 4), ("aapc barrier(2)", 2), ("aapc barrier+receiver(3)", 2), ("aapc sender(2)", 1)] {
            for rank in 0..4 {
                let follow = plan("1G", force(name), &["w", "x", "y", "z"], rank).unwrap();
                let Way::Aapc { sync, .. } = follow.way(Collective::Alltoall, 8, 0) else { panic!("{name}") };
                assert_eq!((follow.steps(sync).len(), follow.steps(sync).iter().flatten().count() >= 3), (parts, true), "{name}");
                assert!(follow.steps(sync).iter().flatten().map(|step| step.phase).is_sorted());
            }
        }
    }

    #[test]
    fn what_cannot_be_planned_says_why() {
        let problem = |hosts: &[&str]| plan("1G", Force::default(), hosts, 0).unwrap_err();
        assert_eq!(problem(&["w", "w"]), Problem::OneHost("w".into()));
        assert!(problem(&["w", "q"]).to_string().contains("\"q\" is not in the topology"));
        assert!(problem(&vec!["w"; MOST_RANKS + 1]).to_string().contains("1025 ranks"));
    }
}
