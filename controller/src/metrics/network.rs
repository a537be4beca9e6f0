//! Switches, ports, links and hosts.
use super::exposition::PrometheusText;
use super::families as f;
use crate::engine::PortFigures;
use api::{AgentStatus, LinkLoad, Snapshot, SwitchStatus};
use inventory::BitsPerSec;
use inventory::topology::Link;

/// A rate in bytes per second.
fn bytes(rate: BitsPerSec) -> f64 {
    rate.0 as f64 / 8.0
}

pub(super) fn switches(out: &mut PrometheusText, switches: &[SwitchStatus]) {
    let all = (switches, (|s| &s.name) as fn(&SwitchStatus) -> &str);
    out.each(&f::SWITCH_UP, all, |s| {
        Some(u8::from(s.problem.is_none() && s.seen.is_some()))
    });
    out.each(&f::SWITCH_SEEN, all, |s| Some(s.seen?.0 as f64 / 1000.0));
    out.each(&f::SWITCH_CHANGES, all, |s| s.top_changes);
}

type PortCount = fn(&PortFigures) -> Option<u128>;

pub(super) fn ports(out: &mut PrometheusText, ports: &[PortFigures]) {
    let up = out.family(&f::PORT_UP);
    for p in ports {
        up.sample([&p.switch, &p.port], u8::from(p.up));
    }
    let counts: [(_, PortCount); 6] = [
        (&f::PORT_IN, |p| Some(p.octets?.0)),
        (&f::PORT_OUT, |p| Some(p.octets?.1)),
        (&f::PORT_IN_ERRORS, |p| Some(p.faults?.in_errors.into())),
        (&f::PORT_OUT_ERRORS, |p| Some(p.faults?.out_errors.into())),
        (&f::PORT_IN_DISCARDS, |p| Some(p.faults?.in_discards.into())),
        (&f::PORT_OUT_DISCARDS, |p| {
            Some(p.faults?.out_discards.into())
        }),
    ];
    for (family, count) in counts {
        let out = out.family(family);
        for p in ports {
            out.known([&p.switch, &p.port], count(p));
        }
    }
}

/// Both directions of each link; `value` gives the figures of both.
fn directions<V: std::fmt::Display>(
    out: &mut PrometheusText,
    s: &Snapshot,
    value: impl Fn(&Link, &LinkLoad) -> [Option<V>; 2],
) {
    for (topology, loads) in s.networks() {
        let network = topology.own_network().map_or("", |own| &own.name);
        for (link, load) in topology.links.iter().zip(loads) {
            let Link {
                a,
                a_port,
                b,
                b_port,
                ..
            } = link;
            let [forth, back] = value(link, load);
            out.known([a, a_port, b, b_port, network], forth);
            out.known([b, b_port, a, a_port, network], back);
        }
    }
}

pub(super) fn links(out: &mut PrometheusText, s: &Snapshot) {
    directions(out.family(&f::LINK_LOAD), s, |_, load| {
        [load.a_to_b, load.b_to_a].map(|measured| measured.map(bytes))
    });
    directions(out.family(&f::LINK_SPEED), s, |link, _| {
        [Some(bytes(link.rate_bps)); 2]
    });
    directions(out.family(&f::LINK_FORWARDING), s, |link, _| {
        [Some(u8::from(link.carries_frames())); 2]
    });
    directions(out.family(&f::LINK_MESSAGES), s, |_, load| {
        [Some(load.aapc_load); 2]
    });
}

pub(super) fn agents(out: &mut PrometheusText, agents: &[AgentStatus]) {
    let all = (agents, (|a| &a.host) as fn(&AgentStatus) -> &str);
    out.each(&f::AGENT_UP, all, |a| Some(u8::from(a.problem.is_none())));
    out.each(&f::HOST_IN, all, |a| a.inward.map(bytes));
    out.each(&f::HOST_OUT, all, |a| a.outward.map(bytes));
    let round_trip = out.family(&f::ROUND_TRIP);
    for a in agents {
        for path in &a.ways {
            let seconds = path.min_us.map(|us| f64::from(us) / 1e6);
            round_trip.known([&a.host, &path.to], seconds);
        }
    }
}
