//! All-to-alls: every message once, no edge beyond its width, the certificate, the synchronizations.
use super::order;
use super::{NamedEdge, Names, Violation};
use crate::alltoall::{Algorithm, Alltoall};
use crate::bound::Bound;
use crate::capacities::Capacities;
use crate::message::Message;
use inventory::tree::{Edge, Tree};

/// Checks an all-to-all against the tree of its hosts, in its order of hosts ([`Tree::restrict`]).
///
/// # Errors
/// The first [`Violation`].
pub fn alltoall(tree: &Tree, plan: &Alltoall) -> Result<(), Violation> {
    let names = Names(tree);
    names.same_hosts(&plan.hosts)?;
    let scheduled = every_pair_once(&names, plan)?;
    let capacities = plan.algorithm.capacities(tree);
    if let Some(idle) = plan.phases.iter().position(Vec::is_empty) {
        return Err(Violation::Empty(idle));
    }
    no_contention(&names, plan, &capacities)?;
    as_short_as_can_be(&names, plan, &capacities)?;
    order::kept(&names, plan, &scheduled, &capacities)
}

/// Where every message is scheduled.
pub(super) struct Scheduled {
    hosts: u32,
    /// Position of each pair's message in phase order.
    position: Vec<u32>,
    /// Phase of each position.
    pub(super) phase: Vec<u32>,
}

pub(super) const NOWHERE: u32 = u32::MAX;

impl Scheduled {
    pub(super) fn position(&self, m: Message) -> Option<u32> {
        let known = m.src < self.hosts && m.dst < self.hosts;
        known.then(|| self.position[m.src as usize * self.hosts as usize + m.dst as usize]).filter(|&p| p != NOWHERE)
    }

    pub(super) fn phase(&self, position: u32) -> usize {
        self.phase[position as usize] as usize
    }
}

fn every_pair_once(names: &Names<'_>, plan: &Alltoall) -> Result<Scheduled, Violation> {
    let hosts = names.0.hosts();
    let mut scheduled = Scheduled { hosts, position: vec![NOWHERE; hosts as usize * hosts as usize], phase: Vec::new() };
    for (phase, messages) in plan.phases.iter().enumerate() {
        for &m in messages {
            if let Some(host) = [m.src, m.dst].into_iter().find(|&h| h >= hosts) {
                return Err(Violation::NoSuchHost { phase, host });
            }
            if m.src == m.dst {
                return Err(Violation::ToItself { phase, message: names.of(m) });
            }
            if let Some(first) = scheduled.position(m) {
                return Err(Violation::Twice { message: names.of(m), first: scheduled.phase(first), second: phase });
            }
            scheduled.position[m.src as usize * hosts as usize + m.dst as usize] = scheduled.phase.len() as u32;
            scheduled.phase.push(phase as u32);
        }
    }
    let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| Message { src, dst }));
    match pairs.filter(|m| m.src != m.dst).find(|&m| scheduled.position(m).is_none()) {
        Some(lost) => Err(Violation::Missing(names.of(lost))),
        None => Ok(scheduled),
    }
}

fn no_contention(names: &Names<'_>, plan: &Alltoall, capacities: &Capacities) -> Result<(), Violation> {
    // Per edge the phase of its last use, how many messages use it in that phase, and the latest of them.
    let mut uses: Vec<(u32, u64, Message)> = vec![(NOWHERE, 0, Message { src: 0, dst: 0 }); names.0.edges() as usize];
    for (phase, messages) in plan.phases.iter().enumerate() {
        for &m in messages {
            let mut clash = None;
            names.0.path(m.src, m.dst, |edge| {
                let (when, former, first) = uses[edge as usize];
                let users = if when == phase as u32 { former + 1 } else { 1 };
                uses[edge as usize] = (phase as u32, users, m);
                if users > capacities.width(edge) {
                    clash = Some((edge, first));
                }
            });
            if let Some((edge, first)) = clash {
                let width = capacities.width(edge);
                let (edge, first, second) = (names.edge(edge), names.of(first), names.of(m));
                return Err(Violation::Contention { edge, phase, width, first, second });
            }
        }
    }
    Ok(())
}

/// Counts what the edges have to carry from the messages themselves, and compares.
fn as_short_as_can_be(names: &Names<'_>, plan: &Alltoall, capacities: &Capacities) -> Result<(), Violation> {
    let tree = names.0;
    let mut load = vec![0u64; tree.edges() as usize];
    for m in plan.phases.iter().flatten() {
        tree.path(m.src, m.dst, |edge| load[edge as usize] += 1);
    }
    let needs = |edge: Edge| load[edge as usize].div_ceil(capacities.width(edge).max(1));
    let most = (0..tree.edges()).map(needs).max().unwrap_or(0);
    let mut bottlenecks = (0..tree.edges()).filter(|&edge| needs(edge) == most && tree.ends(edge).is_some());
    // Where links are wider than a message it is not known whether the bound can always be reached; twice as many phases, though,
    // come from no planner.
    let allowed = if plan.algorithm == Algorithm::Aapc { most..=most } else { most..=2 * most };
    if !allowed.contains(&(plan.phases.len() as u64)) {
        let edge = bottlenecks.next().map_or_else(|| NamedEdge { from: "".into(), to: "".into() }, |edge| names.edge(edge));
        return Err(Violation::Phases { phases: plan.phases.len(), bound: most, edge });
    }
    let Bound { phases, edge: (from, to), load: stated, capacity } = &plan.bound;
    let stated_edge = NamedEdge { from: from.as_str().into(), to: to.as_str().into() };
    let bottleneck = bottlenecks.find(|&edge| names.edge(edge) == stated_edge);
    let truth = match bottleneck {
        _ if *phases != most => format!("the bottleneck edge asks for {most}"),
        None if most > 0 => "that is no bottleneck edge".to_owned(),
        Some(edge) if most > 0 && (*stated, *capacity) != (load[edge as usize], capacities.width(edge)) => {
            format!("its load is {} and its capacity {}", load[edge as usize], capacities.width(edge))
        }
        _ => return Ok(()),
    };
    Err(Violation::Bound { phases: *phases, load: *stated, capacity: *capacity, edge: stated_edge, truth })
}
