//! The traces of a job's ranks together: its calls, each on one clock.
use crate::causality;
use crate::file::{CallKind, RankTrace, TraceHeader};
use crate::step::{RankStep, TimedStep};
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use inventory::{BitsPerSec, TopologyFile};
use schedules::bound::WIRE_PER_PAYLOAD;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// A job: one process set and what its ranks did.
#[derive(Debug)]
pub struct TracedJob {
    /// The number by which its traces are known.
    pub job: u64,
    /// The host of each rank.
    pub hosts: Vec<String>,
    /// The ranks whose traces are there.
    pub ranks: Vec<u32>,
    /// The networks of its epochs.
    pub networks: BTreeMap<u64, JobNetwork>,
    /// The calls that all of these ranks recorded from beginning to end, in their order.
    pub calls: Vec<TracedCall>,
    /// Steps that the ranks gave up for want of room.
    pub lost: u64,
    /// How far the clocks of two hosts may be apart beyond what was found.
    pub clock_doubt: Duration,
}

/// A call at each rank.
#[derive(Debug, Clone)]
pub struct TracedCall {
    /// Its number among the calls of the job.
    pub number: u32,
    pub kind: CallKind,
    /// By rank: its steps since the first rank came, the oldest first; none without its trace.
    pub steps: Vec<Vec<TimedStep>>,
}

/// The network of an epoch, and the place of each rank.
#[derive(Debug)]
pub struct JobNetwork {
    tree: Tree,
    host_of: Vec<Option<NodeNumber>>,
}

impl JobNetwork {
    fn new(topology: &TopologyFile, hosts: &[String]) -> Option<JobNetwork> {
        let tree = topology.tree().ok()?;
        let host_of = hosts
            .iter()
            .map(|name| {
                let short = name.split('.').next().unwrap_or(name);
                tree.host(name).or_else(|| tree.host(short))
            })
            .collect();
        Some(JobNetwork { tree, host_of })
    }

    /// The links from one rank to another, each in its direction; none where it is not known.
    pub fn links(&self, from: u32, to: u32) -> Vec<EdgeNumber> {
        let host = |rank: u32| self.host_of.get(rank as usize).copied().flatten();
        let mut links = Vec::new();
        if let (Some(from), Some(to)) = (host(from), host(to)) {
            self.tree.path(from, to, |edge| links.push(edge));
        }
        links
    }

    /// The rate of a link.
    pub fn rate(&self, link: EdgeNumber) -> BitsPerSec {
        self.tree.rate(link / 2)
    }

    /// A link's name, by its ends.
    pub fn name(&self, link: EdgeNumber) -> String {
        let ends = self.tree.ends(link);
        ends.map_or_else(String::new, |(from, to)| {
            format!("{} to {}", self.tree.name(from), self.tree.name(to))
        })
    }

    /// The time that so many octets of payload take from one rank to another where nothing else is
    /// on the way; `None` where the way is not known.
    pub fn least(&self, from: u32, to: u32, octets: u64) -> Option<Duration> {
        let slowest = self
            .links(from, to)
            .into_iter()
            .map(|link| self.rate(link))
            .min()?;
        Some(on_the_wire(octets, slowest))
    }
}

/// The time of so many octets of payload on a link.
pub fn on_the_wire(octets: u64, rate: BitsPerSec) -> Duration {
    let seconds = octets as f64 * 8.0 * WIRE_PER_PAYLOAD / rate.0.max(1) as f64;
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Traces that do not belong together, or say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JobTraceError {
    /// There is none.
    #[error("no trace is there")]
    Nothing,
    /// They are of different process sets, or two are of one rank.
    #[error("two traces do not belong to one process set, or are of one rank")]
    Mixed,
}

impl TracedJob {
    /// Puts the traces of a process set together.
    pub fn new(mut traces: Vec<RankTrace>) -> Result<TracedJob, JobTraceError> {
        traces.sort_by_key(|trace| trace.header.rank);
        let first = traces.first().ok_or(JobTraceError::Nothing)?;
        let (job, hosts) = (first.header.job, first.header.hosts.clone());
        if traces
            .windows(2)
            .any(|pair| pair[0].header.rank == pair[1].header.rank)
            || traces
                .iter()
                .any(|t| t.header.job != job || t.header.hosts != hosts)
        {
            return Err(JobTraceError::Mixed);
        }
        let stated = traces.iter().flat_map(|trace| &trace.header.networks);
        let networks = stated.filter_map(|network| {
            let file = TopologyFile::parse("the trace", &network.topology).ok()?;
            Some((network.epoch, JobNetwork::new(&file, &hosts)?))
        });
        let doubts = traces.iter().filter_map(|trace| {
            let widths = trace.header.clocks.iter();
            widths
                .map(|clock| clock.most.abs_diff(clock.least) / 2)
                .min()
        });
        Ok(TracedJob {
            job,
            ranks: traces.iter().map(|trace| trace.header.rank).collect(),
            networks: networks.collect(),
            calls: calls(&traces, &hosts),
            lost: traces
                .iter()
                .fold(0, |sum, t| t.header.lost.saturating_add(sum)),
            clock_doubt: Duration::from_nanos(doubts.max().unwrap_or(0)),
            hosts,
        })
    }

    /// A rank, with its host.
    pub fn rank(&self, rank: u32) -> String {
        match self.hosts.get(rank as usize) {
            Some(host) => format!("rank {rank} on {host}"),
            None => format!("rank {rank}"),
        }
    }

    /// The network that a call went over.
    pub fn network(&self, call: &TracedCall) -> Option<&JobNetwork> {
        self.networks.get(&call.kind.epoch)
    }
}

/// One rank's share of a call, by the clock of rank 0.
type RankShare = (CallKind, Vec<(i128, RankStep)>);

/// The calls that every trace has whole.
fn calls(traces: &[RankTrace], hosts: &[String]) -> Vec<TracedCall> {
    let host_of = numbers(hosts);
    let doubts = doubts(traces, &host_of);
    let mut shares: BTreeMap<u32, BTreeMap<u32, RankShare>> = BTreeMap::new();
    for trace in traces {
        for (number, share) in shares_of(trace) {
            shares
                .entry(number)
                .or_default()
                .insert(trace.header.rank, share);
        }
    }
    let whole = shares
        .into_iter()
        .filter(|(_, by_rank)| by_rank.len() == traces.len());
    whole
        .filter_map(|(number, by_rank)| {
            let kind = by_rank.values().next()?.0;
            let first = by_rank
                .values()
                .filter_map(|(_, steps)| Some(steps.first()?.0))
                .min()?;
            let mut steps = vec![Vec::new(); hosts.len()];
            for (rank, (_, share)) in by_rank {
                // Clocks are not known to the nanosecond: no step was before the call.
                steps[rank as usize] = share
                    .into_iter()
                    .map(|(at, step)| TimedStep {
                        at: Duration::from_nanos(u64::try_from(at - first).unwrap_or(0)),
                        step,
                    })
                    .collect();
            }
            let mut call = TracedCall {
                number,
                kind,
                steps,
            };
            call.correct(
                &causality::corrections(&call.steps, &host_of, &doubts),
                &host_of,
            );
            Some(call)
        })
        .collect()
}

/// By host: how well its clock is known, in nanoseconds.
fn doubts(traces: &[RankTrace], host_of: &[usize]) -> Vec<Option<i64>> {
    let hosts = host_of.iter().max().map_or(0, |most| most + 1);
    let mut doubts = vec![None; hosts];
    for TraceHeader { rank, clocks, .. } in traces.iter().map(|trace| &trace.header) {
        let widths = clocks.iter().map(|c| c.most.abs_diff(c.least) / 2);
        let doubt = widths.max().and_then(|most| i64::try_from(most).ok());
        if let Some(&host) = host_of.get(*rank as usize) {
            doubts[host] = doubts[host].or(doubt);
        }
    }
    doubts
}

/// A number for the host of each rank.
fn numbers(hosts: &[String]) -> Vec<usize> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut number = |host| {
        let next = known.len();
        *known.entry(host).or_insert(next)
    };
    hosts.iter().map(|host| number(host.as_str())).collect()
}

/// The calls of one rank that have a beginning and an end.
fn shares_of(trace: &RankTrace) -> Vec<(u32, RankShare)> {
    let mut found: Vec<(u32, RankShare)> = Vec::new();
    let mut open: Option<(u32, RankShare)> = None;
    for TimedStep { at, step } in &trace.steps {
        let nanos = at.as_nanos() as u64;
        let at = i128::from(nanos) - i128::from(trace.header.ahead(nanos));
        if let RankStep::CallBegan { call, kind } = *step {
            let kind = trace.header.kinds.get(kind as usize);
            open = kind.map(|kind| (call, (*kind, Vec::new())));
        }
        if let Some((_, (_, steps))) = &mut open {
            steps.push((at, *step));
        }
        if matches!(step, RankStep::CallEnded { .. }) {
            found.extend(open.take());
        }
    }
    found
}

impl TracedCall {
    /// Adds to the times of each host, then lets the call begin with its first rank.
    fn correct(&mut self, nanoseconds: &[i64], host_of: &[usize]) {
        let of = |rank: usize| {
            host_of
                .get(rank)
                .and_then(|&host| nanoseconds.get(host))
                .copied()
        };
        let right = |at: Duration, rank: usize| {
            i128::try_from(at.as_nanos())
                .unwrap_or(i128::MAX)
                .saturating_add(of(rank).unwrap_or(0).into())
        };
        let begins = self.steps.iter().enumerate();
        let first = begins
            .filter_map(|(rank, steps)| Some(right(steps.first()?.at, rank)))
            .min();
        for (rank, steps) in self.steps.iter_mut().enumerate() {
            for step in steps {
                let since = right(step.at, rank).saturating_sub(first.unwrap_or(0));
                step.at = Duration::from_nanos(u64::try_from(since).unwrap_or(0));
            }
        }
    }

    /// From when the first rank came until the last was done.
    pub fn took(&self) -> Duration {
        let ends = self.steps.iter().filter_map(|steps| Some(steps.last()?.at));
        ends.max().unwrap_or_default()
    }

    /// When each rank came, of those whose trace is there.
    pub fn arrivals(&self) -> impl Iterator<Item = (u32, Duration)> + '_ {
        (0..)
            .zip(&self.steps)
            .filter_map(|(rank, steps)| Some((rank, steps.first()?.at)))
    }

    /// The rank that came last, and when.
    pub fn last_to_come(&self) -> Option<(u32, Duration)> {
        self.arrivals().max_by_key(|(_, at)| *at)
    }
}
