//! Finds source ports for each way between hosts where no router answers.
//!
//! Source: own; sizes that one sum shows apart are those of group testing by weights. Input: pairs of
//! hosts, the ways between them as the cables that these take, and the octets that cables have sent so far,
//! as late as agents of switches tell them. Guarantee: a way gets a port only after a round in which
//! each cable carried, up to other traffic of a third of the smallest flow, exactly flows of the round, and
//! each flow a way of its pair. When all have ports, each flow is sent once more, also those that an earlier
//! survey found: a cable that was away for a moment made switches choose others. Cost: up to [`SIZES`] flows through an edge a round, of one to 32 times the
//! smallest; ways of equal chance want about n ln n ports. Deviations: none.
use crate::coordinator::{FlowError, PeerChannel};
use crate::wire::{PeerAnswer, PeerOrder, PortFlow, PortFlows, SEGMENT};
use inventory::stages::flows::SOURCES;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

/// Flows through one edge at once.
const SIZES: usize = 6;
/// Segments of the smallest flow, at first and at most. Other traffic makes it larger.
const UNIT: (u32, u32) = (4, 128);
/// Headers of a segment as cables count them: of Ethernet, with and without its check sequence, IP and TCP.
const HEADERS: usize = 56;
/// The part of the smallest flow that may be other traffic, and the part of all that headers are off by.
const OTHER: f64 = 1.0 / 3.0;
const OFF: f64 = 0.01;
/// Ports are tried for a pair, beside so many for each way, until its switches seem not to look at them.
const TRIES: usize = 8;

/// Two hosts, and the ways from one to the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedPair {
    /// The number of the sender.
    pub from: usize,
    /// The number of the receiver.
    pub to: usize,
    /// The cables of each way, one of each edge with a choice.
    pub ways: Vec<Vec<usize>>,
    /// The port for each way, where an earlier survey found it.
    pub known: Vec<Option<u16>>,
}

impl AskedPair {
    /// So many ports, the first ones, were tried before at least.
    fn tried(&self) -> usize {
        let ports = self.known.iter().flatten();
        let tried = ports.map(|port| usize::from(port.saturating_sub(*SOURCES.start())) + 1);
        tried.max().unwrap_or(0)
    }
}

/// The most that a survey may cost, and when it looks.
#[derive(Debug, Clone, Copy)]
pub struct SurveyLimits {
    /// Octets of all flows.
    pub budget: u64,
    /// The time for all rounds.
    pub time: Duration,
    /// The part of the time in which flows run.
    pub share: f64,
    /// Octets a second that the slowest cable passes on.
    pub slowest: u64,
    /// The time between two looks at counters.
    pub look: Duration,
    /// Counters show a flow by then.
    pub shown: Duration,
}

/// The outcome of a survey.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SurveyReport {
    /// By pair: the port for each of its ways, where one was found.
    pub ports: Vec<Vec<Option<u16>>>,
    pub rounds: u32,
    /// Octets sent.
    pub moved: u64,
    /// Each way has a port, and each flow took its way once more.
    pub is_confirmed: bool,
    /// Why some way has no port, or flows may take other ways.
    pub problem: Option<String>,
}

/// A flow of a round: from this port it is `1 << size` times as long as the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RoundFlow {
    pair: usize,
    port: u16,
    size: usize,
}

/// The known ways of pairs.
#[derive(Debug)]
struct WaySurvey<'a> {
    pairs: &'a [AskedPair],
    /// By cable: those beside it.
    edge_of: Vec<usize>,
    ports: Vec<Vec<Option<u16>>>,
    /// By pair: the ports that were tried.
    tried: Vec<usize>,
    /// By pair: its flows that were sent once more.
    repeated: Vec<usize>,
    /// The pair whose turn is next.
    next: usize,
}

impl<'a> WaySurvey<'a> {
    fn new(pairs: &'a [AskedPair], cables: usize) -> WaySurvey<'a> {
        let mut edge_of: Vec<usize> = (0..cables).collect();
        for pair in pairs {
            for way in &pair.ways {
                // The n-th cables of a pair's ways are beside each other, on its n-th edge with a
                // choice.
                for (&cable, &first) in way.iter().zip(&pair.ways[0]) {
                    edge_of[cable] = edge_of[first];
                }
            }
        }
        WaySurvey {
            pairs,
            edge_of,
            ports: pairs.iter().map(|pair| pair.known.clone()).collect(),
            tried: pairs.iter().map(AskedPair::tried).collect(),
            repeated: vec![0; pairs.len()],
            next: 0,
        }
    }

    fn is_open(&self, pair: usize) -> bool {
        let ports = &self.ports[pair];
        ports.contains(&None) && self.tried[pair] < TRIES * (ports.len() + 1)
    }

    /// True while a port is sought for some way.
    fn is_seeking(&self) -> bool {
        (0..self.pairs.len()).any(|pair| self.is_open(pair))
    }

    /// The port of a pair's next flow: one that was not tried, or, when no pair seeks one, one to be confirmed.
    fn next_port(&self, pair: usize, is_seeking: bool) -> Option<u16> {
        if is_seeking {
            let next = SOURCES.start() + self.tried[pair] as u16;
            return self.is_open(pair).then_some(next);
        }
        let mut found = self.ports[pair].iter().flatten();
        found.nth(self.repeated[pair]).copied()
    }

    /// The flows of the next round: each pair has a turn, and flows through one edge differ in size.
    fn round(&self) -> Vec<RoundFlow> {
        let is_seeking = self.is_seeking();
        let mut used: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut flows = Vec::new();
        let count = self.pairs.len();
        for pair in (0..count).map(|n| (self.next + n) % count) {
            let next = (
                self.pairs[pair].ways.first(),
                self.next_port(pair, is_seeking),
            );
            let (Some(way), Some(port)) = next else {
                continue;
            };
            let edges: BTreeSet<usize> = way.iter().map(|&c| self.edge_of[c]).collect();
            let Some(size) = (0..SIZES).find(|size| {
                let mut others = edges.iter().filter_map(|edge| used.get(edge));
                !others.any(|sizes| sizes.contains(size))
            }) else {
                continue;
            };
            for edge in edges {
                used.entry(edge).or_default().insert(size);
            }
            flows.push(RoundFlow { pair, port, size });
        }
        flows
    }

    /// The way of each flow, by what each cable carried; none while counters do not show all flows.
    fn decoded(&self, flows: &[RoundFlow], carried: &[u64], unit: f64) -> Option<Vec<usize>> {
        let mut sizes_on: Vec<usize> = Vec::new();
        for &octets in carried {
            let octets = octets as f64;
            // Sizes through one edge are different powers of two: the sum has a bit for each flow.
            let units = (octets / unit).round();
            let is_near = (octets - units * unit).abs() <= (OTHER + OFF * units) * unit;
            sizes_on
                .push(Some(units as usize).filter(|_| is_near && units < f64::from(1 << SIZES))?);
        }
        let mut expected: BTreeMap<usize, usize> = BTreeMap::new();
        for flow in flows {
            for &cable in &self.pairs[flow.pair].ways[0] {
                *expected.entry(self.edge_of[cable]).or_default() |= 1 << flow.size;
            }
        }
        let mut shown: BTreeMap<usize, usize> = BTreeMap::new();
        for (cable, sizes) in sizes_on.iter().enumerate() {
            *shown.entry(self.edge_of[cable]).or_default() += sizes;
        }
        if expected
            .iter()
            .any(|(edge, sizes)| shown.get(edge) != Some(sizes))
        {
            return None;
        }
        flows.iter().map(|flow| self.way(flow, &sizes_on)).collect()
    }

    /// The only way whose cables all carried a flow of this size.
    fn way(&self, flow: &RoundFlow, sizes_on: &[usize]) -> Option<usize> {
        let ways = self.pairs[flow.pair].ways.iter().enumerate();
        let mut taken = ways.filter(|(_, way)| {
            way.iter()
                .all(|&cable| sizes_on[cable] & (1 << flow.size) != 0)
        });
        let (way, _) = taken.next()?;
        taken.next().is_none().then_some(way)
    }

    /// Takes the ways of flows. False if one that is known took another way than before; then none is known.
    fn take(&mut self, flows: &[RoundFlow], ways: &[usize]) -> bool {
        let is_seeking = self.is_seeking();
        for (flow, &way) in flows.iter().zip(ways) {
            if is_seeking {
                self.ports[flow.pair][way].get_or_insert(flow.port);
                self.tried[flow.pair] += 1;
            } else if self.ports[flow.pair][way] == Some(flow.port) {
                self.repeated[flow.pair] += 1;
            } else {
                self.ports.iter_mut().for_each(|ports| ports.fill(None));
                return false;
            }
        }
        self.next = flows
            .last()
            .map_or(0, |last| (last.pair + 1) % self.pairs.len());
        true
    }
}

/// Has hosts send flows until each pair has a port for each way. `counters` tells the octets that each cable has
/// sent so far; nothing while some switch does not say. `progress` may end it.
pub fn count_ways(
    peers: &mut [Box<dyn PeerChannel + Send>],
    (pairs, cables): (&[AskedPair], usize),
    limits: &SurveyLimits,
    mut counters: impl FnMut() -> Option<Vec<u64>>,
    mut progress: impl FnMut(u32, u64) -> ControlFlow<()>,
) -> SurveyReport {
    let began = Instant::now();
    let mut survey = WaySurvey::new(pairs, cables);
    let (mut report, mut unit) = (SurveyReport::default(), UNIT.0);
    let problem = loop {
        let flows = survey.round();
        if flows.is_empty() {
            let has_all = survey.ports.iter().flatten().all(Option::is_some);
            report.is_confirmed = has_all;
            break (!has_all).then_some("some flows take the same way from all ports");
        }
        let octets = u64::from(unit) * (SEGMENT + HEADERS) as u64;
        let cost = flows.iter().map(|flow| octets << flow.size).sum::<u64>();
        let is_over = report.moved + cost > limits.budget || began.elapsed() > limits.time;
        if is_over || progress(report.rounds, report.moved).is_break() {
            break Some("it was ended before each way had a port");
        }
        let Some(before) = looked(limits, &mut counters, |now| Some(now.to_vec())) else {
            break Some("some switch does not tell what its cables carry");
        };
        let sending = Instant::now();
        match send(peers, pairs, &flows, unit, limits) {
            Ok(sent) => report.moved += sent,
            Err(e) => {
                report.problem = Some(e.to_string());
                break None;
            }
        }
        let flowed = sending.elapsed();
        let ways = looked(limits, &mut counters, |now| {
            // A counter that is less than before was reset or has wrapped: this look tells nothing.
            let differences = now
                .iter()
                .zip(&before)
                .map(|(now, before)| now.checked_sub(*before));
            let carried: Vec<u64> = differences.collect::<Option<_>>()?;
            survey.decoded(&flows, &carried, octets as f64)
        });
        report.rounds += 1;
        match ways {
            Some(ways) if survey.take(&flows, &ways) => {}
            Some(_) => break Some("switches chose other cables meanwhile, as when one was away"),
            None if unit < UNIT.1 => unit *= 2,
            None => {
                break Some("counters of the cables do not show flows: others are under way, too");
            }
        }
        let rest = flowed.div_f64(limits.share.max(0.01));
        thread::sleep(rest.saturating_sub(sending.elapsed()));
    };
    report.problem = report.problem.or_else(|| problem.map(str::to_owned));
    report.ports = survey.ports;
    report
}

/// Looks at counters until they tell something, for as long as they may take.
fn looked<T>(
    limits: &SurveyLimits,
    counters: &mut impl FnMut() -> Option<Vec<u64>>,
    tells: impl Fn(&[u64]) -> Option<T>,
) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = counters().and_then(|now| tells(&now)) {
            return Some(found);
        }
        if began.elapsed() > limits.shown {
            return None;
        }
        thread::sleep(limits.look);
    }
}

/// Has all flows of a round sent. Returns the octets.
fn send(
    peers: &mut [Box<dyn PeerChannel + Send>],
    pairs: &[AskedPair],
    flows: &[RoundFlow],
    unit: u32,
    limits: &SurveyLimits,
) -> Result<u64, FlowError> {
    let mut by_sender: BTreeMap<usize, Vec<PortFlow>> = BTreeMap::new();
    for flow in flows {
        let pair = &pairs[flow.pair];
        by_sender.entry(pair.from).or_default().push(PortFlow {
            to: peers[pair.to].address().ip(),
            port: flow.port,
            segments: unit << flow.size,
        });
    }
    // All senders together must fit through the slowest cable, where their flows may meet.
    let pace = limits.slowest / by_sender.len() as u64;
    for (&sender, flows) in &by_sender {
        peers[sender].tell(&PeerOrder::Segments(PortFlows {
            flows: flows.clone(),
            pace,
        }))?;
    }
    let mut sent = 0;
    for &sender in by_sender.keys() {
        if let PeerAnswer::Done(outcome) = peers[sender].answer()? {
            sent += outcome.sent;
        }
    }
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::hash_map::DefaultHasher;
    use std::hash::{Hash, Hasher};
    use std::net::{IpAddr, SocketAddr};
    use std::ops::Range;
    use std::sync::{Arc, Mutex};

    /// Two switches with two hosts each, and so many cables between them, by direction.
    const CABLES: usize = 4;

    fn pairs() -> Vec<AskedPair> {
        let all = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
        all.filter(|(from, to)| from / 2 != to / 2)
            .map(|(from, to)| AskedPair {
                from,
                to,
                ways: (0..CABLES).map(|c| vec![from / 2 * CABLES + c]).collect(),
                known: vec![None; CABLES],
            })
            .collect()
    }

    fn address(host: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, host as u8], 9))
    }

    /// The switches' hash, and what their cables have carried.
    #[derive(Default)]
    struct HashingSwitches {
        carried: Mutex<Vec<u64>>,
        /// Orders to hosts so far, and those in which a cable of each trunk is away.
        orders: Mutex<usize>,
        away: Range<usize>,
        ignores_ports: bool,
        /// Octets of others on each cable with each order.
        others: u64,
    }

    impl HashingSwitches {
        fn way(&self, from: usize, to: IpAddr, port: u16) -> usize {
            let cables = CABLES - usize::from(self.away.contains(&self.orders.lock().unwrap()));
            let mut hasher = DefaultHasher::new();
            (from, to, if self.ignores_ports { 0 } else { port }).hash(&mut hasher);
            from / 2 * CABLES + hasher.finish() as usize % cables
        }
    }

    struct SurveyedHost(usize, Arc<HashingSwitches>, u64);

    impl PeerChannel for SurveyedHost {
        fn address(&self) -> SocketAddr {
            address(self.0)
        }

        fn tell(&mut self, order: &PeerOrder) -> Result<(), FlowError> {
            let PeerOrder::Segments(order) = order else {
                panic!("{order:?}");
            };
            let mut carried = self.1.carried.lock().unwrap();
            self.2 = 0;
            *self.1.orders.lock().unwrap() += 1;
            for flow in &order.flows {
                // A switch that does not count the check sequence.
                let octets = u64::from(flow.segments) * (SEGMENT as u64 + 54);
                carried[self.1.way(self.0, flow.to, flow.port)] += octets;
                self.2 += octets;
            }
            carried
                .iter_mut()
                .for_each(|octets| *octets += self.1.others);
            Ok(())
        }

        fn answer(&mut self) -> Result<PeerAnswer, FlowError> {
            Ok(PeerAnswer::Done(crate::RoundOutcome {
                rate: None,
                sent: self.2,
                disturbed: false,
            }))
        }
    }

    fn survey(network: HashingSwitches) -> (SurveyReport, Arc<HashingSwitches>) {
        *network.carried.lock().unwrap() = vec![77; 2 * CABLES];
        let network = Arc::new(network);
        let mut peers: Vec<_> = (0..4)
            .map(|number| -> Box<dyn PeerChannel + Send> {
                Box::new(SurveyedHost(number, Arc::clone(&network), 0))
            })
            .collect();
        let limits = SurveyLimits {
            budget: 1 << 32,
            time: Duration::from_secs(60),
            share: 1.0,
            slowest: 1 << 30,
            look: Duration::ZERO,
            shown: Duration::from_millis(20),
        };
        // A switch counts anew at each third look.
        let (mut looks, mut shown) = (0, vec![77; 2 * CABLES]);
        let counters = || {
            looks += 1;
            if looks % 3 == 0 {
                shown = network.carried.lock().unwrap().clone();
            }
            Some(shown.clone())
        };
        let asked = (&pairs()[..], 2 * CABLES);
        let report = count_ways(&mut peers, asked, &limits, counters, |_, _| {
            ControlFlow::Continue(())
        });
        (report, network)
    }

    #[test]
    fn each_way_has_a_port_that_leads_there() {
        for others in [0, 300, 9_000] {
            let (report, network) = survey(HashingSwitches {
                others,
                ..HashingSwitches::default()
            });
            assert_eq!((report.problem, report.is_confirmed), (None, true));
            for (pair, ports) in pairs().iter().zip(&report.ports) {
                for (way, port) in pair.ways.iter().zip(ports) {
                    let taken = network.way(pair.from, address(pair.to).ip(), port.unwrap());
                    assert_eq!(way, &[taken]);
                }
            }
        }
    }

    #[test]
    fn a_cable_that_is_away_for_a_moment_leaves_no_wrong_port() {
        let mut refused = 0;
        for first in 0..40 {
            let (report, network) = survey(HashingSwitches {
                away: first..first + 8,
                ..HashingSwitches::default()
            });
            refused += usize::from(!report.is_confirmed);
            for (pair, ports) in pairs().iter().zip(&report.ports) {
                for (way, port) in pair.ways.iter().zip(ports) {
                    let to = address(pair.to).ip();
                    let taken = port.map(|port| network.way(pair.from, to, port));
                    assert!(taken.is_none_or(|taken| way == &[taken]));
                }
            }
        }
        assert!(refused > 20, "{refused}");
    }

    #[test]
    fn where_ports_make_no_difference_or_others_send_nothing_is_claimed() {
        let (report, _) = survey(HashingSwitches {
            ignores_ports: true,
            ..HashingSwitches::default()
        });
        let problem = report.problem.unwrap();
        assert!(problem.contains("the same way from all ports"), "{problem}");
        assert!(
            report
                .ports
                .iter()
                .all(|ports| ports.iter().flatten().count() == 1)
        );
        let (report, _) = survey(HashingSwitches {
            others: 10 << 20,
            ..HashingSwitches::default()
        });
        let problem = report.problem.unwrap();
        assert!(problem.contains("others are under way"), "{problem}");
        assert!(report.ports.iter().flatten().all(Option::is_none));
    }

    #[test]
    fn flows_through_two_stages_show_by_the_cables_of_both() {
        let pair = AskedPair {
            from: 0,
            to: 1,
            // Two spines: a way has one cable up, and the one down from there.
            ways: vec![vec![0, 2], vec![1, 3]],
            known: vec![None; 2],
        };
        let pairs = [pair.clone(), AskedPair { from: 2, ..pair }];
        let survey = WaySurvey::new(&pairs, 4);
        let flows = survey.round();
        let sizes: Vec<usize> = flows.iter().map(|flow| flow.size).collect();
        assert_eq!(sizes, [0, 1]);
        let ways = |carried: [u64; 4]| survey.decoded(&flows, &carried, 100.0);
        assert_eq!(ways([100, 200, 100, 200]), Some(vec![0, 1]));
        assert_eq!(ways([330, 20, 310, 5]), Some(vec![0, 0]));
        assert_eq!(
            ways([100, 200, 200, 100]),
            None,
            "it leaves a spine that it did not enter"
        );
        assert_eq!(ways([100, 200, 100, 100]), None, "not all is counted yet");
        assert_eq!(ways([150, 150, 100, 200]), None);
    }
}
