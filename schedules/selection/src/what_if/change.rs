//! One change to the cables, and the network after it.
use inventory::spanning_tree;
use inventory::topology_file::Link;
use inventory::{BitsPerSec, TopologyFile};
use std::fmt;
use std::time::Duration;

/// What somebody might do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Give a switch the best bridge priority. No cable moves.
    RootBridge(String),
    /// Plug a host into another switch.
    Move {
        /// The host.
        host: String,
        /// Its new switch.
        switch: String,
    },
    /// Lay a cable between two switches, or make the one that is there faster; or give a host a faster cable.
    Link {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// What it carries then.
        rate: BitsPerSec,
    },
}

/// A change that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// A name that is none of the topology's hosts.
    #[error("host \"{0}\" is not in the topology; nothing was computed")]
    Host(String),
    /// A name that is none of its switches.
    #[error("switch \"{0}\" is not in the topology; nothing was computed")]
    Switch(String),
    /// Names with a hyphen between them that do not name two nodes, or in more than one way.
    #[error("link \"{0}\": expected two nodes of the topology with a hyphen between them, like s0-s1; nothing was computed")]
    Ends(String),
    /// A second cable for a host.
    #[error("link {host}-{switch}: host \"{host}\" hangs on \"{at}\" and has one cable; --move {host}={switch} plugs it there")]
    SecondCable {
        /// The host.
        host: String,
        /// Where the cable would lead.
        switch: String,
        /// Where it hangs.
        at: String,
    },
}

impl Change {
    /// `a-b` with a rate as a change of this topology's links. Names may hold hyphens.
    ///
    /// # Errors
    /// [`ChangeError::Ends`] where `a-b` does not name two nodes.
    pub fn link(file: &TopologyFile, ends: &str, rate: BitsPerSec) -> Result<Change, ChangeError> {
        let known = |name: &str| is_inner(file, name) || file.hosts.contains_key(name);
        let mut splits = ends.match_indices('-').map(|(i, _)| (&ends[..i], &ends[i + 1..])).filter(|(a, b)| known(a) && known(b) && a != b);
        match (splits.next(), splits.next()) {
            (Some((a, b)), None) => Ok(Change::Link { a: a.to_owned(), b: b.to_owned(), rate }),
            _ => Err(ChangeError::Ends(ends.to_owned())),
        }
    }

    /// The network after the change, its links as spanning tree would leave them. The root bridge is the file's first switch.
    ///
    /// # Errors
    /// [`ChangeError`] for names the topology does not have and for what cannot be plugged.
    pub fn apply(&self, file: &TopologyFile) -> Result<TopologyFile, ChangeError> {
        let mut file = file.clone();
        match self {
            Change::RootBridge(root) => {
                let at = file.switches.iter().position(|s| s == root).ok_or_else(|| ChangeError::Switch(root.clone()))?;
                file.switches[..=at].rotate_right(1);
            }
            Change::Move { host, switch } => {
                if !file.switches.contains(switch) {
                    return Err(ChangeError::Switch(switch.clone()));
                }
                file.hosts.get_mut(host).ok_or_else(|| ChangeError::Host(host.clone()))?.switch.clone_from(switch);
            }
            Change::Link { a, b, rate } => link(&mut file, a, b, *rate)?,
        }
        let root = file.switches.first().cloned();
        Ok(root.and_then(|root| spanning_tree::settled(&file, &root)).unwrap_or(file))
    }
}

fn is_inner(file: &TopologyFile, name: &str) -> bool {
    file.switches.iter().chain(&file.routers).any(|inner| inner == name)
}

fn link(file: &mut TopologyFile, a: &str, b: &str, rate: BitsPerSec) -> Result<(), ChangeError> {
    for (host, switch) in [(a, b), (b, a)] {
        if let Some(found) = file.hosts.get_mut(host) {
            if found.switch != switch {
                let (host, switch, at) = (host.to_owned(), switch.to_owned(), found.switch.clone());
                return Err(ChangeError::SecondCable { host, switch, at });
            }
            found.rate = rate;
            return Ok(());
        }
    }
    if let Some(unknown) = [a, b].into_iter().find(|name| !is_inner(file, name)) {
        return Err(ChangeError::Switch(unknown.to_owned()));
    }
    let there = |l: &&mut Link| (l.a == a && l.b == b) || (l.a == b && l.b == a);
    match file.links.iter_mut().filter(there).max_by_key(|l| l.rate) {
        Some(cable) => cable.rate = rate,
        None => file.links.push(Link { a: a.to_owned(), b: b.to_owned(), rate, delay: Duration::ZERO, state: None }),
    }
    Ok(())
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::RootBridge(switch) => write!(f, "root bridge {switch}"),
            Change::Move { host, switch } => write!(f, "move {host} to {switch}"),
            Change::Link { a, b, rate } => write!(f, "link {a}-{b} at {rate}"),
        }
    }
}
