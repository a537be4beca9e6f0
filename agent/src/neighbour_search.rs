//! The switches around a few known ones: each is asked for its neighbours, and each neighbour that
//! calls itself a bridge or router is asked with the same credential.
//!
//! A device that is asked with a community learns it. So only addresses within the limits are asked, hosts
//! are not, and no address is made up: each was named by the operator or by a switch that answered.
use crate::client::SnmpClient;
use crate::session_port::SessionPort;
use crate::snmp_access::{AccessError, SnmpAccess};
use crate::tables::management::{ManagedNeighbour, NeighbourList};
use futures_util::stream::{self, StreamExt};
use inventory::inventory_file::{Inventory, InventorySwitch, SwitchAddress};
use inventory::observation::NeighbourId;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// The switches asked at once.
const AT_ONCE: usize = 32;

/// The addresses with a common beginning: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBlock {
    first: IpAddr,
    length: u8,
}

impl AddressBlock {
    /// True if the address is one of them.
    pub fn contains(self, address: IpAddr) -> bool {
        let (differing, width) = match (self.first, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => ((a.to_bits() ^ b.to_bits()).into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits(), 128),
            _ => return false,
        };
        // A shift by all 128 bits is None: of a block of length 0 nothing is compared.
        let prefix = u128::checked_shr(differing, width - u32::from(self.length));
        prefix.unwrap_or(0) == 0
    }

    /// The block of a site that has this address: 256 addresses of IPv4, 2^64 of IPv6.
    pub fn around(address: IpAddr) -> AddressBlock {
        let length = if address.is_ipv4() { 24 } else { 64 };
        AddressBlock {
            first: address,
            length,
        }
    }
}

impl std::str::FromStr for AddressBlock {
    type Err = String;

    fn from_str(text: &str) -> Result<AddressBlock, String> {
        let wrong = || format!("\"{text}\": expected addresses like 10.0.0.0/8 or fd00::/8");
        let (first, length) = match text.split_once('/') {
            Some((first, length)) => (first, Some(length)),
            None => (text, None),
        };
        let first: IpAddr = first.parse().map_err(|_| wrong())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |l| l.parse().map_err(|_| wrong()))?;
        if length > most {
            return Err(wrong());
        }
        Ok(AddressBlock { first, length })
    }
}

/// The limits of a search.
#[derive(Debug, Clone)]
pub struct SearchLimits {
    /// The addresses that may be asked; empty: private ones (RFC 1918, RFC 4193), and those around
    /// the first switches.
    pub only: Vec<AddressBlock>,
    /// The most switches.
    pub most: usize,
    pub time: Duration,
}

/// A switch that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSwitch {
    /// The place at which it answered.
    pub address: SwitchAddress,
    /// The switch that named it; `None`: the operator.
    pub named_by: Option<String>,
    /// Its description of itself.
    pub list: NeighbourList,
}

/// A neighbour that did not answer, or was not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedNeighbour {
    /// Its name, as its neighbour received it; may be empty.
    pub name: String,
    /// The address that was asked last, if any.
    pub address: Option<SwitchAddress>,
    /// The switch that named it; `None`: the operator.
    pub named_by: Option<String>,
    /// The reason, for an operator.
    pub why: String,
}

/// The outcome of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundNeighbourhood {
    /// The switches, in the order in which they were found.
    pub switches: Vec<FoundSwitch>,
    /// The others that call themselves switches.
    pub missed: Vec<MissedNeighbour>,
}

/// The address at which the name of a switch was looked up, and what the switch answers.
type SwitchAnswer = Pin<Box<dyn Future<Output = (Option<IpAddr>, Result<NeighbourList, String>)>>>;

/// A device to ask.
#[derive(Debug, Clone)]
struct SearchCandidate {
    name: String,
    chassis: Option<NeighbourId>,
    addresses: Vec<SwitchAddress>,
    named_by: Option<String>,
}

/// Asks the `first` switches, with the credential and timing of the inventory's first switch, and
/// follows their neighbours. `tell` gets a line for each switch that answers.
///
/// # Errors
/// [`AccessError`] if the credential cannot be used; nothing was asked then.
pub async fn search(
    inventory: &Inventory,
    first: Vec<SwitchAddress>,
    limits: &SearchLimits,
    tell: impl Fn(&FoundSwitch),
) -> Result<FoundNeighbourhood, AccessError> {
    let Some((name, credential)) = inventory.snmp.first() else {
        return Ok(FoundNeighbourhood::default());
    };
    let access = SnmpAccess::new(name, credential)?;
    let (port, timing) = (SessionPort::default(), inventory.timing.clone());
    let ask = |address: SwitchAddress| {
        let switch = InventorySwitch {
            address,
            snmp: name.clone(),
            queue: None,
        };
        let client = SnmpClient::new(&switch, &access, &timing, port.clone());
        // A type without the client's own futures in it: the compiler gives up on such nesting.
        let answer: SwitchAnswer = Box::pin(async move {
            let list = client.neighbours().await;
            (client.looked_up(), list)
        });
        answer
    };
    Ok(follow(first, limits, ask, tell).await)
}

/// The search itself, with any way of asking. `ask` gives the address of a name beside the answer.
async fn follow<Answer: Future<Output = (Option<IpAddr>, Result<NeighbourList, String>)>>(
    first: Vec<SwitchAddress>,
    limits: &SearchLimits,
    ask: impl Fn(SwitchAddress) -> Answer,
    tell: impl Fn(&FoundSwitch),
) -> FoundNeighbourhood {
    let end = Instant::now() + limits.time;
    let mut search = NeighbourSearch::new(first, limits);
    while let Some(wave) = search.next_wave(limits) {
        let ask = &ask;
        let asked = wave.into_iter().map(async |candidate| {
            let mut why = String::new();
            for address in &candidate.addresses {
                match tokio::time::timeout_at(end, ask(address.clone())).await {
                    Ok((at, Ok(list))) => {
                        return (candidate.clone(), Ok((address.clone(), at, list)));
                    }
                    Ok((_, Err(problem))) => why = problem,
                    Err(_) => why = "the time of the search is over (--time)".to_owned(),
                }
            }
            (candidate, Err(why))
        });
        // The order of what is written must not depend on the order of answers.
        // On the heap: the compiler gives up on futures that are nested too deeply.
        let asked = stream::iter(asked.map(Box::pin));
        let answers: Vec<_> = asked.buffered(AT_ONCE).collect().await;
        for (candidate, answer) in answers {
            search.take(candidate, answer, &tell);
        }
    }
    search.found
}

/// A search under way.
struct NeighbourSearch {
    found: FoundNeighbourhood,
    waiting: Vec<SearchCandidate>,
    /// Chassis ids and addresses that are known, or will be asked.
    chassis: BTreeSet<NeighbourId>,
    addresses: HashSet<SwitchAddress>,
    /// The blocks that may be asked.
    near: Vec<AddressBlock>,
    /// False: private addresses may be asked, too.
    is_limited: bool,
}

impl NeighbourSearch {
    fn new(first: Vec<SwitchAddress>, limits: &SearchLimits) -> NeighbourSearch {
        let fixed = first.iter().filter_map(SwitchAddress::fixed);
        let mut search = NeighbourSearch {
            near: fixed.map(|a| AddressBlock::around(a.ip())).collect(),
            found: FoundNeighbourhood::default(),
            waiting: Vec::new(),
            chassis: BTreeSet::new(),
            addresses: HashSet::new(),
            is_limited: !limits.only.is_empty(),
        };
        if !limits.only.is_empty() {
            search.near.clone_from(&limits.only);
        }
        for address in first {
            if search.addresses.insert(address.clone()) {
                search.waiting.push(SearchCandidate {
                    name: String::new(),
                    chassis: None,
                    addresses: vec![address],
                    named_by: None,
                });
            }
        }
        search
    }

    /// The devices to ask next, as far as the limits allow; `None` once there is none left.
    fn next_wave(&mut self, limits: &SearchLimits) -> Option<Vec<SearchCandidate>> {
        let mut wave = std::mem::take(&mut self.waiting);
        let room = limits.most.saturating_sub(self.found.switches.len());
        let over = wave.split_off(room.min(wave.len()));
        let why = format!("not asked: {} switches are the limit (--most)", limits.most);
        for candidate in over {
            self.miss(candidate, why.clone());
        }
        (!wave.is_empty()).then_some(wave)
    }

    fn miss(&mut self, candidate: SearchCandidate, why: String) {
        self.found.missed.push(MissedNeighbour {
            name: candidate.name,
            address: candidate.addresses.into_iter().next_back(),
            named_by: candidate.named_by,
            why,
        });
    }

    fn take(
        &mut self,
        candidate: SearchCandidate,
        answer: Result<(SwitchAddress, Option<IpAddr>, NeighbourList), String>,
        tell: &impl Fn(&FoundSwitch),
    ) {
        let (address, looked_up, list) = match answer {
            Ok(answer) => answer,
            Err(why) => return self.miss(candidate, why),
        };
        // A device with two addresses is one device. Its neighbours know its chassis id.
        let mut known = self.found.switches.iter();
        if list.chassis.is_some() && known.any(|found| found.list.chassis == list.chassis) {
            return;
        }
        self.chassis.extend(list.chassis.clone());
        // The operator gave a name, whose address was not known when the search began.
        if let Some(at) = looked_up.filter(|_| !self.is_limited) {
            self.near.push(AddressBlock::around(at));
        }
        let by = if list.name.is_empty() {
            address.to_string()
        } else {
            list.name.clone()
        };
        for neighbour in &list.neighbours {
            self.consider(neighbour, &by);
        }
        let switch = FoundSwitch {
            address,
            named_by: candidate.named_by,
            list,
        };
        tell(&switch);
        self.found.switches.push(switch);
    }

    /// Takes a neighbour up, if it may be a switch and is not known yet.
    fn consider(&mut self, neighbour: &ManagedNeighbour, by: &str) {
        let is_known = neighbour
            .chassis
            .as_ref()
            .is_some_and(|id| self.chassis.contains(id));
        if is_known || neighbour.is_station() {
            return;
        }
        let (allowed, refused): (Vec<IpAddr>, Vec<IpAddr>) = neighbour
            .addresses
            .iter()
            .filter(|a| !a.is_unspecified() && !a.is_multicast() && !a.is_loopback())
            .partition(|address| self.may_ask(**address));
        let addresses: Vec<SwitchAddress> = allowed.into_iter().map(at_port_161).collect();
        if addresses.iter().any(|a| self.addresses.contains(a)) {
            return;
        }
        self.chassis.extend(neighbour.chassis.clone());
        self.addresses.extend(addresses.iter().cloned());
        let mut candidate = SearchCandidate {
            name: neighbour.name.clone(),
            chassis: neighbour.chassis.clone(),
            addresses,
            named_by: Some(by.to_owned()),
        };
        if !candidate.addresses.is_empty() {
            return self.waiting.push(candidate);
        }
        let why = if refused.is_empty() {
            "not asked: it names no address at which it is managed"
        } else {
            "not asked: its address is outside those that may be asked (--only)"
        };
        // The same neighbour without a chassis id may be seen at many ports.
        let mut missed = self.found.missed.iter();
        if candidate.chassis.is_some() || !missed.any(|m| m.name == candidate.name) {
            candidate
                .addresses
                .extend(refused.into_iter().map(at_port_161));
            self.miss(candidate, why.to_owned());
        }
    }

    fn may_ask(&self, address: IpAddr) -> bool {
        let private = match address {
            IpAddr::V4(v4) => v4.is_private(),
            IpAddr::V6(v6) => v6.is_unique_local(),
        };
        self.near.iter().any(|block| block.contains(address)) || private && !self.is_limited
    }
}

fn at_port_161(address: IpAddr) -> SwitchAddress {
    SwitchAddress::Fixed((address, 161).into())
}

impl ManagedNeighbour {
    /// True if it is a host, as far as it says: neither bridge nor router.
    pub fn is_station(&self) -> bool {
        match self.capabilities {
            Some(capabilities) => !capabilities.bridge && !capabilities.router,
            None => self.is_card,
        }
    }
}

impl FoundNeighbourhood {
    /// The hosts that switches hear, by name, with the names of the switches that hear them. Network cards
    /// that speak for themselves have no name, and are counted.
    pub fn hosts(&self) -> (BTreeMap<String, Vec<String>>, usize) {
        let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut cards = BTreeSet::new();
        for switch in &self.switches {
            for station in switch.list.neighbours.iter().filter(|n| n.is_station()) {
                if station.name.is_empty() {
                    cards.insert(station.chassis.clone());
                } else {
                    let by = hosts.entry(station.name.clone()).or_default();
                    by.push(switch.list.name.clone());
                    by.dedup();
                }
            }
        }
        (hosts, cards.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::observation::SystemCapabilities;
    use std::cell::RefCell;

    /// `bridge` or not, at these addresses.
    fn neighbour(name: &str, bridge: bool, addresses: &[&str]) -> ManagedNeighbour {
        ManagedNeighbour {
            name: name.to_owned(),
            chassis: Some(NeighbourId::Text(name.to_owned())),
            capabilities: Some(SystemCapabilities {
                bridge,
                router: false,
            }),
            is_card: false,
            addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
        }
    }

    /// A network of a ring of four switches; s3 is silent, s2 has a dead first address, and s0 hears
    /// hosts and strangers.
    fn neighbours(address: &str) -> Option<NeighbourList> {
        let (name, neighbours) = match address {
            "10.0.0.1:161" => (
                "s0",
                vec![
                    neighbour("s1", true, &["10.0.0.2"]),
                    neighbour("s3", true, &["10.0.0.4"]),
                    neighbour("n0", false, &["10.0.0.99"]),
                    neighbour("far", true, &["192.0.2.1"]),
                    neighbour("nowhere", true, &[]),
                    neighbour("evil", true, &["127.0.0.1", "0.0.0.0", "224.0.0.1"]),
                ],
            ),
            "10.0.0.2:161" => (
                "s1",
                vec![
                    neighbour("s0", true, &["10.0.0.1"]),
                    neighbour("s2", true, &["10.9.9.9", "10.0.0.3"]),
                    neighbour("n1", false, &[]),
                ],
            ),
            "10.0.0.3:161" => ("s2", vec![neighbour("s3", true, &["10.0.0.4"])]),
            _ => return None,
        };
        Some(NeighbourList {
            name: name.into(),
            descr: String::new(),
            chassis: Some(NeighbourId::Text(name.into())),
            neighbours,
        })
    }

    fn limits() -> SearchLimits {
        SearchLimits {
            only: Vec::new(),
            most: 100,
            time: Duration::from_secs(5),
        }
    }

    async fn found(limits: &SearchLimits) -> (FoundNeighbourhood, Vec<String>) {
        let asked = RefCell::new(Vec::new());
        let first = vec!["10.0.0.1".parse().unwrap()];
        let found = follow(
            first,
            limits,
            |address| {
                asked.borrow_mut().push(address.to_string());
                let neighbours =
                    neighbours(&address.to_string()).ok_or_else(|| "no answer".to_owned());
                async move { (None, neighbours) }
            },
            |_| {},
        )
        .await;
        (found, asked.into_inner())
    }

    fn names(found: &FoundNeighbourhood) -> Vec<&str> {
        let names = found.switches.iter().map(|s| s.list.name.as_str());
        names.collect()
    }

    #[tokio::test]
    async fn bridges_are_asked_once_each_and_hosts_never() {
        let (found, asked) = found(&limits()).await;
        assert_eq!(names(&found), ["s0", "s1", "s2"]);
        assert_eq!(
            asked,
            [
                "10.0.0.1:161",
                "10.0.0.2:161",
                "10.0.0.4:161",
                "10.9.9.9:161",
                "10.0.0.3:161"
            ]
        );
        let missed: Vec<_> = found
            .missed
            .iter()
            .map(|m| (m.name.as_str(), m.why.split(':').next().unwrap()))
            .collect();
        assert_eq!(
            missed,
            [
                ("far", "not asked"),
                ("nowhere", "not asked"),
                ("evil", "not asked"),
                ("s3", "no answer")
            ]
        );
        assert!(found.missed[0].why.contains("--only"), "{:?}", found.missed);
        let (hosts, cards) = found.hosts();
        let hosts: Vec<_> = hosts
            .iter()
            .map(|(n, s)| (n.as_str(), s[0].as_str()))
            .collect();
        assert_eq!((hosts, cards), (vec![("n0", "s0"), ("n1", "s1")], 0));
    }

    #[tokio::test]
    async fn limits_hold() {
        let one = SearchLimits {
            most: 1,
            ..limits()
        };
        let (found_one, asked) = found(&one).await;
        assert_eq!((names(&found_one), asked.len()), (vec!["s0"], 1));
        let why = |name: &str| {
            &found_one
                .missed
                .iter()
                .find(|m| m.name == name)
                .unwrap()
                .why
        };
        assert!(why("s1").contains("1 switches are the limit"));
        let near = SearchLimits {
            only: vec!["10.0.0.0/30".parse().unwrap()],
            ..limits()
        };
        let (found, asked) = found(&near).await;
        assert_eq!(names(&found), ["s0", "s1", "s2"]);
        assert!(!asked.contains(&"10.9.9.9:161".to_owned()), "{asked:?}");
        assert!(!asked.contains(&"10.0.0.4:161".to_owned()), "{asked:?}");
    }

    #[test]
    fn blocks_of_addresses() {
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("0.0.0.0/0", "192.0.2.1") && !holds("0.0.0.0/0", "fd00::1"));
        assert!(holds("fd00::/8", "fd12::1") && holds("::/0", "fd12::1"));
        assert!(holds("10.0.0.7", "10.0.0.7") && !holds("10.0.0.7", "10.0.0.6"));
        for wrong in ["10.0.0.0/33", "10.0.0/8", "fd00::/129", "a/8", "10.0.0.0/"] {
            assert!(wrong.parse::<AddressBlock>().is_err(), "{wrong}");
        }
    }

    fn holds(block: &str, address: &str) -> bool {
        let block: AddressBlock = block.parse().unwrap();
        block.contains(address.parse().unwrap())
    }
}
