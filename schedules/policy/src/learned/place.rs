//! The place of learned figures: which ranks on which hosts, the cables between them, and the MPI
//! library. A process set finds figures of the same hosts, or of others that schedules cannot tell
//! apart.
use inventory::MpiRoutines;
use inventory::tree::{NodeNumber, Tree, TreeError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// The most ranks of a place. No job has as many.
const MOST_RANKS: u32 = 1 << 16;

/// The place of a process set: its ranks on its hosts, the cables, and the library.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LearnedPlace {
    /// The hosts by their names in the topology, in the order of their first rank.
    pub hosts: Vec<String>,
    /// The host of each rank.
    pub layout: RankLayout,
    /// The MPI library and its major version.
    pub mpi: MpiRoutines,
    /// A digest of the cables between the hosts and their rates. It names no host: it is the same
    /// for other hosts in the same order with the same cables between them, whatever their
    /// switches are.
    pub cables: String,
}

/// The numbers of hosts in a tree, by their names. Domains after these are ignored, because MPI may add
/// one.
///
/// # Errors
/// [`TreeError`] for a host that is not in the tree, or named twice.
pub fn host_numbers<S: AsRef<str>>(whole: &Tree, hosts: &[S]) -> Result<Vec<usize>, TreeError> {
    let names = whole.host_names().iter().enumerate();
    let known: HashMap<&str, usize> = names
        .map(|(number, name)| (name.as_str(), number))
        .collect();
    let mut numbers = Vec::with_capacity(hosts.len());
    let mut seen = HashSet::new();
    for host in hosts {
        let name = host.as_ref();
        let short = name.split('.').next().unwrap_or(name);
        let found = known.get(name).or_else(|| known.get(short));
        let number = *found.ok_or_else(|| TreeError::Unknown(name.to_owned()))?;
        if !seen.insert(number) {
            return Err(TreeError::Twice(name.to_owned()));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// The tree between hosts, by their names in the same way.
///
/// # Errors
/// [`TreeError`] for a host that is not in the tree, or named twice.
pub fn tree_between<S: AsRef<str>>(whole: &Tree, hosts: &[S]) -> Result<Tree, TreeError> {
    let numbers = host_numbers(whole, hosts)?.into_iter();
    let names: Vec<&String> = numbers.map(|number| &whole.host_names()[number]).collect();
    whole.restrict(&names)
}

impl LearnedPlace {
    /// The place of a process set whose rank `r` runs on host `host_of[r]` of the tree between its
    /// hosts, which are in the order of their first rank.
    pub fn new(
        between: &Tree,
        host_of: &[NodeNumber],
        mpi: impl Into<MpiRoutines>,
    ) -> LearnedPlace {
        LearnedPlace {
            hosts: between.host_names().to_vec(),
            layout: RankLayout::from_hosts(host_of),
            mpi: mpi.into(),
            cables: cables(between),
        }
    }

    /// The same from the whole tree. Returns the tree between the hosts, too.
    ///
    /// # Errors
    /// [`TreeError`] for a host that is not in the tree, or named twice.
    pub fn find<S: AsRef<str>>(
        whole: &Tree,
        hosts: &[S],
        layout: &RankLayout,
        mpi: impl Into<MpiRoutines>,
    ) -> Result<(LearnedPlace, Tree), TreeError> {
        let between = tree_between(whole, hosts)?;
        let place = LearnedPlace::new(&between, &layout.host_of(), mpi);
        Ok((place, between))
    }

    /// True if its ranks fit its hosts. A file can hold anything.
    pub(super) fn is_consistent(&self) -> bool {
        let ranks = self.layout.ranks();
        ranks.is_some_and(|ranks| self.layout.fits(self.hosts.len(), ranks))
    }

    /// The place of all process sets that schedules cannot tell apart: same ranks, cables and
    /// library, perhaps on other hosts.
    pub(super) fn without_hosts(&self) -> LearnedPlace {
        LearnedPlace {
            hosts: Vec::new(),
            ..self.clone()
        }
    }

    /// The same as files have it that do not tell versions of a library apart.
    pub(super) fn of_any_version(&self) -> LearnedPlace {
        LearnedPlace {
            mpi: self.mpi.of_any_version(),
            ..self.clone()
        }
    }

    /// A number that stands for the place.
    pub(super) fn digest(&self) -> u128 {
        let mut digest = Sha256::new();
        for text in self
            .hosts
            .iter()
            .map(String::as_str)
            .chain([self.cables.as_str()])
        {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
        for HostRun(first, hosts, each) in &self.layout.0 {
            for number in [first, hosts, each] {
                digest.update(number.to_le_bytes());
            }
        }
        digest.update(self.mpi.to_string());
        number(&digest.finalize())
    }
}

/// The host of each rank, in few words: ranks in a row on hosts in a row. Hosts count from 0 in the
/// order of their first rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RankLayout(Vec<HostRun>);

/// So many hosts from one on, with so many ranks in a row on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
struct HostRun(u32, u32, u32);

impl RankLayout {
    /// The layout of ranks, `r` on host `host_of[r]`.
    pub fn from_hosts(host_of: &[NodeNumber]) -> RankLayout {
        let mut runs: Vec<HostRun> = Vec::new();
        for ranks in host_of.chunk_by(|a, b| a == b) {
            let (host, count) = (ranks[0], ranks.len() as u32);
            match runs.last_mut() {
                Some(HostRun(first, hosts, each)) if *first + *hosts == host && *each == count => {
                    *hosts += 1;
                }
                _ => runs.push(HostRun(host, 1, count)),
            }
        }
        RankLayout(runs)
    }

    /// The host of each rank.
    pub fn host_of(&self) -> Vec<NodeNumber> {
        self.0
            .iter()
            .flat_map(|&HostRun(first, hosts, each)| {
                (first..first + hosts)
                    .flat_map(move |host| std::iter::repeat_n(host, each as usize))
            })
            .collect()
    }

    /// True for a record that does not say it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of ranks; `None` for more than there can be.
    fn ranks(&self) -> Option<u32> {
        let sum = self
            .0
            .iter()
            .try_fold(0u64, |sum, HostRun(_, hosts, each)| {
                sum.checked_add(u64::from(*hosts) * u64::from(*each))
            });
        sum.and_then(|sum| u32::try_from(sum).ok())
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.0.len() * size_of::<HostRun>()
    }

    /// True if it is what [`RankLayout::from_hosts`] gives for so many ranks on so many hosts, each with a
    /// rank, in the order of their first rank. A record can hold anything.
    pub fn fits(&self, hosts: usize, ranks: u32) -> bool {
        let (mut sum, mut met) = (0u64, 0u64);
        if ranks > MOST_RANKS {
            return false;
        }
        for HostRun(first, count, each) in &self.0 {
            let end = u64::from(*first) + u64::from(*count);
            sum += u64::from(*count) * u64::from(*each);
            if *count == 0 || *each == 0 || u64::from(*first) > met || sum > u64::from(ranks) {
                return false;
            }
            met = met.max(end);
        }
        sum == u64::from(ranks)
            && met == hosts as u64
            && RankLayout::from_hosts(&self.host_of()) == *self
    }
}

/// A digest of the hosts that each cable separates, and of its rate. Hosts count by their number,
/// so that it does not depend on any name. It takes time in proportion to the tree: a set of hosts
/// is the sum of their digests.
fn cables(tree: &Tree) -> String {
    let mut below: Vec<u128> = (0..tree.nodes())
        .map(|node| {
            if tree.is_host(node) {
                digest_of(node)
            } else {
                0
            }
        })
        .collect();
    for &node in tree.top_down().iter().rev() {
        if let Some(parent) = tree.parent(node) {
            below[parent as usize] = below[parent as usize].wrapping_add(below[node as usize]);
        }
    }
    let all = below[tree.root() as usize];
    let mut above_first = vec![false; tree.nodes() as usize];
    let mut node = Some(0).filter(|_| tree.hosts() > 0);
    while let Some(here) = node {
        above_first[here as usize] = true;
        node = tree.parent(here);
    }
    let nodes = (0..tree.nodes()).filter(|&node| tree.parent(node).is_some());
    // Of each cable the side without the first host, so that the tree's root does not matter.
    let sides = nodes.map(|node| match above_first[node as usize] {
        true => (all.wrapping_sub(below[node as usize]), tree.rate(node).0),
        false => (below[node as usize], tree.rate(node).0),
    });
    let mut cables: Vec<(u128, u64)> = sides.collect();
    // Of several cables in a row, only the slowest one counts.
    cables.sort_unstable();
    cables.dedup_by_key(|(side, _)| *side);
    let mut digest = Sha256::new();
    for (side, rate) in cables {
        digest.update(side.to_le_bytes());
        digest.update(rate.to_le_bytes());
    }
    let mut text = "sha256:".to_owned();
    for byte in digest.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A number that stands for a host in a sum.
fn digest_of(host: NodeNumber) -> u128 {
    number(&Sha256::digest(host.to_le_bytes()))
}

/// The first sixteen bytes of a digest.
fn number(digest: &[u8]) -> u128 {
    digest[..16]
        .iter()
        .fold(0, |number, byte| number << 8 | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samples::trees::{any_tree_text, topology};

    fn place(text: &str, hosts: &[&str], host_of: &[u32]) -> LearnedPlace {
        let whole = topology(text);
        let layout = RankLayout::from_hosts(host_of);
        let (place, between) =
            LearnedPlace::find(&whole, hosts, &layout, inventory::Mpi::Mpich).unwrap();
        assert_eq!(
            LearnedPlace::new(&between, host_of, inventory::Mpi::Mpich),
            place
        );
        place
    }

    const CHAIN: &str = "switches: [s, t, u, v]\n\
         links: [{a: s, b: t}, {a: t, b: u}, {a: u, b: v, rate: 1G}]\n\
         hosts: {a: {switch: s}, b: {switch: s}, c: {switch: t}, d: {switch: t}, \
                 e: {switch: u}, f: {switch: v}, g: {switch: v}}\n";

    #[test]
    fn the_same_cables_between_other_hosts_are_alike() {
        let layout = [0, 0, 1, 1, 2, 3];
        let first = place(CHAIN, &["a", "b", "c", "d"], &layout);
        let is_alike = |other: &LearnedPlace| {
            let (here, there) = (first.without_hosts(), other.without_hosts());
            assert_eq!(here == there, here.digest() == there.digest());
            here == there
        };
        let alike = |other: &LearnedPlace| {
            is_alike(other) && first != *other && first.digest() != other.digest()
        };
        assert!(alike(&place(CHAIN, &["c", "d", "a", "b"], &layout)));
        assert!(alike(&place(CHAIN, &["f.x.org", "g", "c", "d"], &layout)));
        let unlike = |hosts: &[&str], layout: &[u32]| !is_alike(&place(CHAIN, hosts, layout));
        assert!(unlike(&["a", "c", "b", "d"], &layout), "other order");
        assert!(unlike(&["a", "c", "d", "e"], &layout), "other switches");
        assert!(unlike(&["a", "b", "c", "d"], &[0, 1, 2, 3]), "other ranks");
        let slow = CHAIN.replace("{a: s, b: t}", "{a: s, b: t, rate: 10M}");
        assert!(!is_alike(&place(&slow, &["a", "b", "c", "d"], &layout)));
    }

    #[test]
    fn layouts_in_few_words() {
        let text =
            |host_of: &[u32]| serde_json::to_string(&RankLayout::from_hosts(host_of)).unwrap();
        assert_eq!(text(&[0, 0, 1, 1, 2, 2, 3]), "[[0,3,2],[3,1,1]]");
        assert_eq!(text(&[0, 1, 2, 0, 1, 2]), "[[0,3,1],[0,3,1]]");
        let fits = |json: &str, hosts: usize, ranks: u32| {
            serde_json::from_str::<RankLayout>(json)
                .unwrap()
                .fits(hosts, ranks)
        };
        assert!(fits("[[0,3,2],[3,1,1]]", 4, 7));
        for (bad, hosts, ranks) in [
            ("[[0,3,2],[3,1,1]]", 5, 7),
            ("[[0,3,2],[3,1,1]]", 4, 8),
            ("[[0,1,2],[1,2,2],[3,1,1]]", 4, 7),
            ("[[1,3,1]]", 4, 3),
            ("[[0,4294967295,4294967295]]", 4, 7),
            ("[[4294967295,4294967295,1]]", 4, 7),
            ("[[0,1,4294967295]]", 1, u32::MAX),
            ("[[0,0,1]]", 0, 0),
        ] {
            assert!(!fits(bad, hosts, ranks), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn layouts_read_back(host_of in prop::collection::vec(0u32..4, 1..40)) {
            // In the order of their first rank.
            let mut order: Vec<u32> = Vec::new();
            let numbered: Vec<u32> = host_of
                .iter()
                .map(|host| {
                    order.iter().position(|known| known == host).unwrap_or_else(|| {
                        order.push(*host);
                        order.len() - 1
                    }) as u32
                })
                .collect();
            let layout = RankLayout::from_hosts(&numbered);
            prop_assert!(layout.fits(order.len(), numbered.len() as u32));
            prop_assert_eq!(layout.host_of(), numbered);
        }

        #[test]
        fn the_root_of_the_tree_does_not_matter(text in any_tree_text(2..=8, 4), root in 0u32..12) {
            let tree = topology(&text);
            let root = root % tree.nodes();
            prop_assert_eq!(cables(&tree), cables(&tree.hang_from(root)));
        }
    }
}
