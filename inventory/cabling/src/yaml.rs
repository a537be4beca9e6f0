//! Plans as topology files that may name ports.
use super::{Cable, PlannedCable, PtmNaming};
use indexmap::IndexMap;
use inventory::ranged_keys::{self, RangedEntry, one_each};
use inventory::sanitize::{LABEL, is_label};
use inventory::topology::LinkState;
use inventory::topology_file::{self, InputFileError, TopologyFile};
use inventory::yaml::{self, PlaceStep};
use inventory::{BitsPerSec, name_ranges, units};
use serde::Deserialize;
use std::time::Duration;

/// A [`TopologyFile`] with ports.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a map with switches, hosts and links"
)]
struct PlanFile {
    #[serde(deserialize_with = "ranged_keys::list")]
    switches: Vec<String>,
    #[serde(default, deserialize_with = "ranged_keys::list")]
    routers: Vec<String>,
    #[serde(deserialize_with = "ranged_keys::map")]
    hosts: IndexMap<String, PlanFileHost>,
    #[serde(default)]
    links: Vec<PlanFileCable>,
    #[serde(default, deserialize_with = "ranged_keys::groups")]
    clusters: IndexMap<String, Vec<String>>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map like {switch: s0, port: swp1}")]
struct PlanFileHost {
    switch: String,
    /// The switch's port.
    #[serde(default)]
    port: String,
    #[serde(default = "topology_file::gigabit")]
    rate: BitsPerSec,
    #[serde(default, with = "units::duration")]
    delay: Duration,
    #[serde(default = "topology_file::one")]
    ranks: u32,
}

/// The ports of a range of hosts are a range, too: `n[1-8]: {switch: s0, port: "swp[1-8]"}`.
impl RangedEntry for PlanFileHost {
    type Written = PlanFileHost;

    fn spread(written: Option<PlanFileHost>, names: &[String]) -> Result<Vec<Self>, String> {
        let name = names.first().map_or("", String::as_str);
        let host = written.ok_or_else(|| {
            format!("host \"{name}\": expected its switch, as in {name}: {{switch: s0}}")
        })?;
        if names.len() == 1 || host.port.is_empty() {
            return Ok(vec![host; names.len()]);
        }
        let ports = name_ranges::expand(&host.port).map_err(|e| e.to_string())?;
        let at = |port| PlanFileHost {
            port,
            ..host.clone()
        };
        Ok(one_each("ports", ports, names)?
            .into_iter()
            .map(at)
            .collect())
    }
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a map like {a: s0, a_port: swp1, b: s1, b_port: swp1}"
)]
struct PlanFileCable {
    a: String,
    #[serde(default)]
    a_port: String,
    b: String,
    #[serde(default)]
    b_port: String,
    #[serde(default = "topology_file::gigabit")]
    rate: BitsPerSec,
    #[serde(default, with = "units::duration")]
    delay: Duration,
    #[serde(default)]
    state: Option<LinkState>,
}

/// The cables of a plan: those of switches as listed, then those of hosts.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<PlannedCable>, InputFileError> {
    let written: PlanFile = yaml::read(file, text)?;
    written.without_ports().checked(file, text)?;
    let cables = written.cables();
    let hostile = cables.iter().enumerate().find_map(|(number, cable)| {
        let ports = [&cable.a_port, &cable.b_port];
        Some((number, ports.into_iter().find(|port| !is_label(port))?))
    });
    match hostile {
        Some((number, port)) => Err(InputFileError::Content {
            file: file.to_owned(),
            line: line_of_cable(text, number),
            problem: format!("port {port:?}: expected {LABEL}"),
        }),
        None => Ok(cables
            .into_iter()
            .map(|cable| PlannedCable {
                line: None,
                cable,
                naming: PtmNaming::default(),
            })
            .collect()),
    }
}

/// The line of a cable of [`read`], by its number. It reads the text again, so it is for errors.
pub(super) fn line_of_cable(text: &str, number: usize) -> Option<usize> {
    let written: PlanFile = yaml::read("", text).ok()?;
    let (section, step) = match number.checked_sub(written.links.len()) {
        None => ("links", PlaceStep::Item(number)),
        Some(host) => {
            let (name, _) = written.hosts.get_index(host)?;
            ("hosts", PlaceStep::Name(name))
        }
    };
    yaml::line_of(text, &[PlaceStep::Name(section), step])
}

impl PlanFile {
    /// The part that a plan shares with a topology file. It is checked as a topology file.
    fn without_ports(&self) -> TopologyFile {
        let host = |h: &PlanFileHost| topology_file::TopologyHost {
            delay: h.delay,
            ranks: h.ranks,
            ..topology_file::TopologyHost::new(h.switch.clone(), h.rate)
        };
        let link = |l: &PlanFileCable| topology_file::TopologyCable {
            a: l.a.clone(),
            b: l.b.clone(),
            rate: l.rate,
            delay: l.delay,
            state: l.state,
        };
        TopologyFile {
            switches: self.switches.clone(),
            routers: self.routers.clone(),
            hosts: self
                .hosts
                .iter()
                .map(|(name, h)| (name.clone(), host(h)))
                .collect(),
            links: self.links.iter().map(link).collect(),
            clusters: self.clusters.clone(),
            ..TopologyFile::default()
        }
    }

    fn cables(self) -> Vec<Cable> {
        let trunks = self.links.into_iter().map(|l| Cable {
            a: l.a,
            a_port: l.a_port,
            b: l.b,
            b_port: l.b_port,
            rate_bps: Some(l.rate),
            state: l.state,
        });
        let uplinks = self.hosts.into_iter().map(|(name, h)| Cable {
            a: h.switch,
            a_port: h.port,
            b: name,
            b_port: String::new(),
            rate_bps: Some(h.rate),
            state: None,
        });
        trunks.chain(uplinks).collect()
    }
}
