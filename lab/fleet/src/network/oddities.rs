//! The oddities of a wired network: names and addresses that several devices have, frames that are
//! passed on, rows about neighbours that are gone.
use super::neighbours::chassis_address;
use super::options::NetworkOptions;
use super::wiring::{NetworkWiring, NodeRole};
use fastrand::Rng;
use inventory::Mac;

const DEFAULT_NAMES: [&str; 3] = ["Switch", "switch", ""];

/// Addresses that are nobody's: null, broadcast, and the group of spanning tree.
const NOBODY: [Mac; 3] = [Mac([0; 6]), Mac([0xff; 6]), Mac([1, 0x80, 0xc2, 0, 0, 0])];

pub(super) fn add_oddities(wiring: &mut NetworkWiring, options: &NetworkOptions, rng: &mut Rng) {
    let odd = &options.odd;
    unlist(wiring, odd.unasked, rng);
    for n in 0..wiring.nodes.len() {
        let node = &mut wiring.nodes[n];
        if matches!(node.role, NodeRole::Switch) {
            node.cdp = rng.f64() < odd.cdp;
            // Only the database of an asked bridge tells that frames passed it.
            if rng.f64() < odd.relays && node.asked {
                (node.speaks, node.cdp, node.transparent) = (false, false, true);
                node.habit.served = Some(1.0);
            }
        }
    }
    default_names(wiring, odd.default_names, rng);
    domains(wiring, odd.domains, rng);
    bad_chassis(wiring, odd.bad_chassis, rng);
    if odd.tunnels {
        tunnels(wiring, rng);
    }
    stale_rows(wiring, odd.stale_rows, rng);
}

fn switches(wiring: &NetworkWiring, is: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..wiring.nodes.len())
        .filter(|n| wiring.nodes[*n].role == NodeRole::Switch && is(*n))
        .collect()
}

/// Strikes switches from the inventory: any, or those beside one that is already struck, so that
/// chains are frequent, or the one with most cables. Two switches are left.
fn unlist(wiring: &mut NetworkWiring, count: usize, rng: &mut Rng) {
    for _ in 0..count {
        let asked = switches(wiring, |n| wiring.nodes[n].asked);
        if asked.len() < 3 {
            return;
        }
        let beside: Vec<usize> = asked
            .iter()
            .copied()
            .filter(|&n| {
                (0..wiring.nodes[n].sockets.len()).any(|s| {
                    let far = &wiring.nodes[wiring.far(n, s).0];
                    far.role == NodeRole::Switch && !far.listed
                })
            })
            .collect();
        let from = if beside.is_empty() || rng.bool() {
            &asked
        } else {
            &beside
        };
        let hub = asked.iter().max_by_key(|n| wiring.nodes[**n].sockets.len());
        let any = from[rng.usize(..from.len())];
        let struck = hub.filter(|_| rng.f64() < 0.3).map_or(any, |hub| *hub);
        let node = &mut wiring.nodes[struck];
        (node.asked, node.listed) = (false, false);
        if rng.bool() {
            (node.speaks, node.cdp, node.transparent) = (false, false, false);
        }
    }
}

/// Gives switches the name of the factory. A device that its neighbours know by nothing else is
/// made known by its address.
fn default_names(wiring: &mut NetworkWiring, share: f64, rng: &mut Rng) {
    let mut literal = rng.bool();
    let (one_asked, mut asked) = (rng.bool(), 0);
    for n in switches(wiring, |_| true) {
        let node = &mut wiring.nodes[n];
        // Where a single asked device has the name, the others are not asked, and speak.
        let spared = match node.asked {
            true => one_asked && asked > 0,
            false => !one_asked,
        };
        if share == 0.0 || spared || node.asked && rng.f64() >= share {
            continue;
        }
        asked += usize::from(node.asked);
        node.speaks |= one_asked && !node.listed;
        let name = if one_asked {
            0
        } else {
            rng.usize(..DEFAULT_NAMES.len())
        };
        DEFAULT_NAMES[name].clone_into(&mut node.called);
        // The operator may list one of them by that name.
        if node.asked && std::mem::take(&mut literal) {
            "Switch".clone_into(&mut node.name);
            "Switch".clone_into(&mut node.called);
        }
    }
    // A neighbour with the reporter's own name.
    let unlisted = switches(wiring, |n| !wiring.nodes[n].listed);
    for n in unlisted {
        if rng.f64() < share {
            let (far, _) = wiring.far(n, 0);
            wiring.nodes[n].called = wiring.nodes[far].called.clone();
        }
    }
}

/// Names a switch in one domain, and another by the same short name in another domain.
fn domains(wiring: &mut NetworkWiring, share: f64, rng: &mut Rng) {
    let all = switches(wiring, |_| true);
    for &n in &all {
        if rng.f64() >= share {
            continue;
        }
        let short = format!("core{n}");
        let (asked, other): (Vec<usize>, Vec<usize>) =
            all.iter().partition(|m| wiring.nodes[**m].asked);
        let (Some(&one), Some(&two)) = (
            rng.choice(&asked),
            rng.choice(if other.is_empty() { &asked } else { &other }),
        ) else {
            return;
        };
        wiring.nodes[one].called = format!("{short}.a.example");
        if one != two {
            wiring.nodes[two].called = match rng.bool() {
                true => format!("{short}.b.example"),
                false => short,
            };
        }
    }
}

fn bad_chassis(wiring: &mut NetworkWiring, share: f64, rng: &mut Rng) {
    // The original lists its neighbours, because nothing else would show that it is another.
    let originals = switches(wiring, |n| {
        let node = &wiring.nodes[n];
        node.asked && node.speaks && !node.habit.deaf
    });
    let mut cloned = None;
    for n in switches(wiring, |_| true) {
        if rng.f64() >= share {
            continue;
        }
        let nobody = NOBODY.get(rng.usize(..=NOBODY.len())).copied();
        let chassis = nobody.or_else(|| {
            let original = originals.get(rng.usize(..originals.len().max(1)))?;
            let fits =
                cloned.is_none() && *original != n && wiring.nodes[*original].chassis.is_none();
            cloned = fits.then_some(*original);
            cloned.map(|original| chassis_address(&wiring.nodes[original]))
        });
        if cloned != Some(n) {
            wiring.nodes[n].chassis = chassis;
        }
    }
}

/// Tunnels between devices that speak CDP.
fn tunnels(wiring: &mut NetworkWiring, rng: &mut Rng) {
    let ends: Vec<usize> = (0..wiring.nodes.len())
        .filter(|n| {
            let node = &wiring.nodes[*n];
            node.cdp && matches!(node.role, NodeRole::Switch | NodeRole::Router)
        })
        .collect();
    for pair in ends.windows(2).filter(|_| rng.bool()).take(3) {
        wiring.nodes[pair[0]].tunnels.push(pair[1]);
        wiring.nodes[pair[1]].tunnels.push(pair[0]);
    }
}

/// Rows about neighbours that are plugged in elsewhere. A former neighbour is asked and lists its
/// neighbours, because nothing else would show that the row is old.
fn stale_rows(wiring: &mut NetworkWiring, share: f64, rng: &mut Rng) {
    let speaking = switches(wiring, |n| {
        let node = &wiring.nodes[n];
        node.asked && node.speaks && !node.habit.deaf
    });
    for &n in &speaking {
        let Some(&former) = rng.choice(&speaking).filter(|m| **m != n) else {
            continue;
        };
        if rng.f64() < share {
            let node = &wiring.nodes[n];
            let used = node.sockets.iter().flat_map(|s| &s.ports);
            let ports: Vec<u32> = used
                .chain(node.spare.iter().map(|(p, _)| p))
                .copied()
                .collect();
            let socket = rng.usize(..wiring.nodes[former].sockets.len().max(1));
            let port = ports[rng.usize(..ports.len())];
            if !wiring.nodes[former].sockets.is_empty() {
                wiring.nodes[n].stale.push((port, (former, socket)));
            }
        }
    }
}
