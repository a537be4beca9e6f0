//! Schedules as pictures: the phases, or steps, of messages between hosts.
use drawing::gantt::{self, HostPair, ScheduleView};
use inventory::Tree;
use schedules::allgather::AllgatherSchedule;
use schedules::alltoall::AlltoallSchedule;
use schedules::capacities::EdgeCapacities;
use schedules::lg::LgSchedule;

pub(super) fn alltoall(tree: &Tree, title: &str, plan: &AlltoallSchedule) -> String {
    let messages = plan.phases.iter();
    let phases = messages.map(|phase| phase.iter().map(|m| (m.src, m.dst)).collect());
    let view = ScheduleView {
        tree,
        phases: &phases.collect::<Vec<_>>(),
        capacities: &plan.algorithm.capacities(tree),
        bottleneck: Some(plan.bound.edge.clone()),
        column: "phase",
    };
    document(&view, &format!("{title}, {}", plan.algorithm))
}

pub(super) fn lg(tree: &Tree, title: &str, plan: &LgSchedule) -> String {
    let transfers = plan.steps.iter();
    let steps = transfers.map(|step| step.iter().map(|t| (t.from, t.to)).collect());
    let view = ScheduleView {
        tree,
        phases: &steps.collect::<Vec<_>>(),
        capacities: &EdgeCapacities::unit(tree),
        bottleneck: Some(plan.bound.edge.clone()),
        column: "step",
    };
    document(&view, &format!("{title}, lg"))
}

/// All steps of a ring are alike, so one is drawn.
pub(super) fn allgather(tree: &Tree, title: &str, plan: &AllgatherSchedule) -> String {
    let next = plan.ring.iter().copied().cycle().skip(1);
    let step: Vec<HostPair> = plan.ring.iter().copied().zip(next).collect();
    let steps = step.len().saturating_sub(1);
    let view = ScheduleView {
        tree,
        phases: &[step],
        capacities: &EdgeCapacities::unit(tree),
        bottleneck: None,
        column: "step",
    };
    let title = format!("{title}, {}: one of {steps} equal steps", plan.algorithm);
    document(&view, &title)
}

fn document(view: &ScheduleView<'_>, title: &str) -> String {
    gantt::picture(view, title).document(title)
}
