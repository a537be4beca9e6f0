//! Ranks by name: `n0` is the only rank of host n0; `n0:0`, `n0:1`, … are the ranks of a host with
//! several. Names of hosts contain no colon.
use crate::model::tree::{NodeNumber, Tree, TreeError};

/// The ranks that the tree's hosts offer, host by host.
pub fn names(tree: &Tree) -> Vec<String> {
    (0..tree.hosts())
        .flat_map(|host| {
            let (name, ranks) = (tree.name(host), tree.ranks(host));
            (0..ranks).map(move |rank| {
                if ranks == 1 {
                    name.to_owned()
                } else {
                    format!("{name}:{rank}")
                }
            })
        })
        .collect()
}

/// The number of ranks that the tree's hosts offer, without naming them.
pub fn count(tree: &Tree) -> u64 {
    (0..tree.hosts())
        .map(|host| u64::from(tree.ranks(host)))
        .sum()
}

/// The tree whose leaves are these ranks, in this order ([`Tree::with_ranks`]).
///
/// # Errors
/// [`TreeError`] without ranks, for a rank that is listed twice, and for one that its host does not
/// offer.
pub fn tree<S: AsRef<str>>(tree: &Tree, ranks: &[S]) -> Result<Tree, TreeError> {
    let numbers: std::collections::HashMap<&str, NodeNumber> = tree
        .host_names()
        .iter()
        .map(String::as_str)
        .zip(0..)
        .collect();
    let places = ranks
        .iter()
        .map(|name| {
            let name = name.as_ref();
            resolve(name, &numbers, tree)
                .map(|host| (name.to_owned(), host))
                .ok_or_else(|| TreeError::Unknown(name.to_owned()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = first_repeated(&places) {
        return Err(TreeError::Twice(twice));
    }
    // If each host has one rank, named like the host, no new leaves are needed. This is the common
    // case.
    if ranks.iter().all(|name| !name.as_ref().contains(':')) {
        tree.restrict(ranks)
    } else {
        tree.with_ranks(&places)
    }
}

fn resolve(
    name: &str,
    numbers: &std::collections::HashMap<&str, NodeNumber>,
    tree: &Tree,
) -> Option<NodeNumber> {
    let (host, rank) = match name.split_once(':') {
        None => (name, 0),
        Some((host, rank)) => (
            host,
            rank.parse().ok().filter(|r: &u32| r.to_string() == rank)?,
        ),
    };
    numbers
        .get(host)
        .copied()
        .filter(|&host| rank < tree.ranks(host))
}

fn first_repeated(places: &[(String, NodeNumber)]) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    places
        .iter()
        .map(|(name, _)| name)
        .find(|name| !seen.insert(name.as_str()))
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopologyFile;

    fn sample() -> Tree {
        let text = "switches: [s]\nhosts: \
                    {a: {switch: s, ranks: 2}, b: {switch: s}, c: {switch: s, ranks: 3}}";
        TopologyFile::parse("test", text).unwrap().tree().unwrap()
    }

    #[test]
    fn several_ranks_are_numbered() {
        assert_eq!(names(&sample()), ["a:0", "a:1", "b", "c:0", "c:1", "c:2"]);
        assert_eq!(count(&sample()), 6);
    }

    #[test]
    fn ranks_are_found_by_name() {
        let whole = sample();
        let t = tree(&whole, &["c:2", "b", "c:0"]).unwrap();
        assert_eq!(t.host_names(), ["c:2", "b", "c:0"]);
        assert_eq!(t.nodes(), 5, "three ranks, host c and the switch");
        assert_eq!(tree(&whole, &["b", "a"]).unwrap().nodes(), 3);
        for unknown in ["a:2", "b:1", "a:01", "a:", "d", "a:-0", ":1"] {
            assert_eq!(
                tree(&whole, &[unknown]).unwrap_err(),
                TreeError::Unknown(unknown.to_owned())
            );
        }
        assert_eq!(
            tree(&whole, &["a:1", "b", "a:1"]).unwrap_err(),
            TreeError::Twice("a:1".to_owned())
        );
        assert_eq!(tree(&whole, &["b"; 0]).unwrap_err(), TreeError::NoHost);
    }
}
