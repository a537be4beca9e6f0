//! Inference of a network again and again. Facts from a device's view alone are kept until the view
//! changes.
use crate::facts::InferenceScope;
use crate::facts::device::DeviceFacts;
use crate::infer_in;
use crate::policy::InferencePolicy;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use inventory::mapped_place::MappedPlaces;
use inventory::topology::Topology;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The facts about each device as of the last inference.
#[derive(Debug, Default)]
pub struct InferenceMemory {
    devices: HashMap<String, Arc<DeviceFacts>>,
    mapped: Arc<MappedPlaces>,
}

impl InferenceMemory {
    /// Takes the findings of flows between hosts. They replace the former ones.
    pub fn take_mapped(&mut self, mapped: Arc<MappedPlaces>) {
        self.mapped = mapped;
    }

    /// Infers the network as [`infer`](crate::infer()) does, where only the views of the devices in
    /// `changed` differ from those of the last inference. Other views are not read again.
    pub fn infer_changed(
        &mut self,
        inventory: &Inventory,
        views: &DeviceViews,
        changed: &BTreeSet<String>,
    ) -> Topology {
        for name in changed {
            self.devices.remove(name);
        }
        let scope = InferenceScope {
            switches: inventory
                .switches
                .iter()
                .map(|(name, s)| (name.as_str(), s.address.to_string()))
                .collect(),
            hosts: &inventory.hosts,
            stated: Some(inventory),
            policy: InferencePolicy::LIVE,
            mapped: &self.mapped,
        };
        let devices: Vec<Arc<DeviceFacts>> = scope
            .switches
            .iter()
            .filter_map(|(name, _)| {
                let view = views.get(*name)?;
                let known = self.devices.entry((*name).to_owned());
                let facts = known.or_insert_with(|| Arc::new(DeviceFacts::new(name, view)));
                Some(facts.clone())
            })
            .collect();
        infer_in(&scope, views, &devices)
    }
}
