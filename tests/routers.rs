//! Separate clusters on the real kernel: segments between routers, and cables with delay. Needs
//! root, as tests/lab does.
use crate::common::lab::RunningLab;
use crate::common::until::{LIMIT, until_or_why, until_so};
use inventory::{Mpi, Topology, TopologyFile};
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimeout};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrIn, recvfrom, setsockopt, socket,
};
use nix::sys::time::TimeVal;
use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

const TWO: &str = include_str!("../lab/topologies/two-clusters.yaml");
const THREE: &str = include_str!("../lab/topologies/three-clusters.yaml");

const MS: Duration = Duration::from_millis(1);
/// The times to wait for a packet that should arrive, and for a packet that should not.
const PATIENCE: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(3);

impl RunningLab {
    /// A socket of a node, at a free port.
    fn socket(&self, node: &str, patience: Duration) -> UdpSocket {
        self.lab
            .within_network(node, || {
                let socket = UdpSocket::bind("0.0.0.0:0")?;
                setsockopt(&socket, RcvBufForce, &(16 << 20))?;
                socket.set_read_timeout(Some(patience))?;
                Ok(socket)
            })
            .unwrap()
    }

    /// Round trips from one node to another, one after the other; they end when nothing arrives for
    /// this time.
    fn round_trips(
        &self,
        from: &str,
        to: &str,
        patience: Duration,
    ) -> impl Iterator<Item = Duration> {
        let (near, far) = (self.socket(from, patience), self.socket(to, patience));
        let (sender, at) = (
            self.address(from),
            (self.address(to), far.local_addr().unwrap().port()),
        );
        (0u32..).map_while(move |number| {
            let (began, mut octets) = (Instant::now(), [0; 4]);
            near.send_to(&number.to_be_bytes(), at).ok()?;
            let (_, back) = far.recv_from(&mut octets).ok()?;
            assert_eq!(back.ip(), sender, "nobody changes addresses on the way");
            far.send_to(&octets, back).unwrap();
            near.recv(&mut octets).ok()?;
            assert_eq!(u32::from_be_bytes(octets), number);
            Some(began.elapsed())
        })
    }

    /// No round trip is shorter than the delay of its cables. Even on a busy machine, one of many
    /// is only a little longer.
    fn is_as_far(&self, from: &str, to: &str, expected: Duration) {
        let (end, most) = (Instant::now() + LIMIT, expected + expected / 2 + 10 * MS);
        let mut least = None;
        for trip in self
            .round_trips(from, to, PATIENCE)
            .take_while(|_| Instant::now() < end)
        {
            assert!(
                trip >= expected,
                "{from} to {to}: {trip:?}, and its cables take {expected:?}"
            );
            least = Some(least.map_or(trip, |least: Duration| least.min(trip)));
            if trip < most {
                return;
            }
        }
        panic!("{from} to {to}: {least:?}, expected {expected:?} and less than {most:?}");
    }

    /// The router that reports the end of a packet's time to live, after `ttl` routers on the path
    /// between two nodes. `None` if the packet arrives and finds its port closed.
    fn hop(&self, from: &str, to: &str, ttl: u32) -> Option<Ipv4Addr> {
        let to = self.address(to);
        let ask = || {
            let icmp = socket(
                AddressFamily::Inet,
                SockType::Raw,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::Icmp,
            )?;
            setsockopt(
                &icmp,
                ReceiveTimeout,
                &TimeVal::new(PATIENCE.as_secs() as i64, 0),
            )?;
            let probe = UdpSocket::bind("0.0.0.0:0")?;
            probe.set_ttl(ttl)?;
            probe.send_to(b"who is there", (to, 33_434))?;
            let mut packet = [0; 1500];
            let (_, who) = recvfrom::<SockaddrIn>(icmp.as_raw_fd(), &mut packet)?;
            // The type and the code follow an IP header without options (RFC 792).
            match (packet[20], packet[21]) {
                (11, 0) => Ok(who.map(|w| w.ip())),
                (3, 3) => Ok(None),
                other => Err(std::io::Error::other(format!("ICMP {other:?}"))),
            }
        };
        self.lab.within_network(from, ask).unwrap()
    }

    /// Compares the topology, found once every neighbour has announced itself, with the plan: every
    /// node, every cable with its ports and rate, one tree of all, and the clusters of the file.
    fn is_found_exactly(&self) {
        let plan = self.lab.plan().unwrap();
        let expected: BTreeSet<(String, u64)> = plan
            .cables
            .iter()
            .map(|c| (named(&c.a, &c.b), c.rate.0))
            .collect();
        let inventory = self.inventory("", "");
        let found = until_or_why("the plan is found", LIMIT, || {
            let found: Topology =
                serde_json::from_str(&self.discover(&inventory, "json", &[])).unwrap();
            let links: BTreeSet<(String, u64)> = found
                .links
                .iter()
                .map(|l| {
                    (
                        named(&port_end(&l.a, &l.a_port), &port_end(&l.b, &l.b_port)),
                        l.rate_bps.0,
                    )
                })
                .collect();
            if links == expected
                && found.links.len() == expected.len()
                && found
                    .links
                    .iter()
                    .all(inventory::topology::Link::carries_frames)
            {
                Ok(found)
            } else {
                Err(format!("{:#?}", found.links))
            }
        });
        let kind = |kind| found.names(kind).map(str::to_owned).collect::<Vec<_>>();
        use inventory::topology::NodeKind::{Host, Router, Switch};
        let hosts: Vec<String> = self.file.hosts.keys().cloned().collect();
        assert_eq!(
            (kind(Switch), kind(Router), kind(Host)),
            (self.file.switches.clone(), self.file.routers.clone(), hosts)
        );
        assert_eq!(
            found.tree().unwrap().nodes(),
            self.file.tree().unwrap().nodes()
        );
        let clusters: BTreeSet<Vec<String>> =
            found.clusters.iter().map(|c| c.hosts.clone()).collect();
        assert_eq!(clusters, self.file.clusters.values().cloned().collect());
    }
}

fn port_end(node: &str, port: &str) -> lab::plan::PortEnd {
    lab::plan::PortEnd {
        node: node.into(),
        port: port.into(),
    }
}

/// A cable by its ends, in one order.
fn named(a: &lab::plan::PortEnd, b: &lab::plan::PortEnd) -> String {
    let mut ends = [a, b].map(|e| format!("{} {}", e.node, e.port));
    ends.sort();
    ends.join(" - ")
}

#[test]
fn two_clusters_are_joined_by_a_router_over_a_long_link() {
    let up = RunningLab::new("two", TWO);
    let status = up.lab.status().unwrap();
    assert!(status.up && status.as_expected(), "{status:#?}");
    let long: Vec<_> = status.cables.iter().filter(|c| c.delay_us > 0).collect();
    assert!(
        matches!(long[..], [c] if c.a.0 == "r0" && c.b.0 == "s1" && c.delay_us == 10_000),
        "{long:?}"
    );
    let router = status.nodes.iter().find(|n| n.name == "r0").unwrap();
    assert_eq!(
        router.ports,
        [("ge1", "10.77.0.241"), ("ge2", "10.77.1.241")].map(|(p, a)| (p.to_owned(), a.to_owned()))
    );
    // Each side has a spanning tree, because a router is not a bridge.
    let root = |switch: &str| up.exec(switch, &["cat", "/sys/class/net/br0/bridge/root_id"]);
    assert_ne!(root("s0"), root("s1"));
    up.is_as_far("n0", "n2", Duration::ZERO);
    up.is_as_far("n0", "n4", 20 * MS);
    up.is_as_far("n5", "n1", 20 * MS);
    assert_eq!(up.hop("n0", "n4", 1), Some("10.77.0.241".parse().unwrap()));
    assert_eq!(up.hop("n4", "n0", 1), Some("10.77.1.241".parse().unwrap()));
    assert_eq!((up.hop("n0", "n4", 2), up.hop("n0", "n2", 1)), (None, None));
    up.is_found_exactly();
    a_router_that_is_not_listed_is_reported(&up);
    cut_and_joined(&up);
    for mpi in ["openmpi", "mpich"] {
        mpi_crosses_the_router(&up, mpi);
    }
    up.down();
}

fn a_router_that_is_not_listed_is_reported(up: &RunningLab) {
    let inventory = up.inventory("r0:", "");
    let found: Topology = serde_json::from_str(&up.discover(&inventory, "json", &[])).unwrap();
    assert_eq!(
        found.kind("r0"),
        Some(inventory::topology::NodeKind::Router),
        "{:?}",
        found.nodes
    );
    assert!(
        found.alarms.iter().any(
            |a| a.subject.to_string() == "r0" && a.to_string().contains("not in the inventory")
        ),
        "{:?}",
        found.alarms
    );
    let written = TopologyFile::parse("found", &up.discover(&inventory, "topology", &[])).unwrap();
    assert_eq!(written.routers, ["r0"]);
}

fn cut_and_joined(up: &RunningLab) {
    up.lab.cut("r0", "s1").unwrap();
    up.await_cable("r0", "s1", "down");
    assert_eq!(up.round_trips("n0", "n4", SILENCE).next(), None);
    up.lab.join("s1", "r0", None).unwrap();
    up.await_cable("r0", "s1", "forwarding");
    up.is_as_far("n0", "n4", 20 * MS);
    // The same for a host's cable: its routes and neighbours come back with it.
    up.lab.cut("n0", "s0").unwrap();
    up.lab.join("n0", "s0", None).unwrap();
    up.await_cable("n0", "s0", "forwarding");
    up.is_as_far("n0", "n4", 20 * MS);
    assert!(refused(up.lab.move_host("n0", "s1").map(drop)).contains("there is a router between"));
    assert!(refused(up.lab.join("r0", "s0", None).map(drop)).contains("between two switches"));
}

fn refused(change: lab::LabResult<()>) -> String {
    change.unwrap_err().to_string()
}

const ALLTOALL: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    enum { COUNT = 1000 };
    int *out = malloc(size * COUNT * sizeof(int)), *in = malloc(size * COUNT * sizeof(int));
    for (int i = 0; i < size * COUNT; i++) out[i] = 1000000 * rank + i;
    MPI_Alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size * COUNT; i++)
        if (in[i] != 1000000 * (i / COUNT) + rank * COUNT + i % COUNT) MPI_Abort(MPI_COMM_WORLD, 3);
    printf("rank %d of %d has all\n", rank, size);
    MPI_Finalize();
    return 0;
}
"#;

fn mpi_crosses_the_router(up: &RunningLab, mpi: &str) {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (
        directory.path().join("alltoall.c"),
        directory.path().join(mpi),
    );
    fs::write(&source, ALLTOALL).unwrap();
    let compiled = Command::new(format!("mpicc.{mpi}"))
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(
        compiled.is_ok_and(|s| s.success()),
        "mpicc.{mpi} is missing; run: apt-get install libopenmpi-dev libmpich-dev"
    );
    let library = if mpi == "openmpi" {
        Mpi::OpenMpi
    } else {
        Mpi::Mpich
    };
    let job = lab::mpi::MpiJob {
        shim: false,
        timeout: Some(LIMIT),
        ..lab::mpi::MpiJob::new(library)
    };
    let output = up.lab.mpirun(&job, [&program]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<&str> = text.lines().filter(|l| l.starts_with("rank")).collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..6).map(|r| format!("rank {r} of 6 has all")).collect();
    assert_eq!(
        lines,
        expected,
        "{mpi}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn three_clusters_are_two_routers_apart() {
    let up = RunningLab::new("three", THREE);
    assert!(up.lab.status().unwrap().as_expected());
    let hops = |from: &str, to: &str| {
        (1..=3)
            .map_while(|ttl| Some(up.hop(from, to, ttl)?.to_string()))
            .collect::<Vec<_>>()
    };
    assert_eq!(hops("n0", "n3"), ["10.77.0.241"]);
    assert_eq!(hops("n0", "n5"), ["10.77.0.241", "10.77.3.242"]);
    assert_eq!(hops("n5", "n2"), ["10.77.2.241", "10.77.3.241"]);
    up.is_as_far("n1", "n3", 10 * MS);
    up.is_as_far("n1", "n5", 20 * MS);
    up.is_as_far("n2", "n4", 30 * MS);
    up.is_found_exactly();
    let found = TopologyFile::parse(
        "found",
        &up.discover(&up.inventory("", ""), "topology", &[]),
    )
    .unwrap();
    let ends = |file: &TopologyFile| {
        file.links
            .iter()
            .map(|l| BTreeSet::from([l.a.clone(), l.b.clone()]))
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(
        (&found.routers, ends(&found)),
        (&up.file.routers, ends(&up.file))
    );
    up.down();
}

#[test]
fn a_long_cable_holds_its_rate_and_loses_changes_and_reorders_nothing() {
    let text = "switches: [s0, s1]\nhosts: {n0: {switch: s0, rate: 100M}, n1: {switch: s1, rate: 100M, delay: 500us}}
links: [{a: s0, b: s1, rate: 100M, delay: 10ms}]";
    let up = RunningLab::new("long", text);
    up.is_as_far("n0", "n1", 21 * MS);
    let (near, far) = (up.socket("n0", PATIENCE), up.socket("n1", PATIENCE));
    let to = (up.address("n1"), far.local_addr().unwrap().port());
    const COUNT: u32 = 20_000;
    let began = Instant::now();
    let octets: usize = std::thread::scope(|s| {
        s.spawn(|| {
            (0..COUNT).for_each(|number| assert!(near.send_to(&datagram(number), to).is_ok()))
        });
        let mut octets = [0; 2048];
        (0..COUNT)
            .map(|number| {
                let length = far
                    .recv(&mut octets)
                    .unwrap_or_else(|e| panic!("datagram {number}: {e}"));
                let came = u32::from_be_bytes(octets[..4].try_into().unwrap());
                assert!(
                    octets[..length] == datagram(number),
                    "datagram {number}: lost, changed or out of order: {came} came in its place"
                );
                length
            })
            .sum()
    });
    let least = Duration::from_secs_f64(8.0 * octets as f64 / 100e6);
    assert!(
        began.elapsed() > least,
        "{octets} octets in {:?}; at the cables' rate they take {least:?}",
        began.elapsed()
    );
    link_is_lost_at_both_ends(&up);
    up.down();
}

/// A payload of every length up to a full frame. Its octets distinguish its number from others.
fn datagram(number: u32) -> Vec<u8> {
    let mut random = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let length = 4 + (random >> 40) as usize % 1_469;
    let mut octets = number.to_be_bytes().to_vec();
    octets.resize_with(length, || {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (random >> 56) as u8
    });
    octets
}

/// A switch takes its port down. The port at the far end of the cable has no link until the first
/// port is up again.
fn link_is_lost_at_both_ends(up: &RunningLab) {
    for link in [false, true] {
        up.exec(
            "s0",
            &[
                "ip",
                "link",
                "set",
                "swp1",
                if link { "up" } else { "down" },
            ],
        );
        until_so(&format!("the far end has link: {link}"), || {
            carrier(up) == link
        });
    }
    up.await_cable("s0", "s1", "forwarding");
    up.is_as_far("n0", "n1", 21 * MS);
}

fn carrier(up: &RunningLab) -> bool {
    up.exec("s1", &["sh", "-c", "cat /sys/class/net/swp1/carrier"])
        .trim()
        == "1"
}
