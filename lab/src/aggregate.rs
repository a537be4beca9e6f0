//! Aggregates of cables between two bridges (IEEE 802.1AX): each frame takes the cable that a hash of its
//! addresses and ports gives.
//!
//! The kernel need not have a bonding driver: the bridge's port is a pair of interfaces, and rules of nftables
//! pass what comes out of it on to one of the members, and what members receive back into it.
//!
//! ```text
//! br0 - swp3 - in-swp3 --hash--> m-swp3-0, m-swp3-1 ==cables== members of the other bridge
//! ```
use crate::error::LabResult;
use crate::netlink::{self, VethEnd};
use crate::plan::{LabCable, LabPlan, PortEnd};
use crate::port_shape::PortShape;
use inventory::{BitsPerSec, Mac};
use std::io::{self, Write};
use std::num::NonZeroU8;
use std::process::{Command, Stdio};

/// One cable of an aggregate.
pub(crate) struct AggregateCable {
    number: u8,
    /// Its part of the aggregate.
    pub(crate) cable: LabCable,
}

impl AggregateCable {
    /// Its port at this end of the aggregate.
    pub(crate) fn port(&self, end: &PortEnd) -> String {
        format!("{}{}", prefix(end), self.number)
    }
}

/// The cables of an aggregate; none of a cable alone.
pub(crate) fn members(cable: &LabCable) -> impl Iterator<Item = AggregateCable> + '_ {
    let all = u64::from(cable.cables.get());
    let count = if all > 1 { all as u8 } else { 0 };
    (0..count).map(move |number| AggregateCable {
        number,
        cable: LabCable {
            rate: BitsPerSec(cable.rate.0 / all),
            cables: NonZeroU8::MIN,
            ..cable.clone()
        },
    })
}

/// How the names of members' ports begin.
pub(crate) fn prefix(end: &PortEnd) -> String {
    format!("m-{}-", end.port)
}

/// Makes the cables of an aggregate, shapes them, and has both ends choose among them.
pub(crate) async fn connect(
    plan: &LabPlan,
    ends: [VethEnd<'_>; 2],
    cable: &LabCable,
) -> LabResult<()> {
    let mut ports: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for member in members(cable) {
        let names = [member.port(&cable.a), member.port(&cable.b)];
        let plug = |end: usize| VethEnd {
            wire: ends[end].wire,
            port: &names[end],
            mac: own_mac(ends[end].mac, member.number + 1),
        };
        netlink::cable(&plug(0), &plug(1)).await?;
        let shape = PortShape::for_cable(&member.cable, &plan.options);
        for (end, name) in names.iter().enumerate() {
            ends[end].wire.shape(name, &shape).await?;
            ends[end].wire.set_up(name, true).await?;
            ports[end].push(name.clone());
        }
    }
    for (end, members) in ends.iter().zip(&ports) {
        let inner = format!("in-{}", end.port);
        let inside = VethEnd {
            wire: end.wire,
            port: &inner,
            mac: own_mac(end.mac, 0),
        };
        netlink::cable(end, &inside).await?;
        end.wire.set_up(&inner, true).await?;
        let rules = rules(end.port, &inner, members);
        end.wire.within(|| nft(&rules))?;
    }
    Ok(())
}

/// The address of an interface that belongs to this port.
fn own_mac(port: Mac, number: u8) -> Mac {
    let [a, _, rest @ ..] = port.0;
    let mut own = [a, 0x50 + number, 0, 0, 0, 0];
    own[2..].copy_from_slice(&rest);
    Mac(own)
}

/// Frames without ports take the first cable, neighbours' announcements stay where they arrive.
fn rules(port: &str, inner: &str, members: &[String]) -> String {
    let quoted: Vec<String> = members.iter().map(|name| format!("\"{name}\"")).collect();
    let by_hash: Vec<String> = quoted
        .iter()
        .enumerate()
        .map(|(hash, name)| format!("{hash} : {name}"))
        .collect();
    let choose = |family: &str, protocol: &str| {
        format!(
            "{protocol} {{ tcp, udp }} fwd to jhash {family} saddr . {family} daddr . th sport . th dport mod {} \
             seed 7 map {{ {} }}",
            members.len(),
            by_hash.join(", ")
        )
    };
    format!(
        "table netdev {port} {{\n chain out {{\n  type filter hook ingress device \"{inner}\" priority 0;\n  \
         {}\n  {}\n  fwd to {}\n }}\n chain in {{\n  type filter hook ingress devices = {{ {} }} priority \
         0;\n  ether type 0x88cc accept\n  fwd to \"{inner}\"\n }}\n}}\n",
        choose("ip", "ip protocol"),
        choose("ip6", "ip6 nexthdr"),
        quoted[0],
        quoted.join(", ")
    )
}

/// Adds rules in the namespace of the calling thread.
fn nft(rules: &str) -> io::Result<()> {
    let command = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut nft = command.map_err(|e| {
        io::Error::new(e.kind(), format!("nft: {e}; run: apt-get install nftables"))
    })?;
    if let Some(mut input) = nft.stdin.take() {
        input.write_all(rules.as_bytes())?;
    }
    let done = nft.wait_with_output()?;
    match done.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "nft: {}",
            String::from_utf8_lossy(&done.stderr)
        ))),
    }
}
