//! Troubles of cables and switches.
use super::cluster::{HOSTS, SWITCHES, StressCluster};
use schedules::random::SplitMix64;
use std::time::Duration;

/// The time a cable is out or a switch is down, before the spanning tree starts again.
const OUT: Duration = Duration::from_millis(700);

/// One thing that happens to the network.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NetworkTrouble {
    /// A host's cable goes to another switch.
    Move(&'static str, &'static str),
    /// A host's cable is pulled and put back.
    Pull(&'static str),
    /// A cable between two switches is pulled, and put back when the blocked one has taken over.
    Trunk(&'static str, &'static str),
    /// A switch forwards nothing for a moment.
    Bridge(&'static str),
    /// A switch's SNMP agent dies, and comes again.
    SnmpAgent(&'static str),
}

impl NetworkTrouble {
    /// Three of seven are moves. Seven has no common divisor with the periods of the other
    /// families, so that every trouble meets every other.
    pub(crate) fn drawn(round: u64, random: &mut SplitMix64) -> NetworkTrouble {
        let (host, switch) = (HOSTS[random.below(4)], random.below(3));
        let (one, other) = (SWITCHES[switch], SWITCHES[(switch + 1) % 3]);
        match round % 7 {
            1 => NetworkTrouble::Bridge(one),
            3 => NetworkTrouble::Trunk(one, other),
            4 => NetworkTrouble::Pull(host),
            5 => NetworkTrouble::SnmpAgent(one),
            _ => NetworkTrouble::Move(host, one),
        }
    }

    /// Its name in the table of troubles.
    pub(crate) fn counted_as(&self) -> &'static str {
        match self {
            NetworkTrouble::Move(..) => "cables moved",
            NetworkTrouble::Pull(_) => "cables pulled",
            NetworkTrouble::Trunk(..) => "trunks pulled",
            NetworkTrouble::Bridge(_) => "switches down",
            NetworkTrouble::SnmpAgent(_) => "SNMP agents killed",
        }
    }

    pub(crate) fn cause(&self, cluster: &mut StressCluster) {
        let lab = &cluster.up.lab;
        let is_there = |host: &str, switch: &str| {
            lab.plan()
                .unwrap()
                .cables
                .iter()
                .any(|cable| cable.joins(host, switch))
        };
        match *self {
            NetworkTrouble::Move(host, switch) => {
                let next = SWITCHES
                    .iter()
                    .position(|s| *s == switch)
                    .map_or(0, |at| (at + 1) % SWITCHES.len());
                lab.move_host(
                    host,
                    if is_there(host, switch) {
                        SWITCHES[next]
                    } else {
                        switch
                    },
                )
                .unwrap();
            }
            NetworkTrouble::Pull(host) => {
                let switch = SWITCHES
                    .iter()
                    .find(|switch| is_there(host, switch))
                    .unwrap();
                lab.cut(host, switch).unwrap();
                std::thread::sleep(OUT);
                lab.join(host, switch, None).unwrap();
            }
            NetworkTrouble::Trunk(a, b) => {
                lab.cut(a, b).unwrap();
                cluster.out = Some((a, b));
            }
            NetworkTrouble::Bridge(switch) => {
                cluster
                    .up
                    .exec(switch, &["ip", "link", "set", "br0", "down"]);
                std::thread::sleep(OUT);
                cluster.up.exec(switch, &["ip", "link", "set", "br0", "up"]);
            }
            NetworkTrouble::SnmpAgent(switch) => {
                // Starts it as the lab did, detached from the process that enters the node for
                // this.
                let again = "set -- $(tr '\\0' ' ' </proc/$(pidof snmpd)/cmdline); kill -9 $(pidof snmpd); sleep 2
                    SNMP_PERSISTENT_DIR=/var/lib/snmp MIBS= setsid \"$@\" </dev/null >/dev/null 2>&1 &";
                cluster.up.exec(switch, &["sh", "-c", again]);
            }
        }
    }

    /// Puts a trunk back. Returns whether one was out.
    pub(crate) fn repair(cluster: &mut StressCluster) -> bool {
        cluster
            .out
            .take()
            .is_some_and(|(a, b)| cluster.up.lab.join(a, b, None).is_ok())
    }
}
