//! heddle's transport at real speeds: the core that runs in MPI jobs, over ns-3's TCP and switches with
//! finite queues, beside what libraries send.
mod fabric;
mod library;
mod network;
mod ranked_hosts;
mod reductions;
mod ways;

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use fabric::SimulatedFabric;
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use library::LibraryCall;
use network::{CongestionControl, NetworkCounts, PacketRules, RankProgram, SimulatedNetwork};
use policy::decision_table::Collective;
use ranked_hosts::{RankedHosts, SizedPart};
use reductions::SteppedCall;
use schedules::bound::{self, WIRE_PER_PAYLOAD};
use schedules::relay::RankRelay;
use serde::Serialize;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use ways::SimulatedWay;
use wire::call::WireCall;
use wire::framing::BlockFraming;
use wire::links::PeerLinks;
use wire::relay::RelayCall;
use wire::streams::WireSetting;

/// A call that takes longer than this does not end.
const LIMIT_S: f64 = 30.0;

/// Times of collectives over simulated TCP, links and switches (ns-3)
///
/// Octets and tokens go as in an MPI job: the schedule is planned and verified for the topology, and
/// the same transport core carries it out. linear, pairwise and throttled:K are what MPI libraries
/// send; of bundled and bundled-phases only what leaves hosts. Hosts have as many ranks as the topology says. The bound is the payload of the most loaded link at its full rate; headers of frames leave
/// 0.94 of it.
#[derive(Parser)]
#[command(name = "wire", version)]
struct Args {
    /// The topology file
    #[arg(long, value_name = "FILE")]
    topology: PathBuf,
    /// Octets of a block; of an allreduce, of all elements
    #[arg(long, value_name = "N", value_delimiter = ',', required = true)]
    size: Vec<u32>,
    /// alltoall, allgather or allreduce
    #[arg(long, default_value = "alltoall")]
    collective: String,
    /// default, credit (as many messages ahead as heddle thinks that queues hold), a way of heddle's such as "aapc tcp",
    /// linear, pairwise or throttled:K, of reductions linear, ring, doubling or rabenseifner; several, divided by commas, come beside each other. Where flows
    /// spread over links side by side, connections are opened so that each message takes the link that is
    /// planned; "credit by hash" and the like leave it to the hash
    #[arg(long, value_delimiter = ',', default_value = "default")]
    way: Vec<String>,
    /// Octets that a port of a switch queues
    #[arg(long, value_name = "OCTETS", default_value_t = 131_072)]
    queue: u32,
    /// heddle counts on so many, as if the inventory stated them; without a number on those of --queue, and
    /// of shared octets on a quarter
    #[arg(long, value_name = "OCTETS")]
    stated: Option<Option<u32>>,
    /// Octets that all ports of a switch queue together, instead
    #[arg(long, value_name = "OCTETS")]
    shared_buffer: Option<u32>,
    /// The least retransmission timer, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200.0)]
    rto: f64,
    /// The ports from which connections are opened, by chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The congestion control
    #[arg(long, default_value = "cubic")]
    cc: CongestionControl,
    /// From an event to the step of the rank that it wakes, in microseconds
    #[arg(long, value_name = "US", default_value_t = 4.0)]
    step_cost: f64,
    /// Octets that a rank copies in a second, to the kernel and from it; 0: any number
    #[arg(long, value_name = "OCTETS_PER_S", default_value_t = 0.0)]
    copy: f64,
    /// Octets that a rank combines in a second, of doubles with the MPICH of Debian; 0: any number
    #[arg(long, value_name = "OCTETS_PER_S", default_value_t = 9e9)]
    combine: f64,
    /// Calls one after the other
    #[arg(long, default_value_t = 3)]
    calls: u32,
    /// Calls before them, which open the connections' windows: at 100 Gbit/s a dozen do
    #[arg(long, value_name = "CALLS", default_value_t = 1)]
    warm_up: u32,
    /// text or json
    #[arg(long, default_value = "text")]
    format: OutputFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    Text,
    Json,
}

/// The network, and its ranks with and without the ways that lie side by side.
struct WireNetwork {
    fabric: SimulatedFabric,
    ranks: RankedHosts,
    merged: RankedHosts,
}

/// One size by one way.
#[derive(Serialize)]
struct WireRun {
    size: u32,
    way: String,
    seconds: Vec<f64>,
    bound: f64,
    /// The bound over the median time.
    share: f64,
    drops: u64,
    timers: u64,
    marks: u64,
    longest_queue: u64,
}

impl WireRun {
    fn new(
        size: u32,
        way: SimulatedWay,
        seconds: Vec<f64>,
        bound: f64,
        counts: &NetworkCounts,
    ) -> WireRun {
        let mut sorted = seconds.clone();
        sorted.sort_by(f64::total_cmp);
        WireRun {
            size,
            way: way.to_string(),
            share: bound / sorted[sorted.len() / 2],
            seconds,
            bound,
            drops: counts.drops,
            timers: counts.timers,
            marks: counts.marks,
            longest_queue: counts.longest_queue,
        }
    }
}

#[derive(Serialize)]
struct WireReport {
    runs: Vec<WireRun>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(are_whole) => ExitCode::from(u8::from(!are_whole)),
        Err(problem) => {
            eprintln!("wire: {problem:#}");
            ExitCode::from(64)
        }
    }
}

/// True if every call ended.
fn run(args: &Args) -> anyhow::Result<bool> {
    let name = args.topology.display().to_string();
    let text = std::fs::read_to_string(&args.topology).with_context(|| name.clone())?;
    let (file, tree) = TopologyFile::parse_tree(&name, &text)?;
    let tree = match args.stated {
        Some(stated) => {
            let octets = stated.map(|octets| Bytes(octets.into()));
            tree.with_queue(Some(octets.unwrap_or_else(|| port_queue(args))))
        }
        None => tree,
    };
    let network = WireNetwork {
        fabric: SimulatedFabric::from_file(&file)?,
        merged: RankedHosts::new(tree.clone().by_hash())?,
        ranks: RankedHosts::new(tree)?,
    };
    let ranks = &network.ranks;
    ensure!(
        ranks.hosts.hosts() > 1,
        "{name}: a single host sends nothing; give two or more"
    );
    let collective = match args.collective.as_str() {
        "alltoall" => Collective::Alltoall,
        "allgather" => Collective::Allgather,
        "allreduce" => Collective::Allreduce,
        other => {
            anyhow::bail!("collective \"{other}\": expected alltoall, allgather or allreduce")
        }
    };
    ensure!(
        collective != Collective::Allreduce || !ranks.share_hosts(),
        "{name}: ranks of one host combine before, which is not played here; give each host one"
    );
    ensure!(
        args.calls > 0,
        "--calls 0: nothing to measure; give 1 or more"
    );
    let mut runs = Vec::new();
    let mut are_whole = true;
    for &size in &args.size {
        for way in &args.way {
            let way = SimulatedWay::named(way, ranks, collective, Bytes(size.into()))?;
            let (run, stuck) = simulate(args, &network, collective, size, way)?;
            for line in stuck.iter().take(8) {
                eprintln!("wire: {way}, {size} octets: not over: {line}");
            }
            are_whole &= stuck.is_empty();
            if args.format == OutputFormat::Text {
                print_run(&run);
            }
            runs.push(run);
        }
    }
    if args.format == OutputFormat::Json {
        println!("{}", serde_json::to_string(&WireReport { runs })?);
    }
    Ok(are_whole)
}

/// The octets that a port can count on: of a buffer that a switch's ports share, a part.
fn port_queue(args: &Args) -> Bytes {
    const BUSY_PORTS: u32 = 4;
    Bytes(
        args.shared_buffer
            .map_or(args.queue, |shared| shared / BUSY_PORTS)
            .into(),
    )
}

fn print_run(run: &WireRun) {
    let median = run.bound / run.share;
    println!(
        "{:>9} B  {:<24} {:>10.3} ms  share {:.2}  {} drops  {} timers  queue {} B",
        run.size,
        run.way,
        1e3 * median,
        run.share,
        run.drops,
        run.timers,
        run.longest_queue
    );
}

fn bound_seconds(tree: &Tree, collective: Collective, size: u32) -> f64 {
    let size = Bytes(size.into());
    let on_the_wire = match collective {
        Collective::Allgather => bound::allgather_bound_seconds(tree, size),
        Collective::Allreduce => {
            bound::allreduce_seconds(tree, &vec![1; tree.hosts() as usize], size)
        }
        _ => bound::payload_bound_seconds(tree, size),
    };
    on_the_wire / WIRE_PER_PAYLOAD
}

fn packet_rules(args: &Args) -> PacketRules {
    PacketRules {
        queue: args.queue,
        shared_buffer: args.shared_buffer.unwrap_or(0),
        least_rto_ms: args.rto,
        control: args.cc,
        step_cost_us: args.step_cost,
        copied_per_s: args.copy,
        combined_per_s: args.combine,
    }
}

/// The calls that all ranks carry out, and the ports from which connections are opened.
struct WirePlan {
    way: SimulatedWay,
    size: u32,
    parts: Vec<SizedPart>,
    /// In a reduction along the ring: by rank, and the places of elements.
    shares: Vec<RankRelay>,
    places: Vec<Range<usize>>,
    ports: Vec<u16>,
}

impl WirePlan {
    fn new(
        args: &Args,
        WireNetwork {
            fabric,
            ranks,
            merged,
        }: &WireNetwork,
        collective: Collective,
        (way, size): (SimulatedWay, u32),
    ) -> anyhow::Result<WirePlan> {
        let all = ranks.host_of.len();
        let mut plan = WirePlan {
            way,
            size,
            parts: Vec::new(),
            shares: Vec::new(),
            places: reductions::parts(size, all as u32),
            ports: fabric.any_ports(&ranks.host_of, args.seed),
        };
        let (own, ranks) = match way {
            SimulatedWay::Relayed => {
                plan.shares = ways::relayed(&ranks.leaves)?;
                return Ok(plan);
            }
            SimulatedWay::Own(way) => (way, ranks),
            SimulatedWay::ByHash(way) => (way, merged),
            SimulatedWay::BundledPhases => {
                plan.parts = ranks.bundles_in_turn(size)?;
                return Ok(plan);
            }
            SimulatedWay::Library(_) | SimulatedWay::Reduction(_) | SimulatedWay::Bundled => {
                return Ok(plan);
            }
        };
        let planned = ways::planned(&ranks.leaves, own, collective)?;
        if let Some(alltoall) = planned.alltoall.filter(|plan| !plan.paths.is_empty()) {
            ensure!(
                !ranks.share_hosts(),
                "hosts with several ranks: links side by side cannot be chosen here; take \"{way} by hash\""
            );
            plan.ports = fabric.ports_of(&ranks.leaves, &alltoall, args.seed)?;
        }
        let sized = planned.parts.into_iter().map(|part| SizedPart {
            part,
            outgoing: vec![size as usize; all],
            incoming: vec![size as usize; all],
        });
        plan.parts = sized.collect();
        Ok(plan)
    }

    /// A rank's work in a call.
    fn program(
        &self,
        (ranks, collective): (&RankedHosts, Collective),
        (call, me): (u32, u32),
        links: &[PeerLinks],
    ) -> RankProgram<'_> {
        let all = ranks.host_of.len() as u32;
        match self.way {
            SimulatedWay::Library(pattern) => RankProgram::Library(LibraryCall::new(
                pattern,
                (me, all),
                self.size,
                collective == Collective::Allgather,
            )),
            SimulatedWay::Reduction(pattern) => {
                RankProgram::Stepped(SteppedCall::new(pattern, (me, all), self.size))
            }
            SimulatedWay::Bundled => RankProgram::Library(ranks.bundles(me, self.size)),
            SimulatedWay::Relayed => {
                let (share, element) = (&self.shares[me as usize], reductions::ELEMENT as usize);
                RankProgram::Relayed(RelayCall::new(share, &self.places, element, all))
            }
            SimulatedWay::Own(_) | SimulatedWay::ByHash(_) | SimulatedWay::BundledPhases => {
                let sized = &self.parts[me as usize];
                let setting = WireSetting {
                    call,
                    framing: BlockFraming::Bare,
                    links: links.to_vec(),
                    patience: 1.0,
                    outgoing: sized.outgoing.clone(),
                    incoming: sized.incoming.clone(),
                };
                RankProgram::Scheduled(Box::new(WireCall::new(&sized.part, setting)))
            }
        }
    }
}

/// A run, and what ranks waited for whose call did not end.
fn simulate(
    args: &Args,
    network: &WireNetwork,
    collective: Collective,
    size: u32,
    way: SimulatedWay,
) -> anyhow::Result<(WireRun, Vec<String>)> {
    let plan = WirePlan::new(args, network, collective, (way, size))?;
    let WireNetwork { fabric, ranks, .. } = network;
    let links: Vec<_> = ranks
        .host_of
        .iter()
        .map(|&host| fabric::links(&ranks.hosts, &ranks.host_of, host))
        .collect();
    let places = (&ranks.host_of[..], &plan.ports[..]);
    let mut network = SimulatedNetwork::new(fabric, places, links.clone(), packet_rules(args));
    let (mut seconds, mut counts, mut stuck) = (Vec::new(), NetworkCounts::default(), Vec::new());
    for call in 0..args.warm_up + args.calls {
        let programs = (0..).zip(&links).map(|(me, links)| {
            let rank: (u32, u32) = (call, me);
            plan.program((ranks, collective), rank, links)
        });
        let done = network.call(programs.collect(), LIMIT_S);
        stuck = done.stuck;
        if call < args.warm_up && stuck.is_empty() {
            continue;
        }
        seconds.push(done.seconds);
        counts.drops += done.counts.drops;
        counts.marks += done.counts.marks;
        counts.timers += done.counts.timers;
        counts.longest_queue = counts.longest_queue.max(done.counts.longest_queue);
        if !stuck.is_empty() {
            break;
        }
    }
    let bound = bound_seconds(&ranks.leaves, collective, size);
    Ok((WireRun::new(size, way, seconds, bound, &counts), stuck))
}
