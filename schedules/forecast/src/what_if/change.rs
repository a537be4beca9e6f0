//! One change to the cables, and the network after the change.
use inventory::topology_file::{TopologyCable, is_name};
use inventory::{BitsPerSec, TopologyFile, spanning_tree};
use std::fmt;

/// A change that an operator may make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CablingChange {
    /// Give a switch the best bridge priority. No cable moves.
    RootBridge(String),
    /// Plug a host into another switch.
    Move {
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
    /// Put up a switch or router with cables like those of another: one more spine, say.
    Beside {
        name: String,
        /// The other.
        like: String,
    },
}

/// The reason why a change is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CablingChangeError {
    /// A name that is not among the topology's hosts.
    #[error(
        "host \"{name}\" is not in the topology, whose hosts are {known}; nothing was computed"
    )]
    Host {
        name: String,
        /// The names that there are.
        known: KnownNames,
    },
    /// A name that is not among the topology's switches.
    #[error(
        "switch \"{name}\" is not in the topology, whose switches are {known}; nothing was computed"
    )]
    Switch {
        name: String,
        /// The names that there are.
        known: KnownNames,
    },
    /// One end of a link that is not in the topology.
    #[error(
        "link {link}: \"{name}\" is not in the topology, whose switches are {known}; nothing was \
         computed"
    )]
    End {
        /// The link as written.
        link: String,
        name: String,
        /// The switches that there are.
        known: KnownNames,
    },
    /// Two names with a hyphen between them that do not name two nodes, or name them in more than
    /// one way.
    #[error(
        "link \"{0}\": expected two nodes of the topology with a hyphen between them, like s0-s1; \
         nothing was computed"
    )]
    Ends(String),
    /// The name of one more box that is none, or another's.
    #[error(
        "switch \"{0}\": expected a name of letters, digits, \"-\", \"_\" and \".\" that nothing in the \
         topology has yet; nothing was computed"
    )]
    Taken(String),
    /// A second cable for a host.
    #[error(
        "link {host}-{switch}: host \"{host}\" hangs on \"{at}\" and has one cable; nothing was computed: \
         --move {host}={switch} plugs it there"
    )]
    SecondCable {
        host: String,
        /// The switch at the other end of the cable.
        switch: String,
        /// The switch that the host is plugged into now.
        at: String,
    },
}

/// The names that an operator may have meant, a few of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNames(Vec<String>);

impl KnownNames {
    /// More names would hide the message.
    const MOST: usize = 8;

    fn collected<'a>(names: impl Iterator<Item = &'a String>) -> KnownNames {
        KnownNames(names.cloned().collect())
    }

    fn switches(file: &TopologyFile) -> KnownNames {
        KnownNames::collected(file.switches.iter())
    }
}

impl fmt::Display for KnownNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.len().min(KnownNames::MOST);
        f.write_str(&self.0[..shown].join(", "))?;
        match self.0.len() - shown {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
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
        let hyphens = ends.match_indices('-');
        let mut all = hyphens.map(|(i, _)| (&ends[..i], &ends[i + 1..]));
        let mut splits = all.clone().filter(|(a, b)| known(a) && known(b) && a != b);
        match (splits.next(), splits.next()) {
            (Some((a, b)), None) => Ok(CablingChange::Link {
                a: a.to_owned(),
                b: b.to_owned(),
                rate,
            }),
            (None, _) => {
                let unknown = all.find_map(|(a, b)| match (known(a), known(b)) {
                    (true, false) => Some(b),
                    (false, true) => Some(a),
                    _ => None,
                });
                Err(match unknown {
                    Some(name) => CablingChangeError::End {
                        link: ends.to_owned(),
                        name: name.to_owned(),
                        known: KnownNames::switches(file),
                    },
                    None => CablingChangeError::Ends(ends.to_owned()),
                })
            }
            // The names can be read in several ways.
            (Some(_), Some(_)) => Err(CablingChangeError::Ends(ends.to_owned())),
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
                    .ok_or_else(|| unknown_switch(&file, root))?;
                file.switches[..=at].rotate_right(1);
            }
            CablingChange::Move { host, switch } => {
                if !file.switches.contains(switch) {
                    return Err(unknown_switch(&file, switch));
                }
                match file.hosts.get_mut(host) {
                    Some(host) => host.switch.clone_from(switch),
                    None => {
                        let (name, known) =
                            (host.clone(), KnownNames::collected(file.hosts.keys()));
                        return Err(CablingChangeError::Host { name, known });
                    }
                }
            }
            CablingChange::Link { a, b, rate } => link(&mut file, a, b, *rate)?,
            CablingChange::Beside { name, like } => beside(&mut file, name, like)?,
        }
        let root = file.switches.first().cloned();
        Ok(root
            .and_then(|root| spanning_tree::with_spanning_tree(&file, &root))
            .unwrap_or(file))
    }
}

fn beside(file: &mut TopologyFile, name: &str, like: &str) -> Result<(), CablingChangeError> {
    if !is_name(name) || is_inner(file, name) || file.hosts.contains_key(name) {
        return Err(CablingChangeError::Taken(name.to_owned()));
    }
    let lists = [&mut file.switches, &mut file.routers];
    let own = lists
        .into_iter()
        .find(|list| list.iter().any(|inner| inner == like));
    match own {
        Some(list) => list.push(name.to_owned()),
        None => return Err(unknown_switch(file, like)),
    }
    let copies: Vec<TopologyCable> = (file.links.iter())
        .filter(|cable| cable.a == like || cable.b == like)
        .map(|cable| {
            let mut copy = TopologyCable {
                addresses: [None; 2],
                ..cable.clone()
            };
            let end = if cable.a == like {
                &mut copy.a
            } else {
                &mut copy.b
            };
            name.clone_into(end);
            copy
        })
        .collect();
    file.links.extend(copies);
    Ok(())
}

fn unknown_switch(file: &TopologyFile, name: &str) -> CablingChangeError {
    CablingChangeError::Switch {
        name: name.to_owned(),
        known: KnownNames::switches(file),
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
                let at = found.switch.clone();
                if !is_inner(file, switch) {
                    return Err(unknown_switch(file, switch));
                }
                let (host, switch) = (host.to_owned(), switch.to_owned());
                return Err(CablingChangeError::SecondCable { host, switch, at });
            }
            found.rate = rate;
            return Ok(());
        }
    }
    if let Some(unknown) = [a, b].into_iter().find(|name| !is_inner(file, name)) {
        return Err(unknown_switch(file, unknown));
    }
    let cables = file.links.iter_mut();
    let between = cables.filter(|l| (l.a == a && l.b == b) || (l.a == b && l.b == a));
    match between.max_by_key(|l| l.rate) {
        Some(cable) => cable.rate = rate,
        None => {
            let cable = TopologyCable::new(a.to_owned(), b.to_owned(), rate);
            file.links.push(cable);
        }
    }
    Ok(())
}

impl fmt::Display for CablingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CablingChange::RootBridge(switch) => write!(f, "root bridge {switch}"),
            CablingChange::Move { host, switch } => write!(f, "move {host} to {switch}"),
            CablingChange::Link { a, b, rate } => write!(f, "link {a}-{b} at {rate}"),
            CablingChange::Beside { name, like } => write!(f, "{name} beside {like}"),
        }
    }
}
