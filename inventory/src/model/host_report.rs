//! Reports of host agents: network cards, frames received on them, and paths to other hosts.
//!
//! A host speaks only for itself. It reports whole states, not changes: a report replaces the one
//! before, and a lost one does no harm.
use crate::config::sanitize;
use crate::model::address::fault::AddressFault;
use crate::model::observation::neighbours::{BridgeId, NeighbourId, SystemCapabilities};
use crate::{BitsPerSec, Mac, Millis};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

/// The longest text in a report: a TLV's value (IEEE 802.1AB, 9.4) has at most 511 octets, each
/// shown as two digits.
const LONGEST: usize = 1024;
/// The most entries in one list of a report. No host has more cards or hears more bridges.
const MOST: usize = 4096;

/// The number of ranks that a host may offer. No host has more processors, so a larger number is a
/// mistake.
pub const SLOTS: std::ops::RangeInclusive<u32> = 1..=65_536;

/// The report of one host. Agents of other versions may send further lists, which are ignored; an
/// entry that cannot be read is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostReport {
    /// Its name in the inventory.
    pub host: String,
    /// The number of ranks that it offers: its usable processors, unless its operator stated
    /// another number.
    pub slots: u32,
    /// Its Ethernet cards.
    pub nics: Vec<Nic>,
    /// The frames that its cards received and that have not aged out since.
    #[serde(rename = "heard")]
    pub frames: Vec<HeardFrame>,
    /// Probed paths to other hosts.
    pub paths: Vec<ProbedPath>,
    /// Traced flows to other hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TracedFlows>,
    /// True if it traces flows where directions ask for it. Agents that do not say so refuse such
    /// directions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traces_flows: bool,
    /// True if it takes part when the controller measures flows between hosts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measures: bool,
    /// How often each of its cards lost its link since the system started, as far as known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub link_losses: BTreeMap<String, u32>,
}

/// One network card.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// The system's name for it.
    pub name: String,
    /// Its own address; for a member of a bond, its permanent one.
    pub mac: Option<Mac>,
    /// Its network addresses with their prefix lengths.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Its rate; `None` if the system does not know it.
    pub rate: Option<BitsPerSec>,
    /// True if it has a carrier.
    pub up: bool,
    /// The bond or bridge it is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<String>,
    /// Octets received since the system started.
    pub in_octets: u64,
    /// Octets sent.
    pub out_octets: u64,
}

/// A frame received on a card, with facts about the bridge at the other end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeardFrame {
    /// The card's name.
    pub nic: String,
    /// The time at which it was received last, by the host's clock.
    pub at: Millis,
    #[serde(rename = "said")]
    pub content: HeardContent,
}

/// The content of a received frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum HeardContent {
    /// LLDP (IEEE 802.1AB) or CDP. No bridge passes on LLDP; bridges that do not speak CDP pass it
    /// on.
    Neighbour {
        protocol: DiscoveryProtocol,
        /// Chassis ID, or CDP's device ID.
        chassis: NeighbourId,
        /// Port ID.
        port: NeighbourId,
        /// Port description; empty where not sent.
        port_descr: String,
        /// System name; empty where not sent.
        name: String,
        /// Enabled capabilities, where sent.
        capabilities: Option<SystemCapabilities>,
    },
    /// A configuration or RST BPDU (IEEE 802.1D-2004, 9.3). It names the designated bridge of this
    /// segment.
    Bpdu {
        root_bridge: BridgeId,
        /// Cost of the designated bridge's path to the root bridge.
        root_path_cost: u32,
        /// The designated bridge.
        bridge: BridgeId,
        /// Its port, the whole 16 bits.
        port: u16,
    },
}

/// A neighbour discovery protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoveryProtocol {
    /// IEEE 802.1AB.
    Lldp,
    /// Cisco's.
    Cdp,
}

/// A probed path to another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbedPath {
    /// The other host's name.
    pub to: String,
    pub address: IpAddr,
    /// Routers on the path in order; `None` for one that does not answer. Empty if there is no
    /// routed hop between.
    pub hops: Vec<Option<IpAddr>>,
    /// True if the host itself answered. Otherwise `hops` has the routers that the probes reached.
    pub reached: bool,
    /// Round-trip times, if any probe was answered.
    pub round_trip: Option<RoundTrip>,
}

/// Round-trip times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundTrip {
    /// The shortest: the time of the cables, without queues.
    pub min_us: u32,
    pub median_us: u32,
    /// The number of probes that were answered.
    pub samples: u32,
}

/// Flows to another host that differ in their port only, and where they are at the second hop: the routers
/// among which the first one chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedFlows {
    /// The other host's name.
    pub to: String,
    /// The number of flows at each router, by the address with which it answers.
    pub routers: BTreeMap<IpAddr, u16>,
    /// The number of flows about which no router answered.
    pub unanswered: u16,
    /// True if flows to this host parted, now or since the agent started: their ports decide.
    pub parted: bool,
}

/// The controller's requests to an agent, in answer to a report. Later controllers may ask for more,
/// which is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProbeDirections {
    /// Hosts to which the path should be probed.
    pub peers: Vec<ProbeTarget>,
    /// Hosts to which flows should be traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceTarget>,
    /// Milliseconds between two reports.
    pub every_ms: u64,
    /// A measurement of flows to take part in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowInvitation>,
}

/// The controller's request to take part in a measurement of flows between hosts.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowInvitation {
    /// The measurement.
    pub session: u64,
    /// The key of the measurement, which only its hosts know.
    pub key: String,
    /// The host's own address on the network that is measured.
    pub address: IpAddr,
    /// The addresses of the others: the only ones to which the host may send.
    pub peers: Vec<IpAddr>,
    /// The bytes that the host may send at most.
    pub most_bytes: u64,
    /// The time after which the host stops in any case, in milliseconds.
    pub most_ms: u64,
}

impl fmt::Debug for FlowInvitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        let FlowInvitation { session, peers, .. } = self;
        write!(f, "measurement {session} among {} others", peers.len())
    }
}

/// A host to probe.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeTarget {
    /// Its name.
    pub host: String,
    /// The address at which it answers.
    pub address: IpAddr,
}

/// A host to which flows should be traced.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceTarget {
    /// Its name.
    pub host: String,
    pub address: IpAddr,
    /// The number of flows, which is at most [`MOST_FLOWS`].
    pub flows: u16,
}

/// The most flows that are traced between two hosts.
pub const MOST_FLOWS: u16 = 512;

/// So many flows leave out one of so many ways, by chance, once in a million times.
pub fn telling_flows(ways: usize) -> u16 {
    let flows = 1e-6_f64.ln() / (1.0 - 1.0 / ways.max(2) as f64).ln();
    flows.ceil() as u16
}

impl HostReport {
    /// The reason why a well-formed report is refused: texts and lists that are longer than any
    /// host's, addresses that cannot belong to a host, and invisible characters
    /// ([`sanitize::is_hidden`]), which would reach terminals and logs.
    ///
    /// # Errors
    /// Place and problem, for the agent's operator.
    pub fn check(&self) -> Result<(), String> {
        if !SLOTS.contains(&self.slots) {
            return Err(format!(
                "slots: {}; expected {} to {}",
                self.slots,
                SLOTS.start(),
                SLOTS.end()
            ));
        }
        let lists = [
            ("nics", self.nics.len()),
            ("heard", self.frames.len()),
            ("paths", self.paths.len()),
            ("traces", self.traces.len()),
            ("link_losses", self.link_losses.len()),
        ];
        for (list, length) in lists {
            if length > MOST {
                return Err(format!("{list}: {length} entries; expected at most {MOST}"));
            }
        }
        if let Some(nic) = self.nics.iter().find(|n| n.addresses.len() > MOST) {
            return Err(format!(
                "nics: {} addresses on one card; expected at most {MOST}",
                nic.addresses.len()
            ));
        }
        let addresses = self.nics.iter().flat_map(|n| &n.addresses);
        if let Some((address, wrong)) = addresses
            .copied()
            .find_map(|a| Some((a, AddressFault::within(a)?)))
        {
            return Err(format!(
                "nics.addresses: {}/{}: {wrong}; expected one that other hosts reach this one by",
                address.0, address.1
            ));
        }
        if let Some(path) = self
            .paths
            .iter()
            .find(|p| p.hops.len() > usize::from(u8::MAX))
        {
            return Err(format!(
                "paths: {} hops; a time to live ends at {}",
                path.hops.len(),
                u8::MAX
            ));
        }
        self.texts().try_for_each(|(place, text)| match text {
            t if t.len() > LONGEST => Err(format!(
                "{place}: {} octets; expected at most {LONGEST}",
                t.len()
            )),
            t if t.contains(sanitize::is_hidden) => Err(format!(
                "{place}: characters that cannot be seen; expected printable text"
            )),
            _ => Ok(()),
        })
    }

    /// The card at a link's end, by its name or its MAC address as LLDP names it, and the bond or
    /// bridge that has it as a member.
    pub fn cards_at(&self, port: &str) -> impl Iterator<Item = &Nic> {
        let is_there =
            move |n: &&Nic| n.name == port || port.parse().is_ok_and(|mac: Mac| n.mac == Some(mac));
        let master = self
            .nics
            .iter()
            .find(is_there)
            .and_then(|n| n.master.as_deref());
        self.nics
            .iter()
            .filter(move |n| is_there(n) || Some(n.name.as_str()) == master)
    }

    /// All texts, each with its place.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let nics = self.nics.iter().flat_map(|n| {
            [
                ("nics.name", Some(n.name.as_str())),
                ("nics.master", n.master.as_deref()),
            ]
        });
        let frames = self.frames.iter().flat_map(|h| {
            let content: [_; 4] = match &h.content {
                HeardContent::Neighbour {
                    chassis,
                    port,
                    port_descr,
                    name,
                    ..
                } => [
                    id_text(chassis),
                    id_text(port),
                    Some(port_descr),
                    Some(name),
                ],
                HeardContent::Bpdu { .. } => [None; 4],
            };
            [("heard.nic", Some(h.nic.as_str()))]
                .into_iter()
                .chain(content.map(|text| ("heard.said", text)))
        });
        let paths = self.paths.iter().map(|p| ("paths.to", Some(p.to.as_str())));
        let traces = self
            .traces
            .iter()
            .map(|t| ("traces.to", Some(t.to.as_str())));
        let cards = self.link_losses.keys();
        let losses = cards.map(|card| ("link_losses", Some(card.as_str())));
        let texts = std::iter::once(("host", Some(self.host.as_str())))
            .chain(nics)
            .chain(losses)
            .chain(frames)
            .chain(paths)
            .chain(traces);
        texts.filter_map(|(place, text)| Some((place, text?)))
    }
}

fn id_text(id: &NeighbourId) -> Option<&str> {
    match id {
        NeighbourId::Text(text) => Some(text),
        NeighbourId::Mac(_) | NeighbourId::Address(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> HostReport {
        let content = HeardContent::Neighbour {
            protocol: DiscoveryProtocol::Lldp,
            chassis: NeighbourId::Mac(Mac([2, 0, 0, 0, 0, 1])),
            port: NeighbourId::Text("swp1".into()),
            port_descr: String::new(),
            name: "s0".into(),
            capabilities: None,
        };
        HostReport {
            host: "n0".into(),
            slots: 4,
            nics: vec![Nic {
                name: "eth0".into(),
                up: true,
                ..Nic::default()
            }],
            frames: vec![HeardFrame {
                nic: "eth0".into(),
                at: Millis(1),
                content,
            }],
            ..HostReport::default()
        }
    }

    #[test]
    fn a_sound_report_passes_and_reads_back() {
        assert_eq!(report().check(), Ok(()));
        let text = serde_json::to_string(&report()).unwrap();
        assert_eq!(serde_json::from_str::<HostReport>(&text).unwrap(), report());
    }

    #[test]
    fn requests_of_a_later_controller_are_passed_over() {
        let later = r#"{"peers":[],"every_ms":5,"listens":[1]}"#;
        let directions: ProbeDirections = serde_json::from_str(later).unwrap();
        assert_eq!(directions.every_ms, 5);
    }

    #[test]
    fn a_list_of_another_age_is_passed_over_and_an_entry_is_not() {
        let json = serde_json::to_string(&report()).unwrap();
        let older = json.replacen(
            '{',
            r#"{"changes":[{"at":1,"nic":"eth0","what":"neighbour"}],"#,
            1,
        );
        assert_eq!(
            serde_json::from_str::<HostReport>(&older).unwrap(),
            report()
        );
        assert!(
            serde_json::from_str::<HostReport>(&json.replacen(
                r#"{"name""#,
                r#"{"alias":"lan0","name""#,
                1
            ))
            .is_err()
        );
    }

    #[test]
    fn what_no_host_has_is_refused_with_its_place() {
        assert_eq!(
            refused_after(|r| r.slots = 0),
            "slots: 0; expected 1 to 65536"
        );
        assert_eq!(
            refused_after(|r| r.slots = u32::MAX),
            "slots: 4294967295; expected 1 to 65536"
        );
        assert!(
            refused_after(|r| r.host = "n0\u{1b}[2J".into())
                .starts_with("host: characters that cannot be seen")
        );
        assert!(
            refused_after(|r| r.nics[0].name = "e\u{202e}th".into())
                .starts_with("nics.name: characters that cannot be seen")
        );
        assert!(
            refused_after(|r| r.nics[0].name = "e".repeat(1025))
                .starts_with("nics.name: 1025 octets")
        );
        for (bad, length, wrong) in [
            ("127.0.0.1", 8, "loopback"),
            ("255.255.255.255", 32, "broadcast"),
            ("10.0.0.255", 24, "broadcast"),
            ("ff02::1", 64, "multicast"),
            ("::", 0, "network"),
        ] {
            let mut report = report();
            report.nics[0].addresses = vec![
                ("10.0.0.1".parse().unwrap(), 24),
                (bad.parse().unwrap(), length),
            ];
            let problem = report.check().unwrap_err();
            assert!(
                problem.starts_with(&format!("nics.addresses: {bad}/{length}: a "))
                    && problem.contains(wrong),
                "{problem}"
            );
        }
        assert!(
            refused_after(|r| r.frames = vec![r.frames[0].clone(); 4097])
                .starts_with("heard: 4097 entries")
        );
        assert!(
            refused_after(|r| {
                if let HeardContent::Neighbour { port, .. } = &mut r.frames[0].content {
                    *port = NeighbourId::Text("\n".into())
                }
            })
            .contains("heard.said")
        );
    }

    fn refused_after(change: fn(&mut HostReport)) -> String {
        let mut report = report();
        change(&mut report);
        report.check().unwrap_err()
    }
}
