//! Contradictions in a topology file, each with its place in the text.
use super::{InputFileError, TopologyCable, TopologyFile, is_name};
use crate::config::yaml::{PlaceStep, line_of};
use crate::model::address::AddressFault;
use crate::model::tree::TreeError;
use crate::model::units;
use std::collections::HashSet;
use std::time::Duration;

/// The longest delay of a cable. Twice the path over a geostationary satellite takes less.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// A contradiction, and the way to its place in the text.
pub(super) struct TopologyContradiction<'a> {
    place: Vec<PlaceStep<'a>>,
    problem: String,
}

impl<'a> TopologyContradiction<'a> {
    fn at(section: &'a str, step: PlaceStep<'a>, problem: String) -> TopologyContradiction<'a> {
        TopologyContradiction {
            place: vec![PlaceStep::Name(section), step],
            problem,
        }
    }

    pub(super) fn of_network(name: &'a str, problem: String) -> TopologyContradiction<'a> {
        let problem = format!("network \"{name}\": {problem}");
        TopologyContradiction::at("networks", PlaceStep::Name(name), problem)
    }

    pub(super) fn of_host(
        name: &'a str,
        problem: impl std::fmt::Display,
    ) -> TopologyContradiction<'a> {
        let problem = format!("host \"{name}\": {problem}");
        TopologyContradiction::at("hosts", PlaceStep::Name(name), problem)
    }

    pub(super) fn of_link(
        number: usize,
        link: &TopologyCable,
        problem: &str,
    ) -> TopologyContradiction<'a> {
        let problem = format!("link {}-{}: {problem}", link.a, link.b);
        TopologyContradiction::at("links", PlaceStep::Item(number), problem)
    }

    /// The problem, without its place.
    pub(super) fn problem(self) -> String {
        self.problem
    }

    /// The error about a file with this text; `file` is its name.
    pub(super) fn in_text(self, file: &str, text: &str) -> InputFileError {
        InputFileError::Content {
            file: file.to_owned(),
            line: line_of(text, &self.place),
            problem: self.problem,
        }
    }
}

fn too_long(delay: Duration) -> Option<String> {
    let (stated, most) = (
        units::duration::show(delay),
        units::duration::show(LONGEST_DELAY),
    );
    (delay > LONGEST_DELAY).then(|| {
        format!(
            "delay {stated}: expected at most {most}; it is the time one way, 5ms for 1000 km of \
             fibre"
        )
    })
}

impl TopologyFile {
    pub(super) fn contradiction(&self) -> Option<TopologyContradiction<'_>> {
        self.all_networks()
            .find_map(|network| {
                network
                    .name_trouble()
                    .or_else(|| network.host_trouble())
                    .or_else(|| network.link_trouble())
                    .or_else(|| network.pair_trouble())
            })
            .or_else(|| self.cluster_trouble())
    }

    /// The place of links that are no tree.
    pub(super) fn no_tree(&self, error: &TreeError) -> TopologyContradiction<'_> {
        let place = match error {
            TreeError::Loop(a, b) | TreeError::Parallel(a, b) => {
                let place = self.links.iter().rposition(|link| joins(link, [a, b]));
                let link = place.map(PlaceStep::Item);
                [PlaceStep::Name("links")].into_iter().chain(link).collect()
            }
            TreeError::Apart(_, lost) => {
                let section = match (self.switches.contains(lost), self.routers.contains(lost)) {
                    (true, _) => "switches",
                    (_, true) => "routers",
                    _ => "hosts",
                };
                let names = self.inner().chain(self.hosts.keys().map(String::as_str));
                let name = names.into_iter().find(|names| names == lost);
                let steps = [Some(PlaceStep::Name(section)), name.map(PlaceStep::Name)];
                steps.into_iter().flatten().collect()
            }
            TreeError::NoHost
            | TreeError::Unknown(_)
            | TreeError::Twice(_)
            | TreeError::Ambiguous(_) => vec![PlaceStep::Name("hosts")],
        };
        let problem = match &self.name {
            Some(network) => format!("network \"{network}\": {error}"),
            None => error.to_string(),
        };
        TopologyContradiction { place, problem }
    }

    fn name_trouble(&self) -> Option<TopologyContradiction<'_>> {
        let lists = [("switches", &self.switches), ("routers", &self.routers)];
        let listed = lists
            .into_iter()
            .flat_map(|(section, names)| names.iter().map(move |name| (section, name)));
        let hosts = self.hosts.keys().map(|name| ("hosts", name));
        let mut seen = HashSet::new();
        for (section, name) in listed.chain(hosts) {
            let problem = if !is_name(name) {
                format!("name {name:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\"")
            } else if !seen.insert(name) {
                format!("name \"{name}\" declared twice; every switch and host needs its own")
            } else {
                continue;
            };
            let step = PlaceStep::Name(name);
            return Some(TopologyContradiction::at(section, step, problem));
        }
        None
    }

    /// The message about an end that is neither switch nor router.
    fn unknown(&self, end: &str) -> String {
        let switches = self.switches.join(", ");
        if self.routers.is_empty() {
            return format!("unknown switch \"{end}\"; known switches: {switches}");
        }
        format!(
            "\"{end}\" is neither switch nor router; known switches: {switches}; known routers: {}",
            self.routers.join(", ")
        )
    }

    fn host_trouble(&self) -> Option<TopologyContradiction<'_>> {
        let inner: HashSet<&str> = self.inner().collect();
        self.hosts.iter().find_map(|(name, host)| {
            let mut switches = host.cards().map(|(switch, _)| switch);
            let unknown = switches.find(|switch| !inner.contains(switch));
            let problem = if let Some(switch) = unknown {
                self.unknown(switch)
            } else if host.ranks == 0 || host.ranks > 65_536 {
                format!("ranks {}: expected 1 to 65536", host.ranks)
            } else if let Some((address, wrong)) = host
                .address
                .and_then(|a| Some((a, AddressFault::of_stated(a)?)))
            {
                format!(
                    "address {address}: {wrong}; expected the host's own, by which other ranks \
                     reach it"
                )
            } else {
                too_long(host.delay)?
            };
            Some(TopologyContradiction::of_host(name, problem))
        })
    }

    fn link_trouble(&self) -> Option<TopologyContradiction<'_>> {
        let inner: HashSet<&str> = self.inner().collect();
        for (number, link) in self.links.iter().enumerate() {
            let unknown = [&link.a, &link.b]
                .into_iter()
                .find(|end| !inner.contains(end.as_str()));
            let problem = if let Some(end) = unknown {
                match self.hosts.get(end) {
                    Some(_) => format!(
                        "\"{end}\" is a host; links join switches, and a host's cable is stated \
                         under hosts as {end}: {{switch: NAME}}"
                    ),
                    None => self.unknown(end),
                }
            } else if link.a == link.b {
                let what = if self.routers.contains(&link.a) {
                    "router"
                } else {
                    "switch"
                };
                format!("both ends are the same {what}")
            } else if let Some(problem) = too_long(link.delay) {
                problem
            } else {
                continue;
            };
            return Some(TopologyContradiction::of_link(number, link, &problem));
        }
        let linked: HashSet<&str> = self
            .links
            .iter()
            .flat_map(|l| [l.a.as_str(), l.b.as_str()])
            .collect();
        let lone = self
            .routers
            .iter()
            .find(|router| !linked.contains(router.as_str()))?;
        let problem = format!(
            "router \"{lone}\": no link ends at it, so it joins nothing; add one like \
             {{a: SWITCH, b: {lone}}} or leave it out"
        );
        let step = PlaceStep::Name(lone);
        Some(TopologyContradiction::at("routers", step, problem))
    }

    fn pair_trouble(&self) -> Option<TopologyContradiction<'_>> {
        let mut boxes_met = HashSet::new();
        let inner: HashSet<&str> = self.inner().collect();
        self.pairs.iter().find_map(|(pair, boxes)| {
            let is_box = boxes.contains(pair);
            let unknown = boxes.iter().find(|name| !inner.contains(name.as_str()));
            let problem = if !is_name(pair) {
                format!("name {pair:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\"")
            } else if boxes.len() < 2 {
                "expected the names of its two boxes".to_owned()
            } else if let Some(name) = unknown {
                self.unknown(name)
            } else if !is_box && (inner.contains(pair.as_str()) || self.hosts.contains_key(pair)) {
                "another node has its name".to_owned()
            } else if let Some(name) = boxes.iter().find(|name| !boxes_met.insert(*name)) {
                format!("\"{name}\" is named twice; a box is of one pair")
            } else {
                return None;
            };
            let (step, problem) = (PlaceStep::Name(pair), format!("pair \"{pair}\": {problem}"));
            Some(TopologyContradiction::at("pairs", step, problem))
        })
    }

    fn cluster_trouble(&self) -> Option<TopologyContradiction<'_>> {
        let mut member = HashSet::new();
        for (cluster, hosts) in &self.clusters {
            for host in hosts {
                let problem = if !self.hosts.contains_key(host) {
                    format!("cluster \"{cluster}\": unknown host \"{host}\"; list it under hosts")
                } else if !member.insert(host) {
                    format!(
                        "cluster \"{cluster}\": host \"{host}\" is in two clusters; each host is \
                         in one"
                    )
                } else {
                    continue;
                };
                let step = PlaceStep::Name(cluster);
                return Some(TopologyContradiction::at("clusters", step, problem));
            }
        }
        None
    }
}

fn joins(link: &TopologyCable, ends: [&String; 2]) -> bool {
    ends == [&link.a, &link.b] || ends == [&link.b, &link.a]
}
