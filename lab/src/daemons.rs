//! The daemons of a node: their configuration and their start.
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::plan::{LabNode, LabNodeKind, LabPlan, PortEnd};
use crate::{aggregate, probe, requirements};
use inventory::BitsPerSec;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Encoded objects, one of each part of a switch's SNMP agent: snmpd itself, the bridge program,
/// lldpd. Answers from all of them show that the agent is up.
const SYSTEM: &[u8] = &[0x2b, 6, 1, 2, 1, 1];
const DOT1D_BRIDGE: &[u8] = &[0x2b, 6, 1, 2, 1, 17];
const LLDP_LOCAL: &[u8] = &[0x28, 0xc4, 0x62, 1, 1, 2, 1, 3];

/// ifEntry of IF-MIB, whose columns 1, 7 and 8 are ifIndex, ifAdminStatus and ifOperStatus.
const IF_ENTRY: &str = ".1.3.6.1.2.1.2.2.1";

/// nsCacheTimeout of ifTable (NET-SNMP-AGENT-MIB): the seconds for which snmpd keeps interface
/// counters, 3 by default. With zero it would read them for every packet of a walk, which is too
/// expensive.
const INTERFACE_CACHE: &[u8] = &[
    0x2b, 6, 1, 4, 1, 0xbf, 0x08, 1, 5, 3, 1, 2, 1, 3, 6, 1, 2, 1, 2, 2,
];
const INTERFACE_CACHE_SECONDS: u8 = 1;

/// The time limit for a daemon's first answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts the node's daemons and returns when all of them answer.
pub(crate) fn start(node: &LabNode, plan: &LabPlan, logs: &Path) -> LabResult<()> {
    match node.kind {
        LabNodeKind::Control => Ok(()),
        LabNodeKind::Host => lldpd(node, plan, logs),
        LabNodeKind::Switch | LabNodeKind::Router => {
            fs::write("/run/snmp/snmpd.conf", snmpd_conf(node, plan))
                .during(|| "/run/snmp/snmpd.conf".into())?;
            let log_file = logs.join(format!("{}-snmpd.log", node.name));
            let log = format!("-Lf{}", log_file.display());
            let arguments = [
                "-f",
                &log,
                "-C",
                "-c",
                "/run/snmp/snmpd.conf",
                "-I",
                "-smux",
            ];
            spawn(
                node,
                logs,
                daemon("snmpd")
                    .args(arguments)
                    .env("SNMP_PERSISTENT_DIR", "/var/lib/snmp")
                    // Debian's snmpd comes without the IETF's MIB files, and needs none: all names here are numbers.
                    .env("MIBS", ""),
            )?;
            await_answer(node, "snmpd", SYSTEM)?;
            // If snmpd refuses, loads are seen a little later.
            let _ = probe::set(
                INTERFACE_CACHE,
                INTERFACE_CACHE_SECONDS,
                Duration::from_secs(1),
            );
            lldpd(node, plan, logs)?;
            if node.kind == LabNodeKind::Switch {
                // snmpd starts the program at the first request, and the program has to run in
                // order to count topology changes.
                await_answer(node, "heddle lab bridge-mib", DOT1D_BRIDGE)?;
            }
            await_answer(node, "lldpd", LLDP_LOCAL)
        }
    }
}

fn lldpd(node: &LabNode, plan: &LabPlan, logs: &Path) -> LabResult<()> {
    fs::write("/run/lldpd.conf", lldpd_conf(node, plan)).during(|| "/run/lldpd.conf".into())?;
    let mut command = daemon("lldpd");
    command.args(["-d", "-O", "/run/lldpd.conf", "-u", "/run/lldpd.socket"]);
    if node.kind != LabNodeKind::Host {
        command.args(["-x", "-X", "unix:/run/agentx/master"]);
    }
    spawn(node, logs, &mut command)
}

/// A daemon's command, with the path at which `up` found it: root's search path may lack the
/// folders of daemons.
fn daemon(name: &str) -> Command {
    Command::new(requirements::find(name).unwrap_or_else(|| name.into()))
}

fn spawn(node: &LabNode, logs: &Path, command: &mut Command) -> LabResult<()> {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let path = logs.join(format!("{}-{program}.log", node.name));
    let log = File::options()
        .create(true)
        .append(true)
        .open(&path)
        .during(|| path.display().to_string())?;
    let errors = log.try_clone().during(|| path.display().to_string())?;
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    // The init reaps every child, so nothing waits for this one by its number.
    command
        .spawn()
        .map(drop)
        .during(|| format!("{}: starting {program}", node.name))
}

fn await_answer(node: &LabNode, program: &str, subtree: &[u8]) -> LabResult<()> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let asked = Instant::now();
        if probe::answers_from(subtree, Duration::from_secs(1)) {
            return Ok(());
        }
        // A closed port refuses at once.
        std::thread::sleep(Duration::from_millis(50).saturating_sub(asked.elapsed()));
    }
    Err(LabError::NotReady(format!(
        "{}: {program} does not answer over SNMP after {} s",
        node.name,
        PATIENCE.as_secs()
    )))
}

/// The snmpd of a switch or router: v2c `public`, v3 users `mon` (SHA, AES) and `mon256` (SHA-256,
/// AES) with pass phrases `authpass12` and `privpass12`, traps to the head node, the lab's
/// BRIDGE-MIB for a switch, lldpd's LLDP-MIB over AgentX. It answers at the management address only.
fn snmpd_conf(node: &LabNode, plan: &LabPlan) -> String {
    let (name, own) = (&node.name, node.management);
    let sink = plan.nodes[0].management;
    // Layers as sysServices counts them (RFC 3418): 2 is a bridge, 4 a router.
    let (services, bridge) = match node.kind {
        LabNodeKind::Router => (4, ""),
        _ => (
            if plan.forwards(node) { 6 } else { 2 },
            "pass_persist .1.3.6.1.2.1.17 /proc/1/exe lab bridge-mib br0\n",
        ),
    };
    // ifType: ethernetCsmacd, and ieee8023adLag.
    let aggregates: Vec<&str> = aggregates_of(node, plan)
        .map(|end| end.port.as_str())
        .collect();
    let interfaces: String = port_rates(node, plan)
        .iter()
        .map(|(port, rate)| {
            let kind = if aggregates.contains(&port.as_str()) {
                161
            } else {
                6
            };
            format!("interface {port} {kind} {}\n", rate.0)
        })
        .collect();
    format!(
        "agentaddress udp:127.0.0.1:161,udp:{own}:161
sysName {name}
sysLocation lab
sysServices {services}
master agentx
agentxsocket unix:/run/agentx/master
agentxTimeout 5
rocommunity public
rwcommunity private 127.0.0.1
createUser mon SHA authpass12 AES privpass12
createUser mon256 SHA-256 authpass12 AES privpass12
rouser mon priv
rouser mon256 priv
trap2sink {sink} public
createUser _int SHA internalpw12 AES
iquerySecName _int
rouser _int
monitor -S -r 1 -o {IF_ENTRY}.7 -o {IF_ENTRY}.8 -e linkUpTrap \"Generate linkUp\" {IF_ENTRY}.8 != 2
monitor -S -r 1 -o {IF_ENTRY}.7 -o {IF_ENTRY}.8 -e linkDownTrap \"Generate linkDown\" {IF_ENTRY}.8 == 2
notificationEvent linkUpTrap .1.3.6.1.6.3.1.1.5.4 {IF_ENTRY}.1 {IF_ENTRY}.7 {IF_ENTRY}.8
notificationEvent linkDownTrap .1.3.6.1.6.3.1.1.5.3 {IF_ENTRY}.1 {IF_ENTRY}.7 {IF_ENTRY}.8
{bridge}{interfaces}"
    )
}

/// The rates of a node's ports, for snmpd: a veth reports 10 Gbit/s whatever its shaping is. They
/// include ports that a moved cable may take later.
fn port_rates(node: &LabNode, plan: &LabPlan) -> Vec<(String, BitsPerSec)> {
    let mut rates: Vec<(String, BitsPerSec)> = Vec::new();
    for cable in &plan.cables {
        for end in [&cable.a, &cable.b] {
            if end.node == node.name {
                rates.push((end.port.clone(), cable.rate));
                let members = aggregate::members(cable);
                rates.extend(members.map(|m| (m.port(end), m.cable.rate)));
            }
        }
    }
    if node.kind == LabNodeKind::Router {
        return rates;
    }
    let network = plan.network_of(&node.name).map(|own| &own.name);
    let of_hosts = plan.cables.iter().filter(|c| {
        let there = plan.network_of(&c.b.node).map(|other| &other.name);
        there == network && plan.hosts().any(|h| h.name == c.a.node)
    });
    let spare = of_hosts
        .map(|c| c.rate)
        .max()
        .unwrap_or(BitsPerSec::GIGABIT);
    let known = rates
        .iter()
        .filter(|(port, _)| port.starts_with("swp"))
        .count();
    rates.extend((known + 1..=known + 16).map(|k| (format!("swp{k}"), spare)));
    rates
}

/// The ports of a node's bridge that are aggregates.
fn aggregates_of<'a>(node: &'a LabNode, plan: &'a LabPlan) -> impl Iterator<Item = &'a PortEnd> {
    let cables = plan.cables.iter().filter(|cable| cable.cables.get() > 1);
    let ends = cables.flat_map(|cable| [&cable.a, &cable.b]);
    ends.filter(|end| end.node == node.name)
}

/// The lldpd of a node speaks at every port and card with a cable.
fn lldpd_conf(node: &LabNode, plan: &LabPlan) -> String {
    let mut names: Vec<&str> = plan
        .places(&node.name)
        .map(|(_, m)| m.port.as_str())
        .collect();
    match node.kind {
        LabNodeKind::Switch => names.extend(["swp*", "ge*"]),
        LabNodeKind::Router => names.push("ge*"),
        LabNodeKind::Control | LabNodeKind::Host => {}
    }
    names.retain(|port| *port != "br0");
    let mut ports = names.join(",");
    let bonds = plan
        .bonds()
        .into_iter()
        .filter(|(host, _)| *host == node.name)
        .map(|(_, bond)| bond);
    let aggregates = aggregates_of(node, plan).map(|end| end.port.as_str());
    for port in aggregates.chain(bonds) {
        // It speaks at each member instead.
        ports += &format!(",!{port},{}*", aggregate::prefix(port));
    }
    // By default lldpd sends every 30 s, and a neighbour stays for four times that: two minutes after its cable moved.
    format!(
        "configure system hostname {}
configure system interface pattern {ports}
configure system ip management pattern {}
configure lldp tx-interval 1
configure lldp tx-hold 3
configure lldp portidsubtype ifname
",
        node.name, node.management
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LabOptions;
    use inventory::TopologyFile;

    #[test]
    fn an_aggregate_and_its_members_are_ports_of_their_own() {
        let text = "switches: [s0, s1]\nhosts: {}\nlinks: [{a: s0, b: s1, rate: 50M, cables: 2}]\n";
        let file = TopologyFile::parse("t.yaml", text).unwrap();
        let plan = LabPlan::new(&file, LabOptions::default()).unwrap();
        let node = plan.node("s1").unwrap();
        let conf = snmpd_conf(node, &plan);
        for line in [
            "interface swp1 161 50000000\n",
            "interface m-swp1-0 6 25000000\n",
            "interface m-swp1-1 6 25000000\n",
        ] {
            assert!(conf.contains(line), "{line}");
        }
        let speaks = lldpd_conf(node, &plan);
        assert!(speaks.contains(",!swp1,m-swp1-*\n"), "{speaks}");
    }

    #[test]
    fn snmpd_tells_the_rates_of_present_and_coming_ports() {
        let text = "switches: [s0, s1]\nhosts: {n0: {switch: s0, rate: 20M}}\nlinks: \
                    [{a: s0, b: s1, rate: 50M}]\n";
        let plan = LabPlan::new(
            &TopologyFile::parse("t.yaml", text).unwrap(),
            LabOptions::default(),
        )
        .unwrap();
        let conf = snmpd_conf(plan.node("s0").unwrap(), &plan);
        for line in [
            "interface swp1 6 50000000\n",
            "interface swp2 6 20000000\n",
            "interface swp3 6 20000000\n",
            "sysName s0\n",
        ] {
            assert!(conf.contains(line), "{line}");
        }
    }
}
