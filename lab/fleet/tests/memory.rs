//! Inference that keeps what did not change gives what inference from nothing gives.
use fleet::network::{NetworkOptions, NetworkSituation, generate};
use infer::{InferenceMemory, infer};
use inventory::Millis;
use inventory::device_view::DeviceView;
use inventory::observation::StpState;
use std::collections::BTreeSet;

const STEPS: usize = if cfg!(debug_assertions) { 100 } else { 1_000 };

/// Numbers that follow from a seed.
struct StepDice(u64);

impl StepDice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Changes one table of a device at random.
fn edit(view: &mut DeviceView, dice: &mut StepDice) {
    match dice.below(7) {
        0 => {
            let rows = view.fdb.get_or_insert_default();
            if !rows.is_empty() {
                rows.remove(dice.below(rows.len()));
            }
        }
        1 => {
            let rows = view.fdb.get_or_insert_default();
            let count = rows.len();
            if let Some(row) = rows.get_mut(dice.below(count)) {
                row.port = row.port.wrapping_add(1);
            }
        }
        2 => {
            let ports = view.interfaces.get_or_insert_default();
            let count = ports.len();
            if let Some(port) = ports.get_mut(dice.below(count)) {
                port.up = !port.up;
            }
        }
        3 => {
            if let Some(lldp) = &mut view.lldp
                && !lldp.neighbours.is_empty()
            {
                lldp.neighbours.remove(dice.below(lldp.neighbours.len()));
            }
        }
        4 => {
            if let Some(lldp) = &mut view.lldp
                && lldp.neighbours.len() > 1
            {
                let (a, b) = (lldp.neighbours[0].local_port, lldp.neighbours[1].local_port);
                (lldp.neighbours[0].local_port, lldp.neighbours[1].local_port) = (b, a);
            }
        }
        5 => {
            let ports = view.bridge.iter_mut().flat_map(|b| &mut b.ports);
            if let Some(port) = ports.into_iter().next() {
                port.state = match port.state {
                    Some(StpState::Forwarding) => Some(StpState::Blocking),
                    _ => Some(StpState::Forwarding),
                };
            }
        }
        _ => {
            view.stale = match view.stale {
                None => Some((Millis(1), "no answer".into())),
                Some(_) => None,
            };
        }
    }
}

#[test]
fn what_is_kept_changes_nothing() {
    for situation in NetworkSituation::all().step_by(3) {
        let options: NetworkOptions = situation.options(7, false);
        let network = generate(&options, 7);
        let mut views = network.views.clone();
        let mut memory = InferenceMemory::default();
        let mut dice = StepDice(11);
        let every: BTreeSet<String> = views.keys().cloned().collect();
        let mut changed = every.clone();
        for step in 0..STEPS / 6 {
            let kept = memory.infer_changed(&network.inventory, &views, &changed);
            let whole = infer(&network.inventory, &views);
            assert_eq!(kept, whole, "{situation}, step {step}");
            changed.clear();
            for _ in 0..=dice.below(3) {
                let names: Vec<&String> = every.iter().collect();
                let name = names[dice.below(names.len())].clone();
                edit(views.get_mut(&name).unwrap(), &mut dice);
                changed.insert(name);
            }
        }
    }
}
