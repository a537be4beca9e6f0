//! One change to the cables, and the network after the change.
use inventory::spanning_tree;
use inventory::topology_file::TopologyCable;
use inventory::{BitsPerSec, TopologyFile};
use std::fmt;
use std::time::Duration;

/// A change that an operator may make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CablingChange {
    /// Give a switch the best bridge priority. No cable moves.
    RootBridge(String),
    /// Plug a host into another switch.
    Move {
        /// The host.
        host: String,
        /// Its new switch.
        switch: String,
    },
    /// Lay a cable between two switches, or make the existing one faster; or give a host a faster
    /// cable.
    Link {
        /// One end of the link.
        a: String,
        /// The other end.
        b: String,
        /// Its rate after the change.
        rate: BitsPerSec,
    },
}

/// The reason why a change is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CablingChangeError {
    /// A name that is not among the topology's hosts.
    #[error("host \"{0}\" is not in the topology; nothing was computed")]
    Host(String),
    /// A name that is not among the topology's switches.
    #[error("switch \"{0}\" is not in the topology; nothing was computed")]
    Switch(String),
    /// Two names with a hyphen between them that do not name two nodes, or name them in more than
    /// one way.
    #[error(
        "link \"{0}\": expected two nodes of the topology with a hyphen between them, like s0-s1; \
         nothing was computed"
    )]
    Ends(String),
    /// A second cable for a host.
    #[error(
        "link {host}-{switch}: host \"{host}\" hangs on \"{at}\" and has one cable; --move \
         {host}={switch} plugs it there"
    )]
    SecondCable {
        /// The host.
        host: String,
        /// The switch at the other end of the cable.
        switch: String,
        /// The switch that the host is plugged into now.
        at: String,
    },
}

impl CablingChange {
    /// A change of a link of this topology, from `a-b` and a rate. Names may contain hyphens.
    ///
    /// # Errors
    /// [`CablingChangeError::Ends`] if `a-b` does not name two nodes.
    pub fn link(
        file: &TopologyFile,
        ends: &str,
        rate: BitsPerSec,
    ) -> Result<CablingChange, CablingChangeError> {
        let known = |name: &str| is_inner(file, name) || file.hosts.contains_key(name);
        let mut splits = ends
            .match_indices('-')
            .map(|(i, _)| (&ends[..i], &ends[i + 1..]))
            .filter(|(a, b)| known(a) && known(b) && a != b);
        match (splits.next(), splits.next()) {
            (Some((a, b)), None) => Ok(CablingChange::Link {
                a: a.to_owned(),
                b: b.to_owned(),
                rate,
            }),
            _ => Err(CablingChangeError::Ends(ends.to_owned())),
        }
    }

    /// The network after the change. Spanning tree decides which links are blocked. The root bridge
    /// is the file's first switch.
    ///
    /// # Errors
    /// [`CablingChangeError`] for names that the topology does not have and for impossible changes.
    pub fn apply(&self, file: &TopologyFile) -> Result<TopologyFile, CablingChangeError> {
        let mut file = file.clone();
        match self {
            CablingChange::RootBridge(root) => {
                let at = file
                    .switches
                    .iter()
                    .position(|s| s == root)
                    .ok_or_else(|| CablingChangeError::Switch(root.clone()))?;
                file.switches[..=at].rotate_right(1);
            }
            CablingChange::Move { host, switch } => {
                if !file.switches.contains(switch) {
                    return Err(CablingChangeError::Switch(switch.clone()));
                }
                file.hosts
                    .get_mut(host)
                    .ok_or_else(|| CablingChangeError::Host(host.clone()))?
                    .switch
                    .clone_from(switch);
            }
            CablingChange::Link { a, b, rate } => link(&mut file, a, b, *rate)?,
        }
        let root = file.switches.first().cloned();
        Ok(root
            .and_then(|root| spanning_tree::with_spanning_tree(&file, &root))
            .unwrap_or(file))
    }
}

fn is_inner(file: &TopologyFile, name: &str) -> bool {
    file.switches
        .iter()
        .chain(&file.routers)
        .any(|inner| inner == name)
}

fn link(
    file: &mut TopologyFile,
    a: &str,
    b: &str,
    rate: BitsPerSec,
) -> Result<(), CablingChangeError> {
    for (host, switch) in [(a, b), (b, a)] {
        if let Some(found) = file.hosts.get_mut(host) {
            if found.switch != switch {
                let (host, switch, at) = (host.to_owned(), switch.to_owned(), found.switch.clone());
                return Err(CablingChangeError::SecondCable { host, switch, at });
            }
            found.rate = rate;
            return Ok(());
        }
    }
    if let Some(unknown) = [a, b].into_iter().find(|name| !is_inner(file, name)) {
        return Err(CablingChangeError::Switch(unknown.to_owned()));
    }
    let there = |l: &&mut TopologyCable| (l.a == a && l.b == b) || (l.a == b && l.b == a);
    match file.links.iter_mut().filter(there).max_by_key(|l| l.rate) {
        Some(cable) => cable.rate = rate,
        None => file.links.push(TopologyCable {
            a: a.to_owned(),
            b: b.to_owned(),
            rate,
            delay: Duration::ZERO,
            state: None,
        }),
    }
    Ok(())
}

impl fmt::Display for CablingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CablingChange::RootBridge(switch) => write!(f, "root bridge {switch}"),
            CablingChange::Move { host, switch } => write!(f, "move {host} to {switch}"),
            CablingChange::Link { a, b, rate } => write!(f, "link {a}-{b} at {rate}"),
        }
    }
}
