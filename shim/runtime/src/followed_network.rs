//! Which of an epoch's networks a process set follows: the one that the environment names, the one over
//! which the ranks saw the library send, else the main one.
use directory::epoch::{LeanEpoch, NetworkChoiceError};
use std::net::IpAddr;

/// The choice, on rank 0.
#[derive(Debug, Default)]
pub struct FollowedNetwork {
    stated: Option<String>,
    seen: Option<String>,
}

impl FollowedNetwork {
    /// The choice of `HEDDLE_NETWORK`, if it names a network.
    pub fn new(stated: Option<String>) -> FollowedNetwork {
        FollowedNetwork { stated, seen: None }
    }

    /// The part of an epoch that is followed. A network that was seen and is gone leaves the main one.
    ///
    /// # Errors
    /// The environment names a network that the epoch does not have.
    pub fn select(&self, lean: LeanEpoch) -> Result<LeanEpoch, NetworkChoiceError> {
        if let Some(name) = &self.stated {
            return lean.in_network(name);
        }
        match &self.seen {
            Some(name) if lean.topology.networks.contains_key(name) => lean.in_network(name),
            _ => Ok(lean.in_main_network()),
        }
    }

    /// The library sends over the network of this address: follows its tree from now on, if the epoch has
    /// it. Only once, because a library does not change its network while a job runs.
    pub fn see(&mut self, lean: &LeanEpoch, address: IpAddr) -> Option<&str> {
        if self.seen.is_some() || self.stated.is_some() {
            return None;
        }
        let network = lean.topology.network_of(address)?;
        self.seen = network
            .name
            .clone()
            .filter(|name| lean.topology.networks.contains_key(name));
        self.seen.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use directory::epoch::{Epoch, WayEvidence};
    use inventory::{Millis, Topology, TopologyFile};

    const TWO: &str = "\
switches: [d0, m0]
hosts:
  n[0-1]: {cards: [{switch: d0, network: data, rate: 10G}, {switch: m0, network: management}]}
networks: {data: {prefix: 10.1.0.0/16}, management: {prefix: 10.2.0.0/16}}
";

    fn lean() -> LeanEpoch {
        let file = TopologyFile::parse("t", TWO).unwrap();
        let epoch = Epoch::plan(
            1,
            Millis(0),
            file,
            Topology::default(),
            WayEvidence::default(),
        )
        .unwrap();
        LeanEpoch::from(&epoch)
    }

    fn name(choice: &FollowedNetwork) -> String {
        let lean = choice.select(lean()).unwrap();
        assert!(lean.topology.networks.is_empty());
        lean.topology.name.unwrap()
    }

    #[test]
    fn the_network_that_is_seen_is_followed_and_the_stated_one_whatever_is_seen() {
        let mut choice = FollowedNetwork::default();
        assert_eq!(name(&choice), "data");
        assert_eq!(choice.see(&lean(), "192.168.0.1".parse().unwrap()), None);
        assert_eq!(choice.see(&lean(), "10.1.0.7".parse().unwrap()), None);
        let management = Some("management");
        assert_eq!(choice.see(&lean(), "10.2.0.7".parse().unwrap()), management);
        assert_eq!(name(&choice), "management");
        assert_eq!(choice.see(&lean(), "10.2.0.7".parse().unwrap()), None);

        let mut stated = FollowedNetwork::new(Some("data".to_owned()));
        assert_eq!(stated.see(&lean(), "10.2.0.7".parse().unwrap()), None);
        assert_eq!(name(&stated), "data");
        let unknown = FollowedNetwork::new(Some("storage".to_owned()));
        assert!(unknown.select(lean()).is_err());
    }
}
