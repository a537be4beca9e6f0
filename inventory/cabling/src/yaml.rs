//! Plans as topology files that may name ports.
use super::{Cable, PlannedCable, PtmNaming};
use indexmap::IndexMap;
use inventory::ranged_keys::{self, RangedEntry, one_each};
use inventory::sanitize::{LABEL, is_label};
use inventory::topology::LinkState;
use inventory::topology_file::{self, InputFileError, TopologyFile};
use inventory::yaml::{self, PlaceStep};
use inventory::{BitsPerSec, name_ranges};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A [`TopologyFile`] with ports, as far as cables are concerned.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a map with switches, hosts and links"
)]
struct PlanFile {
    #[serde(rename = "switches", deserialize_with = "ranged_keys::list")]
    _switches: Vec<String>,
    #[serde(rename = "routers", default)]
    _routers: IgnoredAny,
    #[serde(deserialize_with = "ranged_keys::map")]
    hosts: IndexMap<String, PlanFileHost>,
    #[serde(default)]
    links: Vec<PlanFileCable>,
    #[serde(rename = "clusters", default)]
    _clusters: IgnoredAny,
    #[serde(rename = "networks", default)]
    _networks: IgnoredAny,
}

/// A host with its only card, or with several.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map like {switch: s0, port: swp1}")]
struct PlanFileHost {
    #[serde(default)]
    switch: Option<String>,
    /// The switch's port.
    #[serde(default)]
    port: String,
    #[serde(default = "topology_file::gigabit")]
    rate: BitsPerSec,
    #[serde(rename = "delay", default)]
    _delay: IgnoredAny,
    #[serde(rename = "ranks", default)]
    _ranks: IgnoredAny,
    #[serde(rename = "network", default)]
    _network: IgnoredAny,
    #[serde(rename = "address", default)]
    _address: IgnoredAny,
    #[serde(default)]
    cards: Vec<PlanFileCard>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map like {switch: s0, port: swp1}")]
struct PlanFileCard {
    switch: String,
    /// The switch's port.
    #[serde(default)]
    port: String,
    #[serde(default = "topology_file::gigabit")]
    rate: BitsPerSec,
    #[serde(rename = "delay", default)]
    _delay: IgnoredAny,
    #[serde(rename = "network", default)]
    _network: IgnoredAny,
    #[serde(rename = "address", default)]
    _address: IgnoredAny,
}

/// The ports of a range of hosts are a range, too: `n[1-8]: {switch: s0, port: "swp[1-8]"}`.
impl RangedEntry for PlanFileHost {
    type Written = PlanFileHost;

    fn spread(written: Option<PlanFileHost>, names: &[String]) -> Result<Vec<Self>, String> {
        let name = names.first().map_or("", String::as_str);
        let host = written.ok_or_else(|| {
            format!("host \"{name}\": expected its switch, as in {name}: {{switch: s0}}")
        })?;
        let mut hosts = vec![host.clone(); names.len()];
        if names.len() == 1 {
            return Ok(hosts);
        }
        for (host, port) in hosts.iter_mut().zip(one_port_each(&host.port, names)?) {
            host.port = port;
        }
        for (number, card) in host.cards.iter().enumerate() {
            for (host, port) in hosts.iter_mut().zip(one_port_each(&card.port, names)?) {
                host.cards[number].port = port;
            }
        }
        Ok(hosts)
    }
}

fn one_port_each(port: &str, names: &[String]) -> Result<Vec<String>, String> {
    if port.is_empty() {
        return Ok(vec![String::new(); names.len()]);
    }
    let ports = name_ranges::expand(port).map_err(|e| e.to_string())?;
    one_each("ports", ports, names)
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
    #[serde(rename = "cables", default)]
    _cables: IgnoredAny,
    #[serde(rename = "a_address", default)]
    _a_address: IgnoredAny,
    #[serde(rename = "b_address", default)]
    _b_address: IgnoredAny,
    #[serde(rename = "delay", default)]
    _delay: IgnoredAny,
    #[serde(rename = "network", default)]
    _network: IgnoredAny,
    #[serde(default)]
    state: Option<LinkState>,
}

/// The cables of a plan: those of switches as listed, then those of hosts.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<PlannedCable>, InputFileError> {
    let written: PlanFile = yaml::read(file, text)?;
    TopologyFile::parse_plan(file, text)?;
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
        Some(card) => {
            let hosts = written.hosts.iter();
            let mut cards = hosts.flat_map(|(name, host)| {
                let count = host.cards.len().max(1);
                std::iter::repeat_n(name, count)
            });
            ("hosts", PlaceStep::Name(cards.nth(card)?))
        }
    };
    yaml::line_of(text, &[PlaceStep::Name(section), step])
}

impl PlanFile {
    fn cables(self) -> Vec<Cable> {
        let trunks = self.links.into_iter().map(|l| Cable {
            a: l.a,
            a_port: l.a_port,
            b: l.b,
            b_port: l.b_port,
            rate_bps: Some(l.rate),
            state: l.state,
        });
        let uplinks = self.hosts.into_iter().flat_map(|(name, host)| {
            host.all_cards().map(move |card| Cable {
                a: card.switch,
                a_port: card.port,
                b: name.clone(),
                b_port: String::new(),
                rate_bps: Some(card.rate),
                state: None,
            })
        });
        trunks.chain(uplinks).collect()
    }
}

impl PlanFileHost {
    fn all_cards(self) -> impl Iterator<Item = PlanFileCard> {
        let only = self.switch.map(|switch| PlanFileCard {
            switch,
            port: self.port,
            rate: self.rate,
            _delay: IgnoredAny,
            _network: IgnoredAny,
            _address: IgnoredAny,
        });
        only.into_iter().chain(self.cards)
    }
}
