//! The links among which a router chooses: those to routers that are nearer to where a packet goes.
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The links from each router to one of them, at least.
#[derive(Debug, Clone)]
pub struct RouterDistances<N>(HashMap<N, u32>);

impl<N> RouterDistances<N> {
    /// The number of links from the router that is furthest away.
    pub fn furthest(&self) -> u32 {
        self.0.values().copied().max().unwrap_or(0)
    }
}

/// Routers and the links between them, by number.
#[derive(Debug, Clone)]
pub struct RouterGraph<N> {
    /// The links of each router, with the router beyond.
    links: HashMap<N, Vec<(usize, N)>>,
}

impl<N: Copy + Eq + Hash> RouterGraph<N> {
    /// Two routers may have several links.
    pub fn new(links: impl IntoIterator<Item = (usize, [N; 2])>) -> RouterGraph<N> {
        let mut beside: HashMap<N, Vec<(usize, N)>> = HashMap::new();
        for (link, [a, b]) in links {
            beside.entry(a).or_default().push((link, b));
            beside.entry(b).or_default().push((link, a));
        }
        RouterGraph { links: beside }
    }

    /// The links of a router that lead nearer to the one to which distances are known, with the routers beyond.
    pub fn choice(&self, from: N, to: &RouterDistances<N>) -> Vec<(usize, N)> {
        let RouterDistances(distances) = to;
        let own = distances.get(&from).copied().unwrap_or(0);
        self.links_of(from)
            .filter(|(_, far)| distances.get(far).is_some_and(|far| *far < own))
            .collect()
    }

    pub(crate) fn links_of(&self, router: N) -> impl Iterator<Item = (usize, N)> + '_ {
        self.links.get(&router).into_iter().flatten().copied()
    }

    /// Cost: a pass over all links.
    pub fn distances(&self, to: N) -> RouterDistances<N> {
        let mut distances = HashMap::from([(to, 0)]);
        let mut next = VecDeque::from([to]);
        while let Some(router) = next.pop_front() {
            let further = distances[&router] + 1;
            for (_, far) in self.links_of(router) {
                distances.entry(far).or_insert_with(|| {
                    next.push_back(far);
                    further
                });
            }
        }
        RouterDistances(distances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_links_that_lead_nearer_are_a_choice() {
        let links = [
            ["a", "s"],
            ["a", "s"],
            ["a", "t"],
            ["s", "b"],
            ["t", "c"],
            ["c", "b"],
        ];
        let graph = RouterGraph::new(links.into_iter().enumerate());
        let choice = |from, to| graph.choice(from, &graph.distances(to));
        assert_eq!(choice("a", "b"), [(0, "s"), (1, "s")]);
        assert_eq!(choice("a", "c"), [(2, "t")]);
        assert_eq!(choice("a", "a"), []);
        assert_eq!(choice("a", "elsewhere"), []);
    }
}
