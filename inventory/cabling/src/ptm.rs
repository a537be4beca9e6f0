//! The naming in plans of the Prescriptive Topology Manager (PTM): the kind of names for the ends
//! of cables, and the ends of the network that they refer to.
//!
//! Attributes state the kind of names; those of an edge take precedence over those of the graph.
//! They are `hostnametype="hostname|fqdn"` and
//! `LLDP="match_type=ifname|portdescr,match_hostname=hostname|fqdn"`, or `LLDP="lldptmpl=NAME"`
//! with an attribute NAME of the graph that has such a value. Source: ptmd(8), "Supported
//! parameters and values". Deviations: PTM on a switch names its own port by its name, and only its
//! neighbour's by description; here both ends may be named either way.
use super::{Cable, CablingPlan};
use inventory::descriptions::PortDescriptions;
use inventory::topology::Topology;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

/// The kind of names for the ends of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PtmNaming {
    /// Ports may also be named by their LLDP port description (IEEE 802.1AB 8.5.5).
    pub described: bool,
    /// If a node is not found by its whole name, the part before the first dot decides.
    pub short: bool,
}

impl CablingPlan {
    /// The same plan with the network's names for its ends. An end that the network does not have
    /// keeps its name.
    #[must_use]
    pub fn in_names_of(&self, topology: &Topology, descriptions: &PortDescriptions) -> CablingPlan {
        let nodes = self.nodes(topology);
        let mut plan = self.clone();
        for (cable, naming) in plan.cables.iter_mut().zip(&self.naming) {
            let Cable {
                a,
                a_port,
                b,
                b_port,
                ..
            } = cable;
            for (node, port) in [(a, a_port), (b, b_port)] {
                if let Some(name) = nodes.get(node.as_str()).filter(|_| naming.short) {
                    (*name).clone_into(node);
                }
                if let Some(name) = descriptions.port(node, port).filter(|_| naming.described) {
                    name.clone_into(port);
                }
            }
        }
        plan
    }

    /// The network's names for planned nodes that have another name there with the same first part.
    /// The part must belong to one node in the plan and to one in the network.
    fn nodes<'a>(&'a self, topology: &'a Topology) -> HashMap<&'a str, &'a str> {
        let planned: HashSet<&str> = self
            .cables
            .iter()
            .flat_map(|c| [c.a.as_str(), c.b.as_str()])
            .collect();
        let there: HashSet<&str> = topology.nodes.iter().map(|n| n.name.as_str()).collect();
        let others = by_first_part(there.difference(&planned));
        by_first_part(planned.difference(&there))
            .into_values()
            .flatten()
            .filter_map(|name| Some((name, *others.get(first_part(name))?.as_ref()?)))
            .collect()
    }
}

/// Names by the part before their first dot; `None` for several. An address has no such part.
fn by_first_part<'a, 'n: 'a>(
    names: impl Iterator<Item = &'a &'n str>,
) -> HashMap<&'n str, Option<&'n str>> {
    let mut by_part = HashMap::new();
    for name in names.filter(|name| name.parse::<IpAddr>().is_err()) {
        by_part
            .entry(first_part(name))
            .and_modify(|one| *one = None)
            .or_insert(Some(*name));
    }
    by_part
}

fn first_part(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Attributes by name, of a graph or an edge.
#[derive(Debug, Clone, Default)]
pub(super) struct DotAttributes(BTreeMap<String, String>);

impl DotAttributes {
    pub(super) fn new() -> DotAttributes {
        DotAttributes::default()
    }

    pub(super) fn set(&mut self, name: String, value: String) {
        self.0.insert(name, value);
    }

    /// Adds the attributes of `others`, which take precedence over its own.
    pub(super) fn extend(&mut self, others: DotAttributes) {
        self.0.extend(others.0);
    }

    /// The naming of a cable's ends: `self` is the graph's, `own` the edge's.
    pub(super) fn naming(&self, own: &DotAttributes) -> Result<PtmNaming, String> {
        let host = self.0.get("hostnametype").map_or("", String::as_str);
        let mut naming = PtmNaming {
            described: false,
            short: one_of("hostnametype", host, ["fqdn", "hostname"])?.unwrap_or(true),
        };
        for parameters in [self, own].into_iter().filter_map(|s| s.0.get("LLDP")) {
            let parameters = match parameter(parameters, "lldptmpl") {
                Some(name) => self.0.get(name).ok_or_else(|| {
                    format!("LLDP template {name:?}: the graph has no attribute of this name")
                })?,
                None => parameters,
            };
            let is =
                |key, words| one_of(key, parameter(parameters, key).unwrap_or_default(), words);
            naming.described =
                is("match_type", ["ifname", "portdescr"])?.unwrap_or(naming.described);
            naming.short = is("match_hostname", ["fqdn", "hostname"])?.unwrap_or(naming.short);
        }
        Ok(naming)
    }
}

/// The value of a key in `key=value,key=value`.
fn parameter<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.split(',')
        .filter_map(|part| part.split_once('='))
        .find(|(k, _)| k.trim() == key)
        .map(|(_, value)| value.trim())
}

/// True if a value is the second of two words; `None` if it is missing.
fn one_of(key: &str, value: &str, [no, yes]: [&str; 2]) -> Result<Option<bool>, String> {
    match value {
        "" => Ok(None),
        _ if value.eq_ignore_ascii_case(no) => Ok(Some(false)),
        _ if value.eq_ignore_ascii_case(yes) => Ok(Some(true)),
        _ => Err(format!("{key} {value:?}: expected {no} or {yes}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;

    use inventory::topology::{Link, Node, NodeKind};

    /// `core.lab (swp1) - leaf.lab (swp7)`. The description of core's port is "to leaf", that of
    /// leaf's is "up".
    fn network() -> (Topology, PortDescriptions) {
        let node = |name: &str| Node::new(name, NodeKind::Switch);
        let link = Link::new("core.lab", "swp1", "leaf.lab", "swp7");
        let mut described = PortDescriptions::default();
        for (node, text, port) in [
            ("core.lab", "to leaf", "swp1"),
            ("leaf.lab", "up", "swp7"),
            ("leaf.lab", "", "swp8"),
        ] {
            described.add(node, text, port);
        }
        (
            Topology {
                nodes: ["core.lab", "leaf.lab"].map(node).into(),
                links: vec![link],
                ..Topology::default()
            },
            described,
        )
    }

    fn plan(text: &str) -> CablingPlan {
        CablingPlan::parse("topology.dot", &format!("graph G {{\n{text}\n}}")).unwrap()
    }

    fn fits(text: &str) -> bool {
        let (topology, described) = network();
        compare(&plan(text).in_names_of(&topology, &described), &topology).is_as_planned()
    }

    #[test]
    fn host_names_go_without_their_domain_unless_the_whole_is_asked_for() {
        let cable = r#"core:swp1 -- "leaf.elsewhere":swp7"#;
        assert!(
            fits(cable)
                && fits(&format!(
                    "hostnametype=hostname\n{cable} [LLDP=\"match_hostname=hostname\"]"
                ))
        );
        for whole in [
            format!("{cable} [LLDP=\"match_hostname=fqdn\"]"),
            format!("LLDP=\"match_hostname=FQDN\"\n{cable}"),
            format!("hostnametype=fqdn {cable}"),
        ] {
            assert!(!fits(&whole), "{whole}");
        }
        assert!(fits(
            r#"hostnametype=fqdn "core.lab":swp1 -- "leaf.lab":swp7"#
        ));
    }

    #[test]
    fn a_host_name_that_may_be_two_is_neither() {
        let (topology, described) = network();
        assert_eq!(
            names_in_plan(r#""leaf.x" -- "leaf.y""#, &topology, &described),
            "leaf.x leaf.y"
        );
        assert_eq!(
            names_in_plan(r#""leaf.lab" -- "leaf.y""#, &topology, &described),
            "leaf.lab leaf.y",
            "leaf.lab is planned itself"
        );
        assert_eq!(
            names_in_plan(r#""10.0.0.1" -- leaf"#, &topology, &described),
            "10.0.0.1 leaf.lab"
        );
        let addresses = ["10.0.0.2", "10.lab"].map(|name| Node {
            name: name.into(),
            ..topology.nodes[0].clone()
        });
        let other = Topology {
            nodes: addresses.into(),
            ..Topology::default()
        };
        assert_eq!(
            plan(r#""10.0.0.1" -- 10"#)
                .in_names_of(&other, &described)
                .cables[0]
                .to_string(),
            "10.0.0.1 - 10.lab"
        );
    }

    fn names_in_plan(text: &str, topology: &Topology, described: &PortDescriptions) -> String {
        let plan = plan(text).in_names_of(topology, described);
        plan.cables
            .into_iter()
            .map(|c| format!("{} {}", c.a, c.b))
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn ports_go_by_description_where_asked() {
        let cable = r#"core:"to leaf" -- leaf:"up""#;
        assert!(!fits(cable) && !fits(&format!("LLDP=\"match_type=ifname\" {cable}")));
        for asked in [
            format!("LLDP=\"match_type=portdescr\" {cable}"),
            format!("graph [LLDP=\"match_type=PortDescr\"] {cable}"),
            format!("edge [LLDP=\"match_type=portdescr\"] {cable}"),
            format!("{cable} [BFD=\"\", LLDP=\"match_hostname=hostname, match_type=portdescr\"]"),
            format!("{cable} [LLDP=\"lldptmpl=L2\"] L2=\"match_type=portdescr\""),
            "LLDP=\"match_type=portdescr\" core:swp1 -- leaf:up".to_owned(),
        ] {
            assert!(fits(&asked), "{asked}");
        }
        assert!(
            !fits(&format!(
                "LLDP=\"match_type=portdescr\" {cable} [LLDP=\"match_type=ifname\"]"
            )),
            "an edge's goes before the graph's"
        );
    }

    #[test]
    fn a_description_of_several_ports_is_none() {
        let mut described = PortDescriptions::default();
        for port in ["swp1", "swp1", "swp2"] {
            described.add("s0", "up", port);
            assert_eq!(
                described.port("s0", "up"),
                (port == "swp1").then_some("swp1")
            );
        }
    }

    #[test]
    fn settings_that_mean_nothing_are_refused_with_the_cables_line() {
        for (text, expected) in [
            (
                "a -- b [LLDP=\"match_type=alias\"]",
                "topology.dot:2: match_type \"alias\": expected ifname or portdescr",
            ),
            (
                "hostnametype=short\na -- b",
                "topology.dot:3: hostnametype \"short\": expected fqdn or hostname",
            ),
            (
                "a -- b [LLDP=\"lldptmpl=L9\"]",
                "topology.dot:2: LLDP template \"L9\": the graph has no attribute of this name",
            ),
        ] {
            let problem = CablingPlan::parse("topology.dot", &format!("graph G {{\n{text}\n}}"))
                .unwrap_err()
                .to_string();
            assert!(problem.starts_with(expected), "{problem}");
        }
    }
}
