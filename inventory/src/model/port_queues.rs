//! The octets that the ports of a network's switches hold: as the inventory states, or else as a switch's own
//! tables tell.
use crate::Bytes;
use crate::model::device_view::{DeviceView, DeviceViews};
use std::fmt;

/// The least that a port of some switches holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeastQueue {
    /// The octets.
    pub octets: Bytes,
    /// The switch with that port.
    pub switch: String,
    /// True if the switch's tables tell, and nobody states it.
    pub read: bool,
}

impl LeastQueue {
    /// The least of these switches, if it is known of each. What is `stated` of a switch goes before what its
    /// tables tell.
    pub fn new<'s>(
        switches: impl Iterator<Item = &'s str>,
        stated: impl Fn(&str) -> Option<Bytes>,
        views: &DeviceViews,
    ) -> Option<LeastQueue> {
        let mut least: Option<LeastQueue> = None;
        for switch in switches {
            let by_operator = stated(switch);
            let own = LeastQueue {
                octets: by_operator.or_else(|| told(views.get(switch)?))?,
                switch: switch.to_owned(),
                read: by_operator.is_none(),
            };
            least = Some(least.map_or(own.clone(), |least| least.min(own)));
        }
        least
    }
}

/// The least that a port in use holds, by the switch's tables.
fn told(view: &DeviceView) -> Option<Bytes> {
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
        let port = |&(up, queue): &(bool, Option<u64>)| InterfaceRow {
            up,
            queue: queue.map(Bytes),
            ..InterfaceRow::default()
        };
        DeviceView {
            interfaces: Some(ports.iter().map(port).collect()),
            ..DeviceView::default()
        }
    }

    #[test]
    fn a_network_holds_what_the_least_of_its_ports_does_if_that_is_known_of_each() {
        let views = DeviceViews::from([
            (
                "told".to_owned(),
                switch(&[
                    (true, Some(90_000)),
                    (true, Some(30_000)),
                    (true, None),
                    (false, Some(9_000)),
                ]),
            ),
            ("mute".to_owned(), switch(&[(true, None)])),
        ]);
        let stated = |name: &str| match name {
            "small" => Some(Bytes(20_000)),
            "large" => Some(Bytes(12 << 20)),
            _ => None,
        };
        let least = |switches: &[&str]| {
            let least = LeastQueue::new(switches.iter().copied(), stated, &views)?;
            Some((least.octets.0, least.switch, least.read))
        };
        assert_eq!(
            least(&["large", "told"]),
            Some((30_000, "told".to_owned(), true))
        );
        assert_eq!(
            least(&["told", "small"]),
            Some((20_000, "small".to_owned(), false))
        );
        assert_eq!(
            [least(&["told", "mute"]), least(&["unknown"]), least(&[])],
            [None, None, None]
        );
        // What is stated of a switch counts, whatever its tables tell.
        let by_operator = LeastQueue::new(["told"].into_iter(), |_| Some(Bytes(1 << 20)), &views);
        assert_eq!(by_operator.unwrap().octets, Bytes(1 << 20));
    }
}
