//! Trees whose leaves are ranks.
use super::{NodeNumber, Tree, TreeCable, TreeError};
use crate::BitsPerSec;

impl Tree {
    /// True for a host that is no leaf: its ranks are leaves below it ([`Tree::with_ranks`]).
    pub fn holds_ranks(&self, node: NodeNumber) -> bool {
        self.hosts_of_ranks.binary_search(&node).is_ok()
    }

    /// True if there is such a host.
    pub fn has_ranks_on_hosts(&self) -> bool {
        !self.hosts_of_ranks.is_empty()
    }

    /// The tree with ranks as leaves: leaf `r` has the name `ranks[r].0` and runs on host
    /// `ranks[r].1`. A host with one rank is that leaf. A host with several becomes a switch to
    /// which they are cabled at the host's own rate, so that its cable counts once for all of them.
    /// Hosts without ranks are dropped.
    ///
    /// # Errors
    /// As [`Tree::restrict`] and [`Tree::new`], if a host number or a name is wrong.
    pub fn with_ranks(&self, ranks: &[(String, NodeNumber)]) -> Result<Tree, TreeError> {
        let mut leaves: Vec<Vec<&str>> = vec![Vec::new(); self.hosts as usize];
        for (name, host) in ranks {
            leaves
                .get_mut(*host as usize)
                .ok_or_else(|| TreeError::Unknown(format!("number {host}")))?
                .push(name);
        }
        let used: Vec<&str> = self
            .host_names()
            .iter()
            .zip(&leaves)
            .filter(|(_, own)| !own.is_empty())
            .map(|(h, _)| h.as_str())
            .collect();
        let tree = self.restrict(&used)?;
        leaves.retain(|own| !own.is_empty());
        let name = |v: NodeNumber| match leaves.get(v as usize).map(Vec::as_slice) {
            Some([only]) => *only,
            _ => tree.name(v),
        };
        let shared = || {
            (0..tree.hosts)
                .zip(&leaves)
                .filter(|(_, own)| own.len() > 1)
        };
        let switches: Vec<&str> = (tree.hosts..tree.nodes())
            .chain(shared().map(|(host, _)| host))
            .map(|v| tree.name(v))
            .collect();
        let mut cables: Vec<TreeCable<'_>> = Vec::with_capacity(tree.names.len() + ranks.len());
        for &v in &tree.order {
            if let Some(parent) = tree.parent(v) {
                cables.push(TreeCable {
                    a: name(parent),
                    b: name(v),
                    rate: tree.rate(v),
                });
            }
        }
        for (host, own) in shared() {
            // A host that is alone in its tree has no cable, and messages between its ranks never
            // leave it.
            let parent = tree.parent(host);
            let rate = parent.map_or(BitsPerSec::GIGABIT, |_| tree.rate(host));
            cables.extend(own.iter().map(|rank| TreeCable {
                a: tree.name(host),
                b: rank,
                rate,
            }));
        }
        let named: Vec<(&str, u32)> = ranks.iter().map(|(name, _)| (name.as_str(), 1)).collect();
        let members = tree.members_named(name);
        let first = (ranks.len() + switches.len() - shared().count()) as NodeNumber;
        let tree = Tree::new(&named, &switches, &cables)?;
        Ok(Tree {
            hosts_of_ranks: (first..tree.nodes()).collect(),
            ..tree.with_members(&members).with_queue(Some(self.queue))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn ranks_hang_on_their_host() {
        let ranks = [("r0", 3), ("r1", 0), ("r2", 3)].map(|(name, host)| (name.to_owned(), host));
        let t = sample().with_ranks(&ranks).unwrap();
        assert_eq!(t.host_names(), ["r0", "r1", "r2"]);
        assert_eq!(way(0, 2, &t), ["n3", "r2"]);
        assert_eq!(way(0, 1, &t), ["n3", "r1", "s0", "s1", "s2"]);
        let some = t.restrict(&["r1", "r2"]).unwrap();
        for tree in [&t, &some, &t.hang_from(4)] {
            let nodes = (0..tree.nodes()).filter(|&node| tree.holds_ranks(node));
            assert_eq!(
                nodes.map(|node| tree.name(node)).collect::<Vec<_>>(),
                ["n3"]
            );
        }
        let alone = sample()
            .with_ranks(&[("a".to_owned(), 1), ("b".to_owned(), 1)])
            .unwrap();
        assert_eq!(
            (alone.hosts(), alone.nodes(), alone.rate(0)),
            (2, 3, BitsPerSec::GIGABIT)
        );
        assert!(sample().with_ranks(&[("a".to_owned(), 9)]).is_err());
        assert!(sample().with_ranks(&[]).is_err());
    }

    fn way(a: NodeNumber, b: NodeNumber, t: &Tree) -> Vec<String> {
        let mut nodes = Vec::new();
        t.path(a, b, |e| {
            nodes.push(t.name(t.ends(e).unwrap().1).to_owned())
        });
        nodes.sort();
        nodes
    }
}
