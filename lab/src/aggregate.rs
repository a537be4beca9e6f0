//! Aggregates of cables (IEEE 802.1AX): each frame takes the cable that a hash of its
//! addresses and ports gives.
//!
//! The kernel need not have a bonding driver: the bridge's port is a pair of interfaces, and rules of nftables
//! pass what comes out of it on to one of the members, and what members receive back into it.
//!
//! ```text
//! br0 - swp3 - in-swp3 --hash--> m-swp3-0, m-swp3-1 ==cables== members of the other bridge
//! ```
//!
//! The cards of a host with several are one interface in the same way, `eth0` of `m-eth0-0` and `m-eth0-1`.
use crate::error::LabResult;
use crate::netlink::{self, NetlinkNamespace, VethEnd};
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
        format!("{}{}", prefix(&end.port), self.number)
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
pub(crate) fn prefix(port: &str) -> String {
    format!("m-{port}-")
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
        add_choice(end).await?;
        choose(end.wire, end.port, members, members)?;
    }
    Ok(())
}

/// Joins the cables of a host to one card with their rates together.
pub(crate) async fn bond(
    plan: &LabPlan,
    wire: &NetlinkNamespace,
    (host, card): (&str, &str),
) -> LabResult<()> {
    let cables: Vec<&LabCable> = plan.members_of(host, card).collect();
    let [first, ..] = cables[..] else {
        return Ok(());
    };
    let end = VethEnd {
        wire,
        port: card,
        mac: plan.port_mac(&first.a),
    };
    add_choice(&end).await?;
    let whole = LabCable {
        rate: BitsPerSec(cables.iter().map(|cable| cable.rate.0).sum()),
        ..first.clone()
    };
    wire.shape(card, &PortShape::for_cable(&whole, &plan.options))
        .await?;
    wire.prioritise(card).await?;
    wire.set_up(card, true).await?;
    choose_cable(plan, wire, (host, card))
}

/// Has a host send over those of its cables that are not cut.
pub(crate) fn choose_cable(
    plan: &LabPlan,
    wire: &NetlinkNamespace,
    (host, card): (&str, &str),
) -> LabResult<()> {
    let (mut all, mut sending) = (Vec::new(), Vec::new());
    for cable in plan.members_of(host, card) {
        all.push(cable.a.port.clone());
        sending.extend((!cable.cut).then(|| cable.a.port.clone()));
    }
    choose(wire, card, &all, &sending)
}

/// Puts another interface behind a port, whose frames the rules of [`choose`] pass on.
async fn add_choice(end: &VethEnd<'_>) -> LabResult<()> {
    let inner = inner(end.port);
    let inside = VethEnd {
        wire: end.wire,
        port: &inner,
        mac: own_mac(end.mac, 0),
    };
    netlink::cable(end, &inside).await?;
    end.wire.set_up(&inner, true).await
}

/// Has a port take what all members receive, and send over some.
fn choose(
    wire: &NetlinkNamespace,
    port: &str,
    all: &[String],
    sending: &[String],
) -> LabResult<()> {
    let rules = rules(port, all, sending);
    wire.within(|| nft(&rules))
}

fn inner(port: &str) -> String {
    format!("in-{port}")
}

/// The address of an interface that belongs to this port.
fn own_mac(port: Mac, number: u8) -> Mac {
    let [a, _, rest @ ..] = port.0;
    let mut own = [a, 0x50 + number, 0, 0, 0, 0];
    own[2..].copy_from_slice(&rest);
    Mac(own)
}

/// Frames without ports take the first cable, neighbours' announcements stay where they arrive.
fn rules(port: &str, all: &[String], sending: &[String]) -> String {
    let inner = inner(port);
    let by_hash: Vec<String> = sending
        .iter()
        .enumerate()
        .map(|(hash, name)| format!("{hash} : \"{name}\""))
        .collect();
    let choose = |family: &str, protocol: &str| {
        format!(
            "{protocol} {{ tcp, udp }} fwd to jhash {family} saddr . {family} daddr . th sport . th dport mod {} \
             seed 7 map {{ {} }}",
            sending.len(),
            by_hash.join(", ")
        )
    };
    let mut out = Vec::new();
    if sending.len() > 1 {
        out.extend([choose("ip", "ip protocol"), choose("ip6", "ip6 nexthdr")]);
    }
    out.extend(sending.first().map(|first| format!("fwd to \"{first}\"")));
    let renewed = format!("table netdev {port}\ndelete table netdev {port}\ntable netdev {port}");
    format!(
        "{renewed} {{\n chain out {{\n  type filter hook ingress device \"{inner}\" priority 0;\n  \
         {}\n }}\n chain in {{\n  type filter hook ingress devices = {{ {} }} priority \
         0;\n  ether type 0x88cc accept\n  fwd to \"{inner}\"\n }}\n}}\n",
        out.join("\n  "),
        quoted(all)
    )
}

/// The names of interfaces as a set of nftables has them.
pub(crate) fn quoted(names: &[impl AsRef<str>]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("\"{}\"", name.as_ref()))
        .collect();
    names.join(", ")
}

/// Adds rules in the namespace of the calling thread.
pub(crate) fn nft(rules: &str) -> io::Result<()> {
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
