//! The octets that the ports of a network's switches hold: as the inventory states, or else as a switch's own
//! tables tell.
use crate::Bytes;
use crate::model::device_view::{DeviceView, DeviceViews};
use std::fmt;

/// The least that a port of some switches holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeastQueue {
    pub octets: Bytes,
    /// The switch with that port.
    pub switch: String,
    /// True if the switch's tables tell, and nobody states it.
    pub read: bool,
}

impl LeastQueue {
    /// The least of these switches, if it is known of each. A `stated` size of a
    /// switch goes before that of its tables.
    pub fn new<'s>(
        switches: impl Iterator<Item = &'s str>,
        stated: impl Fn(&str) -> Option<Bytes>,
        views: &DeviceViews,
    ) -> Option<LeastQueue> {
        let mut least: Option<LeastQueue> = None;
        for switch in switches {
            let by_operator = stated(switch);
            let own = LeastQueue {
                octets: by_operator.or_else(|| least_queue(views.get(switch)?))?,
                switch: switch.to_owned(),
                read: by_operator.is_none(),
            };
            least = Some(least.map_or(own.clone(), |least| least.min(own)));
        }
        least
    }
}

/// The least that a port in use holds, by the switch's tables.
fn least_queue(view: &DeviceView) -> Option<Bytes> {
    let ports = view.interfaces.iter().flatten();
    ports
        .filter(|port| port.up)
        .filter_map(|port| port.queue)
        .min()
}

impl fmt::Display for LeastQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = if self.read {
            "its tables tell"
        } else {
            "the inventory states"
        };
        write!(
            f,
            "{} octets, the least that a port of {} holds, as {by}",
            self.octets.0, self.switch
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::observation::InterfaceRow;

    fn switch(ports: &[(bool, Option<u64>)]) -> DeviceView {
        let rows = ports.iter().map(|&(up, queue)| InterfaceRow {
            up,
            queue: queue.map(Bytes),
            ..InterfaceRow::default()
        });
        DeviceView {
            interfaces: Some(rows.collect()),
            ..DeviceView::default()
        }
    }

    fn stated(name: &str) -> Option<Bytes> {
        match name {
            "small" => Some(Bytes(20_000)),
            "large" => Some(Bytes(12 << 20)),
            _ => None,
        }
    }

    #[test]
    fn a_network_holds_what_the_least_of_its_ports_does_if_that_is_known_of_each() {
        let ports = [
            (true, Some(90_000)),
            (true, Some(30_000)),
            (true, None),
            (false, Some(9_000)),
        ];
        let views = DeviceViews::from([
            ("reads".to_owned(), switch(&ports)),
            ("mute".to_owned(), switch(&[(true, None)])),
        ]);
        for (switches, expected) in [
            (&["large", "reads"][..], Some((30_000, "reads", true))),
            (&["reads", "small"], Some((20_000, "small", false))),
            (&["reads", "mute"], None),
            (&["unknown"], None),
            (&[], None),
        ] {
            let least_queue = LeastQueue::new(switches.iter().copied(), stated, &views);
            let least = least_queue
                .as_ref()
                .map(|l| (l.octets.0, l.switch.as_str(), l.read));
            assert_eq!(least, expected, "{switches:?}");
        }
        // A stated size counts, whatever the switch's tables say.
        let stated = LeastQueue::new(["reads"].into_iter(), |_| Some(Bytes(1 << 20)), &views);
        assert_eq!(stated.unwrap().octets, Bytes(1 << 20));
    }
}
