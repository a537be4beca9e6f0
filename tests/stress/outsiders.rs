//! Troubles that others make for the controller: they send half requests, send traps, lie, fill its
//! folder of job records, or kill it.
use super::cluster::{AGENTS, HOSTS, SWITCHES, StressCluster};
use super::hostile_records;
use crate::common::HEDDLE;
use crate::common::traps::trap;
use inventory::Millis;
use inventory::host_report::{DiscoveryProtocol, HeardContent, HeardFrame, HostReport};
use inventory::observation::NeighbourId;
use lab::plan::CONTROL;
use schedules::random::SplitMix64;
use std::io::Write;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// The number of connections with half a request: more than one address may have.
const HALVES: usize = 250;
/// The number of traps in about one second.
const TRAPS: u32 = 400;
/// The number of a lying agent's reports: as many as a host may send at once.
const FLAPS: usize = 8;

/// One thing that others do to the controller.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OutsiderTrouble {
    /// A node begins requests and finishes none.
    HalfRequests(&'static str),
    /// A switch sends traps.
    Traps(&'static str),
    /// A host's agent reports falsehoods, with a wrong token and with the right one.
    Lies(&'static str),
    /// A user fills the folder of job records.
    Rubbish,
    /// The controller is killed, and started again after the trouble.
    Killed,
}

/// The connections that outsiders hold open until the round is over.
pub(crate) struct HeldConnections(
    #[allow(dead_code, reason = "open until it is dropped")] Vec<TcpStream>,
);

impl OutsiderTrouble {
    /// The troubles of the controller in a round. Rubbish is written while nobody reads it, and
    /// never to a frozen directory, where no file can be written.
    pub(crate) fn drawn(round: u64, random: &mut SplitMix64) -> Vec<OutsiderTrouble> {
        let (node, switch) = (HOSTS[random.below(4)], SWITCHES[random.below(3)]);
        match round % 4 {
            1 => vec![OutsiderTrouble::Killed, OutsiderTrouble::Rubbish],
            _ => vec![
                OutsiderTrouble::HalfRequests(node),
                OutsiderTrouble::Traps(switch),
                OutsiderTrouble::Lies(node),
                OutsiderTrouble::HalfRequests(CONTROL),
            ],
        }
    }

    /// Its name in the table of troubles.
    pub(crate) fn counted_as(&self) -> &'static str {
        match self {
            OutsiderTrouble::HalfRequests(_) => "floods of half requests",
            OutsiderTrouble::Traps(_) => "floods of traps",
            OutsiderTrouble::Lies(_) => "lying agents",
            OutsiderTrouble::Rubbish => "folders of job records filled",
            OutsiderTrouble::Killed => "controllers killed",
        }
    }

    pub(crate) fn cause(
        &self,
        cluster: &mut StressCluster,
        random: &mut SplitMix64,
    ) -> HeldConnections {
        match *self {
            OutsiderTrouble::HalfRequests(node) => {
                let api = cluster.api();
                let held = HeldConnections(
                    cluster
                        .up
                        .lab
                        .within_network(node, || Ok(half_requests(api, random)))
                        .unwrap(),
                );
                super::wait("an answer beside half requests", &[], || cluster.is_well());
                return held;
            }
            OutsiderTrouble::Traps(switch) => {
                let datagram = trap(&["-v2c", "-c", "any"]);
                let to = SocketAddr::new(cluster.api().ip(), 162);
                cluster
                    .up
                    .lab
                    .within_network(switch, || {
                        let socket = UdpSocket::bind("0.0.0.0:0")?;
                        for _ in 0..TRAPS {
                            socket.send_to(&datagram, to)?;
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        Ok(())
                    })
                    .unwrap();
                super::wait("an answer after traps", &[], || cluster.is_well());
            }
            OutsiderTrouble::Lies(host) => lie(cluster, host, random),
            OutsiderTrouble::Rubbish => hostile_records::leave(&cluster.jobs()),
            OutsiderTrouble::Killed => cluster.kill_controller(),
        }
        HeldConnections(Vec::new())
    }

    /// Undoes the trouble if it does not pass by itself.
    pub(crate) fn repair(&self, cluster: &mut StressCluster) {
        match self {
            OutsiderTrouble::Killed => cluster.start_controller(),
            OutsiderTrouble::Rubbish => {
                cluster.start_controller();
                super::wait("the controller tells of jobs beside rubbish", &[], || {
                    cluster.tells_of_jobs()
                });
                hostile_records::clear(&cluster.jobs());
            }
            _ => {}
        }
    }
}

/// Connections that send nothing, or a request without an end.
fn half_requests(api: SocketAddr, random: &mut SplitMix64) -> Vec<TcpStream> {
    const OUTPUTS: [&str; 4] = [
        "",
        "G",
        "GET /healthz HTTP/1.1\r\nX-a: ",
        "POST /v1/hosts/n0/report HTTP/1.1\r\nHost: c\r\nContent-Length: 900000\r\n\r\n{",
    ];
    (0..HALVES)
        .filter_map(|_| {
            let mut stream = TcpStream::connect_timeout(&api, Duration::from_secs(5)).ok()?;
            let output = OUTPUTS[random.below(OUTPUTS.len())];
            // The controller may have closed it already.
            stream.write_all(output.as_bytes()).ok().map(|()| stream)
        })
        .collect()
}

/// An agent's lies that are refused, then lies that only an agent with the token can send, then the
/// truth.
fn lie(cluster: &StressCluster, host: &'static str, random: &mut SplitMix64) {
    let look = [
        HEDDLE, "agent", "--once", "--listen", "0s", "--slots", "1", "--format", "json",
    ];
    let agent = LyingAgent {
        cluster,
        host,
        honest: serde_json::from_str(&cluster.up.exec(host, &look)).unwrap(),
    };
    let own = HOSTS.iter().position(|name| *name == host).unwrap();
    let other = HOSTS[(own + 1 + random.below(3)) % HOSTS.len()];
    agent.tell_refused_lies(other);
    agent.flap(other, random);
    // The last report is true, and the controller accepts it: a host may report twice a second.
    super::wait("the truth is taken", &[], || {
        let answer = agent.tell(host, AGENTS, &agent.honest);
        answer.starts_with("HTTP/1.1 200")
    });
}

/// An agent on a host of the cluster, and its true report.
struct LyingAgent<'a> {
    cluster: &'a StressCluster,
    host: &'static str,
    honest: HostReport,
}

impl LyingAgent<'_> {
    /// The answer to a report for a host.
    fn tell(&self, name: &str, token: &str, report: &HostReport) -> String {
        let request = format!("POST /v1/hosts/{name}/report");
        let body = serde_json::to_string(report).unwrap();
        self.cluster.answer(self.host, &request, token, &body)
    }

    fn tell_refused_lies(&self, other: &str) {
        let (host, honest) = (self.host, &self.honest);
        let mut broadcast = honest.clone();
        broadcast
            .nics
            .iter_mut()
            .for_each(|nic| nic.addresses = vec![("10.77.255.255".parse().unwrap(), 16)]);
        let wrong_token = "agents-show-something-else-here";
        for (what, status, name, token, report) in [
            ("a wrong token", "401", host, wrong_token, honest),
            ("a broadcast address", "422", host, AGENTS, &broadcast),
            ("another host's name", "403", other, AGENTS, honest),
        ] {
            let answer = self.tell(name, token, report);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{what} of {host}: {answer:?}"
            );
        }
    }

    /// Reports other slots, other switches and, at times, the address of another host's card.
    fn flap(&self, other: &str, random: &mut SplitMix64) {
        let spares = self.cluster.up.lab.plan().unwrap().node(other).unwrap().mac;
        for flap in 0..FLAPS {
            let mut lie = self.honest.clone();
            lie.slots = [64, 1][flap % 2];
            lie.nics
                .iter_mut()
                .filter(|_| flap % 3 == 1)
                .for_each(|nic| nic.mac = Some(spares));
            let frames = self.honest.nics.iter();
            lie.frames = frames
                .map(|nic| claimed(&nic.name, SWITCHES[random.below(SWITCHES.len())]))
                .collect();
            let answer = self.tell(self.host, AGENTS, &lie);
            assert!(
                answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 429"),
                "lies of {}: {answer:?}",
                self.host
            );
        }
    }
}

/// A card's claim that its cable goes to a switch.
fn claimed(nic: &str, switch: &str) -> HeardFrame {
    let (chassis, port) = (
        NeighbourId::Text(switch.to_owned()),
        NeighbourId::Text("eth1".to_owned()),
    );
    let content = HeardContent::Neighbour {
        protocol: DiscoveryProtocol::Lldp,
        chassis,
        port,
        port_descr: String::new(),
        name: switch.to_owned(),
        capabilities: None,
    };
    HeardFrame {
        nic: nic.to_owned(),
        at: Millis(5),
        content,
    }
}
