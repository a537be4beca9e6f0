//! The state of a lab: its nodes, its cables, and their STP states.
use crate::error::LabResult;
use crate::name::LabName;
use crate::netlink::{NetlinkNamespace, StpPortState};
use crate::plan::{LabNode, LabNodeKind, LabPlan, RELAY};
use crate::state::{InitIdentity, LabState};
use inventory::Mac;
use serde::Serialize;
use std::collections::HashMap;
use std::path::PathBuf;

/// The present state of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LabStatus {
    pub name: String,
    pub directory: PathBuf,
    /// True if every node runs.
    pub up: bool,
    /// Nodes: the head node, switches, routers, hosts.
    pub nodes: Vec<NodeStatus>,
    /// Trunks, then the hosts' cables.
    pub cables: Vec<CableStatus>,
}

/// The present state of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeStatus {
    pub name: String,
    pub kind: LabNodeKind,
    /// Management address.
    pub management: String,
    /// Address on its first network other than that for management, a router's at its first port.
    pub data: Option<String>,
    /// The ports of a router, and the cards of a host with several, with their addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<(String, String)>,
    /// The process number of its init in the caller's namespace; `None`: it does not run.
    pub pid: Option<i32>,
}

/// The present state of a cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CableStatus {
    /// One end's node and port.
    pub a: (String, String),
    /// The other's.
    pub b: (String, String),
    /// Bit/s in each direction.
    pub rate_bps: u64,
    /// The time that a frame takes, in microseconds.
    pub delay_us: u64,
    /// `forwarding`, `blocking`, `listening`, `learning` or `down`, whichever is worse of its two
    /// ends. A router's end forwards while it has carrier.
    pub state: String,
    /// True if the topology file marks it `blocked`.
    pub expect_blocked: bool,
}

impl LabStatus {
    /// True if every cable has the state that the topology file expects: blocking if it is marked
    /// `blocked`, forwarding otherwise.
    pub fn as_expected(&self) -> bool {
        self.cables.iter().all(|c| {
            c.state
                == if c.expect_blocked {
                    "blocking"
                } else {
                    "forwarding"
                }
        })
    }
}

/// Reads the state of every node. Call this inside a tokio runtime.
pub(crate) async fn status(state: &LabState) -> LabResult<LabStatus> {
    let plan = &state.plan;
    let nodes: Vec<NodeStatus> = plan
        .nodes
        .iter()
        .map(|n| NodeStatus {
            name: n.name.clone(),
            kind: n.kind,
            management: n.management.to_string(),
            data: n.data.map(|a| a.to_string()),
            ports: ports(plan, n),
            pid: InitIdentity::pid(&state.name, &n.name),
        })
        .collect();
    let mut ports = HashMap::new();
    for switch in plan.switches() {
        if let Some(path) = namespace(&state.name, &switch.name) {
            let wire = NetlinkNamespace::open(&switch.name, &path)?;
            let mut own = wire.ports().await?;
            own.extend(forwarding(plan, &wire, &switch.name).await?);
            ports.insert(switch.name.as_str(), own);
        }
    }
    for router in plan.routers() {
        if let Some(path) = namespace(&state.name, &router.name) {
            ports.insert(
                router.name.as_str(),
                forwarding(
                    plan,
                    &NetlinkNamespace::open(&router.name, &path)?,
                    &router.name,
                )
                .await?,
            );
        }
    }
    let carried = !plan.has_delays() || InitIdentity::pid(&state.name, RELAY).is_some();
    Ok(LabStatus {
        name: state.name.to_string(),
        directory: crate::state::directory(&state.name),
        up: carried && nodes.iter().all(|n| n.pid.is_some()),
        nodes,
        cables: cables(plan, &ports, carried),
    })
}

/// The facts that a node's addresses do not tell: a router's ports, and the cards of a host with several.
fn ports(plan: &LabPlan, node: &LabNode) -> Vec<(String, String)> {
    let all: Vec<_> = plan
        .places(&node.name)
        .map(|(_, m)| (m.port.clone(), m.address.to_string()))
        .collect();
    match node.kind {
        LabNodeKind::Router => all,
        LabNodeKind::Host if all.len() > 1 => all,
        _ => Vec::new(),
    }
}

/// A path to the network namespace of a running node. It goes by the init's process, because the
/// head node does not see the names of `ip netns`.
pub(crate) fn namespace(lab: &LabName, node: &str) -> Option<PathBuf> {
    InitIdentity::pid(lab, node).map(|pid| PathBuf::from(format!("/proc/{pid}/ns/net")))
}

/// The ports that route, in the form of a bridge's.
async fn forwarding(
    plan: &LabPlan,
    wire: &NetlinkNamespace,
    router: &str,
) -> LabResult<Vec<StpPortState>> {
    let mut ports = Vec::new();
    for (_, member) in plan
        .places(router)
        .filter(|(_, m)| m.port.starts_with("ge"))
    {
        let carrier = wire.port(&member.port).await?.carrier;
        ports.push(StpPortState {
            name: member.port.clone(),
            carrier,
            state: FORWARDING,
            root: (0, Mac::default()),
        });
    }
    Ok(ports)
}

/// The state of each cable; `carried`: the relay of the cables with a delay runs.
fn cables(
    plan: &LabPlan,
    ports: &HashMap<&str, Vec<StpPortState>>,
    carried: bool,
) -> Vec<CableStatus> {
    plan.cables
        .iter()
        .map(|c| {
            // The end that lets less through decides.
            let ends = [&c.a, &c.b].into_iter().filter_map(|end| {
                let port = ports
                    .get(end.node.as_str())
                    .and_then(|p| p.iter().find(|p| p.name == end.port));
                port.map(|p| if p.carrier { p.state } else { DISABLED })
            });
            let worse = ends
                .min_by_key(|s| (*s != DISABLED, *s != BLOCKING, *s))
                .filter(|_| carried || c.delay.is_zero());
            CableStatus {
                a: (c.a.node.clone(), c.a.port.clone()),
                b: (c.b.node.clone(), c.b.port.clone()),
                rate_bps: c.rate.0,
                delay_us: c.delay.as_micros() as u64,
                state: state_name(worse.unwrap_or(DISABLED)).to_owned(),
                expect_blocked: c.expect_blocked,
            }
        })
        .collect()
}

const DISABLED: u8 = 0;
const FORWARDING: u8 = 3;
const BLOCKING: u8 = 4;

/// The name of a port state in the kernel's numbering.
pub(crate) fn state_name(state: u8) -> &'static str {
    match state {
        1 => "listening",
        2 => "learning",
        3 => "forwarding",
        4 => "blocking",
        _ => "down",
    }
}
