//! Bringing a lab up: namespaces, cables, inits, and the wait until the spanning tree has settled.
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::name::LabName;
use crate::netlink::{self, NetlinkNamespace, StpPortState, VethEnd};
use crate::plan::{
    LabCable, LabNode, LabNodeKind, LabOptions, LabPlan, PREFIX, PortEnd, RELAY, management_port,
};
use crate::port_shape::PortShape;
use crate::state::{self, LabLock, LabState};
use crate::{address, aggregate, down, netns, node, pair, relay};
use futures_util::future::try_join_all;
use inventory::{Mac, TopologyFile};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time limit for nodes, and that for the spanning tree.
const PATIENCE: Duration = Duration::from_secs(120);

/// The management bridge in the head node.
const MANAGEMENT: &str = "mgmt";

/// Builds the lab `name`.
pub(crate) async fn up(
    name: &LabName,
    file: &TopologyFile,
    options: LabOptions,
    program: &Path,
) -> LabResult<LabState> {
    crate::requirements::check()?;
    let plan = LabPlan::new(file, options)?;
    let directory = state::directory(name);
    fs::create_dir_all(&directory).during(|| directory.display().to_string())?;
    let _lock = LabLock::take(name)?;
    if is_up(name) {
        return Err(LabError::Refused(format!(
            "lab \"{name}\": already up; take it down first: heddle lab down --name {name}"
        )));
    }
    let built = afresh(
        LabState {
            name: name.clone(),
            program: program.to_owned(),
            plan,
            complete: false,
        },
        file,
    )
    .await;
    if built.is_err() {
        // Half a lab is useless. Its logs are quoted in the error, which is the one to return.
        let _ = down::remove(name);
    }
    built
}

/// True if a lab stands, whole and alive.
pub(crate) fn is_up(name: &LabName) -> bool {
    LabState::load(name).is_ok_and(|s| s.complete)
        && state::InitIdentity::pid(name, crate::plan::CONTROL).is_some()
}

/// Builds the lab in place of any remains. The caller holds the lab's lock.
async fn afresh(mut state: LabState, file: &TopologyFile) -> LabResult<LabState> {
    down::clear(&state.name)?;
    write_files(&state, file)?;
    build(&state).await?;
    state.complete = true;
    state.save()?;
    Ok(state)
}

fn write_files(state: &LabState, file: &TopologyFile) -> LabResult<()> {
    let directory = state::directory(&state.name);
    for sub in ["nodes", "logs", "shared"] {
        fs::create_dir_all(directory.join(sub))
            .during(|| directory.join(sub).display().to_string())?;
    }
    state::write(
        &directory.join("inventory.yaml"),
        state
            .plan
            .inventory(|host| file.hosts.get(host).map_or(1, |h| h.ranks))
            .as_bytes(),
    )?;
    state::write(
        &directory.join("topology.yaml"),
        state.plan.addressed(file).to_yaml().as_bytes(),
    )?;
    state.save()
}

async fn build(state: &LabState) -> LabResult<()> {
    let plan = &state.plan;
    let mut wires = HashMap::new();
    for node in &plan.nodes {
        let path = netns::path(&state.name, &node.name);
        netns::create(&path)?;
        if plan.forwards(node) {
            netns::forward(&path)?;
        }
        wires.insert(
            node.name.as_str(),
            NetlinkNamespace::open(&node.name, &path)?,
        );
    }
    if plan.has_delays() {
        let path = netns::path(&state.name, RELAY);
        netns::create(&path)?;
        wires.insert(RELAY, NetlinkNamespace::open(RELAY, &path)?);
    }
    try_join_all(
        plan.switches().map(|s| {
            wires[s.name.as_str()].add_stp_bridge("br0", s.mac, s.priority, &plan.options)
        }),
    )
    .await?;
    connect_all(plan, &wires).await?;
    try_join_all(wires.values().map(|wire| wire.set_up("lo", true))).await?;
    if !plan.has_management_switches() {
        wire_management(plan, &wires).await?;
    }
    try_join_all(
        plan.nodes
            .iter()
            .map(|n| address::add_addresses(plan, &wires[n.name.as_str()], &n.name)),
    )
    .await?;
    // The head's init starts those of all others: whoever ends it ends the lab.
    let logs = state::directory(&state.name).join("logs");
    let mut init = node::spawn(&state.program, &state.name, crate::plan::CONTROL, &logs)?;
    let status = init.wait().during(|| "ctl: its init".into())?;
    if !status.success() {
        return Err(LabError::NotReady(format!(
            "ctl: its init did not start: {}",
            last_words(&logs, crate::plan::CONTROL)
        )));
    }
    await_nodes(state, &logs).await?;
    await_spanning_tree(plan, &wires).await
}

/// Makes all cables; joins the cards of hosts with several, and pairs of switches.
async fn connect_all(plan: &LabPlan, wires: &HashMap<&str, NetlinkNamespace>) -> LabResult<()> {
    // Management comes after the other cables: lldpd takes the first interface's address as the chassis
    // id, and that should be an address that the bridges see.
    let (management, others): (Vec<_>, Vec<_>) = (0..)
        .zip(&plan.cables)
        .partition(|(_, c)| plan.is_for_management(c));
    for cables in [others, management] {
        try_join_all(
            cables
                .into_iter()
                .map(|(number, c)| connect(plan, wires, number, c)),
        )
        .await?;
    }
    for bond in plan.bonds() {
        aggregate::bond(plan, &wires[bond.0], bond).await?;
    }
    for pair in &plan.pairs {
        let boxes = pair.each_ref().map(|name| &wires[name.as_str()]);
        pair::agree(plan, pair, boxes).await?;
    }
    Ok(())
}

/// Gives every node an unshaped cable to a bridge in the head node, beside the emulated network.
async fn wire_management(plan: &LabPlan, wires: &HashMap<&str, NetlinkNamespace>) -> LabResult<()> {
    let control = &wires[crate::plan::CONTROL];
    control.add_plain_bridge(MANAGEMENT).await?;
    control
        .add_address(MANAGEMENT, plan.nodes[0].management, PREFIX)
        .await?;
    try_join_all(
        plan.nodes
            .iter()
            .enumerate()
            .skip(1)
            .map(|(i, node)| async move {
                let wire = &wires[node.name.as_str()];
                let (port, there) = (management_port(node.kind), format!("m{i}"));
                let [a, _, c, d, e, _] = node.mac.0;
                let plug = VethEnd {
                    wire,
                    port,
                    mac: Mac([a, 0x4d, c, d, e, 0]),
                };
                netlink::cable(
                    &plug,
                    &VethEnd {
                        wire: control,
                        port: &there,
                        mac: Mac([a, 0x4e, c, d, e, 0]),
                    },
                )
                .await?;
                control.enslave(&there, MANAGEMENT, None).await?;
                wire.set_up(port, true).await?;
                wire.add_address(port, node.management, PREFIX).await
            }),
    )
    .await
    .map(drop)
}

/// Makes the plan's cable of this number between two nodes, and plugs both ends. The relay carries
/// a cable with a delay.
pub(crate) async fn connect(
    plan: &LabPlan,
    wires: &HashMap<&str, NetlinkNamespace>,
    number: usize,
    cable: &LabCable,
) -> LabResult<()> {
    let (a, b) = (&wires[cable.a.node.as_str()], &wires[cable.b.node.as_str()]);
    let a_plug = VethEnd {
        wire: a,
        port: &cable.a.port,
        mac: plan.port_mac(&cable.a),
    };
    let b_plug = VethEnd {
        wire: b,
        port: &cable.b.port,
        mac: plan.port_mac(&cable.b),
    };
    if cable.cables.get() > 1 {
        aggregate::connect(plan, [a_plug, b_plug], cable).await?;
    } else if cable.delay.is_zero() {
        netlink::cable(&a_plug, &b_plug).await?;
    } else {
        let relay = &wires[RELAY];
        for (plug, (port, end)) in [a_plug, b_plug]
            .iter()
            .zip(relay::ports(number).iter().zip(0..))
        {
            let mac = Mac([0x02, 0x4c, 4, (number >> 8) as u8, number as u8, end]);
            netlink::cable(
                plug,
                &VethEnd {
                    wire: relay,
                    port,
                    mac,
                },
            )
            .await?;
            relay.set_up(port, true).await?;
        }
        relay::pace(relay, number, cable).await?;
    }
    plug_in(plan, a, &cable.a, cable).await?;
    plug_in(plan, b, &cable.b, cable).await
}

/// Shapes one end of a cable and sets it up; on a switch it becomes a port of the bridge.
pub(crate) async fn plug_in(
    plan: &LabPlan,
    wire: &NetlinkNamespace,
    end: &PortEnd,
    cable: &LabCable,
) -> LabResult<()> {
    let (port, kind) = (&end.port, plan.node(&end.node)?.kind);
    if cable.cables.get() == 1 {
        wire.shape(port, &PortShape::for_cable(cable, &plan.options))
            .await?;
    }
    if kind == LabNodeKind::Host {
        wire.prioritise(port).await?;
    }
    if !cable.delay.is_zero() {
        wire.complete_checksums(port)?;
    }
    match kind {
        LabNodeKind::Switch if end.is_bridged() => {
            wire.end_ownership(port).await?;
            wire.enslave(port, "br0", Some(crate::plan::path_cost(cable.rate)))
                .await
        }
        _ => wire.set_up(port, true).await,
    }
}

async fn await_nodes(state: &LabState, logs: &Path) -> LabResult<()> {
    let end = Instant::now() + PATIENCE;
    let mut waiting: Vec<&str> = state.plan.nodes.iter().map(|n| n.name.as_str()).collect();
    while !waiting.is_empty() {
        let mut still = Vec::new();
        for name in waiting {
            match node::outcome(&state.name, name) {
                Some(Ok(())) => {}
                Some(Err(error)) => return Err(error),
                None => still.push(name),
            }
        }
        waiting = still;
        if Instant::now() > end {
            let name = waiting.first().copied().unwrap_or_default();
            let words = last_words(logs, name);
            return Err(LabError::NotReady(format!(
                "nodes not up after {} s: {}; {name}: {words}",
                PATIENCE.as_secs(),
                waiting.join(", ")
            )));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// The last line that a node's init wrote.
fn last_words(logs: &Path, node: &str) -> String {
    let text = fs::read_to_string(logs.join(format!("{node}.log"))).unwrap_or_default();
    text.lines()
        .last()
        .unwrap_or("nothing in its log")
        .to_owned()
}

/// Waits until no port is listening or learning, and both ends of every trunk have the same root
/// bridge.
async fn await_spanning_tree(
    plan: &LabPlan,
    wires: &HashMap<&str, NetlinkNamespace>,
) -> LabResult<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        let switches: Vec<&LabNode> = plan.switches().collect();
        let ports = try_join_all(switches.iter().map(|s| wires[s.name.as_str()].ports())).await?;
        let by_switch: HashMap<&str, Vec<StpPortState>> = switches
            .iter()
            .map(|s| s.name.as_str())
            .zip(ports)
            .collect();
        let Some(unsettled) = unsettled(plan, &by_switch) else {
            return Ok(());
        };
        if Instant::now() > end {
            return Err(LabError::NotReady(format!(
                "spanning tree: not settled after {} s: {unsettled}",
                PATIENCE.as_secs()
            )));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The first sign that the spanning tree has not settled.
fn unsettled(plan: &LabPlan, ports: &HashMap<&str, Vec<StpPortState>>) -> Option<String> {
    const LISTENING: u8 = 1;
    const LEARNING: u8 = 2;
    for (switch, ports) in ports {
        if let Some(p) = ports
            .iter()
            .find(|p| !p.carrier || matches!(p.state, LISTENING | LEARNING))
        {
            return Some(format!(
                "{switch}: port {} is {}",
                p.name,
                crate::status::state_name(p.state)
            ));
        }
    }
    for cable in plan
        .cables
        .iter()
        .filter(|c| c.a.is_bridged() && c.b.is_bridged())
    {
        let roots = [&cable.a, &cable.b].map(|e| {
            ports
                .get(e.node.as_str())
                .and_then(|p| p.iter().find(|p| p.name == e.port))
                .map(|p| p.root)
        });
        if roots[0] != roots[1] {
            return Some(format!(
                "{} and {} do not agree on the root bridge",
                cable.a.node, cable.b.node
            ));
        }
    }
    None
}
