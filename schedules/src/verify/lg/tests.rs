use super::*;
use crate::lg::tests::runs;
use crate::lg::{HostCluster, Transfer, plan};
use samples::trees::{star, topology};

/// The violation in a plan for 2 + 3 hosts after a change to it.
fn broken(change: impl FnOnce(&mut LgSchedule)) -> String {
    let tree = star(&[2, 3]);
    let mut plan = plan(&tree, &runs(&tree, &[2, 3]), None);
    assert_eq!(lg(&tree, &plan), Ok(()));
    change(&mut plan);
    lg(&tree, &plan).unwrap_err().to_string()
}

/// The step and place of the message whose first block is this one.
fn of(plan: &LgSchedule, from: u32, to: u32) -> (usize, usize) {
    plan.steps
        .iter()
        .enumerate()
        .find_map(|(s, step)| {
            step.iter()
                .position(|t| (t.from, t.to) == (from, to))
                .map(|t| (s, t))
        })
        .unwrap()
}

#[test]
fn blocks_are_followed_from_host_to_host() {
    // n0 is the proxy for n2: it receives n1's block in step 0 and passes it on in a later step.
    let early = broken(|p| {
        let (s, t) = of(p, 0, 2);
        let message = p.steps[s].remove(t);
        p.steps.insert(0, vec![message]);
    });
    assert_eq!(
        early,
        "step 0, message n0 -> n2: block n1 -> n2 is not at n0 but at n1"
    );
    let same = broken(|p| {
        let (s, t) = of(p, 0, 2);
        let message = p.steps[s].remove(t);
        p.steps[0].push(message);
    });
    assert_eq!(
        same,
        "step 0, message n0 -> n2: block n1 -> n2 reaches n0 in this very step"
    );
    let lost = broken(|p| {
        let (s, t) = of(p, 1, 0);
        p.steps[s][t].blocks.retain(|b| b.dst != 0);
    });
    assert_eq!(lost, "block n1 -> n0: still at n1 after the last step");
    let again = broken(|p| {
        let (s, t) = of(p, 1, 0);
        let block = p.steps[s][t].blocks[0];
        p.steps[s][t].blocks.push(block);
    });
    assert_eq!(
        again,
        "step 0, message n1 -> n0: block n1 -> n0 is not at n1 but at n0"
    );
}

#[test]
fn messages_that_cannot_be_are_named() {
    let with = |change: fn(&mut Transfer)| broken(|p| change(&mut p.steps[0][0]));
    assert!(with(|t| t.blocks.clear()).ends_with("it carries no block"));
    assert!(with(|t| t.to = t.from).ends_with("it does not leave its host"));
    assert!(with(|t| t.to = 5).ends_with("host number 5 does not exist"));
    assert!(with(|t| t.blocks[0].src = 9).ends_with("host number 9 does not exist"));
    assert!(
        with(|t| t.blocks.push(Message {
            src: t.from,
            dst: t.from
        }))
        .ends_with("never leaves its host")
    );
    let astray = broken(|p| {
        p.steps.push(vec![Transfer {
            from: 0,
            to: 4,
            blocks: vec![Message { src: 1, dst: 0 }],
        }])
    });
    assert!(
        astray.ends_with(
            "message n0 -> n4: block n1 -> n0 crosses between clusters that are not its own"
        ),
        "{astray}"
    );
}

#[test]
fn every_block_crosses_in_as_few_messages_as_can_be_one_at_a_time() {
    let split = broken(|p| {
        let (s, t) = of(p, 0, 2);
        let block = p.steps[s][t].blocks.pop().unwrap();
        p.steps.push(vec![Transfer {
            from: 0,
            to: 2,
            blocks: vec![block],
        }]);
    });
    assert_eq!(split, "cluster c0 to cluster c1: 4 messages instead of 3");
    let busy = broken(|p| {
        let (s, t) = of(p, 0, 4);
        let message = p.steps[s].remove(t);
        let (s, _) = of(p, 0, 2);
        p.steps[s].push(message);
    });
    assert_eq!(
        busy,
        "step 2: n0 -> n2 and n0 -> n4 between clusters at the same host"
    );
}

#[test]
fn edges_inside_a_cluster_carry_what_they_can() {
    let collision = broken(|p| {
        let moved = p.steps[1].remove(0);
        p.steps[0].push(moved);
    });
    assert_eq!(
        collision,
        "edge s1 -> n4, step 0: n3 -> n4 and n2 -> n4 collide"
    );
    // The link from a to b is inside c0. Both hosts send over it to c1 in one step.
    let text = |rate| {
        format!(
            "switches: [a, b, c]\nhosts: {{n0: {{switch: a}}, n1: {{switch: a}}, \
             n2: {{switch: b}}, n3: {{switch: c}}, n4: {{switch: c}}, n5: {{switch: c}}}}\n\
             links: [{{a: a, b: b, rate: {rate}}}, {{a: b, b: c}}]"
        )
    };
    let [narrow, wide] = ["1G", "2G"].map(|rate| topology(&text(rate)));
    let planned = plan(&wide, &runs(&wide, &[3, 3]), None);
    assert_eq!(lg(&wide, &planned), Ok(()));
    let clash = lg(&narrow, &planned).unwrap_err().to_string();
    assert!(
        ["edge a -> b, ", "edge b -> a, "]
            .iter()
            .any(|edge| clash.starts_with(edge)),
        "{clash}"
    );
}

#[test]
fn clusters_and_certificate_are_not_believed() {
    let clusters = |change: fn(&mut Vec<HostCluster>)| broken(|p| change(&mut p.clusters));
    assert_eq!(
        clusters(|c| c[1].hosts.truncate(2)),
        "clusters: host n4 is in none"
    );
    assert_eq!(
        clusters(|c| c[1].hosts.push(0)),
        "clusters: c1: host n0 is in a cluster already"
    );
    assert_eq!(
        clusters(|c| c[1].hosts.push(7)),
        "clusters: c1: host number 7 does not exist"
    );
    assert_eq!(clusters(|c| c[0].hosts.clear()), "clusters: c0 has no host");
    assert_eq!(
        clusters(|c| (c[0].hosts, c[1].hosts) = (vec![0, 2], vec![1, 3, 4])),
        "clusters: edge s0 -> s1 is inside c0 and inside c1"
    );
    assert!(
        broken(|p| p.bound.phases += 1).contains("the bottleneck edge between clusters asks for 6")
    );
    assert!(
        broken(|p| p.bound.edge.0 = "n0".into()).contains("not a bottleneck edge between clusters")
    );
    assert!(broken(|p| p.messages += 1).ends_with("it carries 6 blocks in 3 messages, capacity 1"));
    assert!(
        broken(|p| p.bound.capacity += 1)
            .ends_with("it carries 6 blocks in 3 messages, capacity 1")
    );
    assert!(broken(|p| p.hosts.swap(0, 1)).starts_with("hosts: "));
    let tree = star(&[4]);
    let mut alone = plan(&tree, &runs(&tree, &[4]), None);
    alone.messages = 1;
    assert!(
        lg(&tree, &alone)
            .unwrap_err()
            .to_string()
            .ends_with("nothing crosses between clusters")
    );
}
