//! Schedule files that were cut off, altered, or made for another topology. Each is refused, and
//! the message names the first fault.
use inventory::{TopologyFile, Tree};
use schedules::alltoall::{AlltoallAlgorithm, AlltoallSchedule, plan_as};
use schedules::json::{self, Schedule};
use schedules::message::Message;
use schedules::synchronization::{SyncKind, SyncReduction};
use schedules::{allgather, verify};

/// Three switches around a core, two hosts each. A flipped bit never turns one name into another.
const NETWORK: &str = "switches: [core, near, mid, far]
hosts: {ann: {switch: near}, ben: {switch: near}, cleo: {switch: mid}, dora: {switch: mid},
  emil: {switch: far}, fritz: {switch: far}}
links: [{a: core, b: near}, {a: core, b: mid}, {a: core, b: far}]
";

fn network(text: &str) -> Tree {
    TopologyFile::parse("network", text)
        .unwrap()
        .tree()
        .unwrap()
}

fn good() -> AlltoallSchedule {
    plan_as(
        &network(NETWORK),
        AlltoallAlgorithm::Aapc,
        SyncKind::Receiver,
        SyncReduction::Minimal,
    )
}

/// The violation that `heddle verify` finds in the file; `None` if the file is right.
fn verdict(tree: &Tree, text: &[u8]) -> Option<String> {
    match json::read(text) {
        Err(error) => Some(error.to_string()),
        Ok(Schedule::Alltoall(plan)) => verify::alltoall(tree, &plan)
            .err()
            .map(|violation| violation.to_string()),
        Ok(Schedule::Allgather(ring)) => {
            let names: Vec<String> = tree.host_names().to_vec();
            let Some(ring) = ring.renumbered(&names) else {
                return Some("other hosts".to_owned());
            };
            verify::allgather(tree, &ring)
                .err()
                .map(|violation| violation.to_string())
        }
        Ok(Schedule::Lg(plan)) => verify::lg(tree, &plan)
            .err()
            .map(|violation| violation.to_string()),
    }
}

fn changed(change: impl FnOnce(&mut AlltoallSchedule)) -> String {
    let mut plan = good();
    change(&mut plan);
    verdict(&network(NETWORK), json::write_alltoall(&plan).as_bytes()).expect("refused")
}

#[test]
fn every_cut_is_refused_and_the_place_is_named() {
    let tree = network(NETWORK);
    let texts = [
        json::write_alltoall(&good()),
        json::write_allgather(&allgather::plan(&tree)),
    ];
    for text in texts {
        assert_eq!(verdict(&tree, text.as_bytes()), None);
        // The last octet ends the line; a file without it is still right.
        for length in 0..text.len() - 1 {
            let output = verdict(&tree, &text.as_bytes()[..length]).expect("refused");
            assert!(
                output.contains("line 1 column"),
                "cut to {length}: {output}"
            );
        }
    }
}

#[test]
fn every_altered_octet_is_refused() {
    let tree = network(NETWORK);
    let ring = json::write_allgather(&allgather::plan(&tree));
    // The verifier does not check which algorithm found a ring.
    let behind_algorithm = ring.find("\"ring\"").unwrap();
    for (text, first) in [(json::write_alltoall(&good()), 0), (ring, behind_algorithm)] {
        for (at, bit) in (first..text.len() - 1).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bad = text.clone().into_bytes();
            bad[at] ^= 1 << bit;
            assert!(
                verdict(&tree, &bad).is_some(),
                "bit {bit} of octet {at}: {}",
                String::from_utf8_lossy(&bad)
            );
        }
    }
}

type ScheduleDamage = (fn(&mut AlltoallSchedule), &'static str);

fn each_is_named(damages: &[ScheduleDamage]) {
    for &(damage, expected) in damages {
        let refusal = changed(damage);
        assert!(
            refusal.starts_with(expected),
            "{refusal}\nexpected: {expected}"
        );
    }
}

#[test]
fn altered_messages_are_named() {
    each_is_named(&[
        (
            |plan| _ = plan.phases[3].remove(0),
            "message ann -> dora: sent in no phase",
        ),
        (
            |plan| _ = plan.phases.remove(2),
            "message ben -> cleo: sent in no phase",
        ),
        (
            |plan| plan.phases[4].push(Message { src: 0, dst: 3 }),
            "message ann -> dora: sent in phase 3 and again in phase 4",
        ),
        (
            |plan| plan.phases[2][0].dst = 1,
            "phase 2: message ben -> ben does not leave its host",
        ),
        (
            |plan| {
                let moved = plan.phases[3].remove(0);
                plan.phases[4].push(moved);
            },
            "edge core -> mid, phase 4: emil -> cleo and ann -> dora collide",
        ),
        (
            |plan| {
                let moved = plan.phases[3].remove(0);
                plan.phases.push(vec![moved]);
            },
            "9 phases: the load of the bottleneck edge near -> core asks for 8",
        ),
    ]);
}

#[test]
fn an_altered_certificate_is_named() {
    each_is_named(&[
        (
            |plan| plan.bound.phases -= 1,
            "bound: says 7 phases by load 8, capacity 1 of edge near -> core; ",
        ),
        (
            |plan| plan.bound.edge.0 = "ann".to_owned(),
            "bound: says 8 phases by load 8, capacity 1 of edge ann -> core; that is not a \
             bottleneck edge",
        ),
        (
            |plan| plan.hosts.swap(0, 5),
            "hosts: the schedule's are not those of the topology in its order: fritz stands where \
             ann is expected",
        ),
    ]);
}

#[test]
fn altered_synchronizations_are_named() {
    each_is_named(&[
        (
            |plan| _ = plan.syncs.remove(4),
            "edge far -> core: emil -> ann (phase 1) and fritz -> ben (phase 2) are ordered by no \
             synchronization",
        ),
        (
            |plan| plan.syncs[0].from = 4,
            "synchronization ann -> cleo (phase 0) before ben -> dora (phase 1): sent by neither \
             end",
        ),
        (
            |plan| plan.syncs[0].to = 4,
            "synchronization ann -> cleo (phase 0) before ben -> dora (phase 1): awaited by \
             another host",
        ),
    ]);
}

#[test]
fn a_schedule_for_another_topology_is_refused_where_it_first_fails() {
    let text = json::write_alltoall(&good());
    for (made, really, expected) in [
        (
            "ben: {switch: near}",
            "ben: {switch: mid}",
            "edge core -> mid, phase 0: ann -> cleo and emil -> ben collide",
        ),
        (
            ", fritz: {switch: far}",
            "",
            "hosts: the schedule's are not those of the topology in its order: 6 instead of 5",
        ),
        (
            "{a: core, b: mid}, {a: core, b: far}",
            "{a: near, b: mid}, {a: mid, b: far}",
            "bound: says 8 phases by load 8, capacity 1 of edge near -> core; that is no",
        ),
    ] {
        let other = network(&NETWORK.replace(made, really));
        let output =
            verdict(&other, text.as_bytes()).unwrap_or_else(|| panic!("right for {really}"));
        assert!(
            output.starts_with(expected),
            "{output}\nexpected: {expected}"
        );
    }
}
