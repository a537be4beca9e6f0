//! Times MPI_Alltoall, MPI_Allgather and their forms with unequal blocks across the ranks it runs
//! on, and checks every byte if asked.
//!
//! It knows nothing of heddle: compiled once for each MPI library, it runs with the runtime
//! preloaded or without.
mod arguments;
mod bench_collective;
mod block_layout;
mod block_lengths;
mod combined;
mod late_rank;
mod library_routines;
mod machine;
mod sequential_test;
mod typed_exchange;

use arguments::Args;
use bench_collective::BenchCollective;
use block_layout::BlockLayout;
use block_lengths::BlockLengths;
use clap::Parser;
use library_routines::LibraryRoutines;
use machine::{MachineCounters, MachineUse};
use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let args = Args::parse();
    let Some(universe) = mpi::initialize() else {
        eprintln!("bench: MPI is initialized already");
        return ExitCode::from(64);
    };
    let world = universe.world();
    let collectives = &args.collective.0[..];
    if args.each {
        introduce(&world);
    }
    if let Some(refused) = refusal(&args, &world) {
        if world.rank() == 0 {
            eprintln!("bench: {refused}");
        }
        return ExitCode::from(64);
    }
    let own = if args.compare {
        let Some(own) = LibraryRoutines::find() else {
            eprintln!("bench: the MPI library's own functions are not found");
            return ExitCode::FAILURE;
        };
        Some(own)
    } else {
        None
    };
    let wanted: Vec<(BenchCollective, u64)> = collectives
        .iter()
        .flat_map(|&c| args.sizes(c).iter().map(move |&size| (c, size)))
        .filter(|&(c, size)| {
            args.only.is_empty() || args.only.contains(&format!("{}:{size}", c.name()))
        })
        .collect();
    if args.warm_up {
        for &collective in collectives {
            // Small reductions and broadcasts are never looked at.
            let largest = args.sizes(collective).iter().max().copied();
            let block = largest.filter(|_| collective.comes_as_one());
            CollectiveBench::new(&world, collective, block.unwrap_or(1024), &args).rows(1);
        }
    }
    if args.watch {
        watch(&world, &args, &wanted);
    } else {
        measure(&world, &args, &wanted, own);
    }
    ExitCode::SUCCESS
}

/// The fault of the command line, for the ranks of this job.
fn refusal(args: &Args, world: &SimpleCommunicator) -> Option<String> {
    let mut collectives = args.collective.0.iter();
    if args.compare && collectives.any(|c| c.is_unequal() || c.comes_as_one()) {
        return Some("--compare is for MPI_Alltoall and MPI_Allgather".to_owned());
    }
    args.late?.check(world.size()).err()
}

/// Each collective and size once.
fn measure(
    world: &SimpleCommunicator,
    args: &Args,
    wanted: &[(BenchCollective, u64)],
    own: Option<LibraryRoutines>,
) {
    let collectives = &args.collective.0[..];
    for &(collective, block) in wanted {
        let mut bench = CollectiveBench {
            own,
            row: args.calls_in_a_row(collective, block),
            ..CollectiveBench::new(world, collective, block, args)
        };
        match args.iterations {
            Some(n) => bench.rows(n),
            None => {
                let at = collectives.iter().position(|&c| c == collective);
                let least = args.least_rows(at.unwrap_or_default());
                bench.run(
                    Duration::from_secs_f64(args.seconds),
                    least,
                    args.until_clear,
                );
            }
        }
        bench.print(args);
    }
}

/// A line about the job: the library, the host of each rank, and the process that is rank 0.
fn introduce(world: &SimpleCommunicator) {
    const NAME: usize = 256;
    let mut own = [0u8; NAME];
    let name = mpi::environment::processor_name().unwrap_or_default();
    let length = name.len().min(NAME);
    own[..length].copy_from_slice(&name.as_bytes()[..length]);
    let mut all = vec![0u8; NAME * world.size() as usize];
    world.all_gather_into(&own[..], &mut all[..]);
    if world.rank() == 0 {
        let text = |name: &[u8]| {
            String::from_utf8_lossy(name)
                .trim_end_matches('\0')
                .to_owned()
        };
        let hosts: Vec<String> = all.chunks(NAME).map(|name| quoted(&text(name))).collect();
        let version = mpi::environment::library_version().unwrap_or_default();
        let version = quoted(
            version
                .lines()
                .next()
                .unwrap_or_default()
                .trim_end_matches('\0')
                .trim(),
        );
        println!(
            "{{\"library\":{version},\"pid\":{},\"hosts\":[{}]}}",
            std::process::id(),
            hosts.join(",")
        );
    }
}

/// As JSON has it: versions and host names hold nothing that needs more care than this.
fn quoted(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| {
            if c.is_control() || c == '"' || c == '\\' {
                ' '
            } else {
                c
            }
        })
        .collect();
    format!("\"{plain}\"")
}

/// A line a second about the calls since the last one, until the time is over or nobody wants more.
fn watch(world: &SimpleCommunicator, args: &Args, wanted: &[(BenchCollective, u64)]) {
    let began = Instant::now();
    let share = Duration::from_secs(1) / wanted.len() as u32;
    while agreed(
        world,
        began.elapsed().as_secs_f64() < args.seconds
            && args.while_there.as_ref().is_none_or(|file| file.exists()),
    ) {
        for &(collective, block) in wanted {
            let mut bench = CollectiveBench::new(world, collective, block, args);
            bench.run(share, args.least_rows(0), false);
            bench.print(args);
        }
    }
}

/// True if a row of calls goes past what is preloaded: one of each two, first or second in turn.
fn goes_past(row: usize) -> bool {
    matches!(row % 4, 0 | 3)
}

/// Rank 0's word, for all.
fn agreed(world: &SimpleCommunicator, mut go_on: bool) -> bool {
    world.process_at_rank(0).broadcast_into(&mut go_on);
    go_on
}

/// One collective with blocks of one size.
struct CollectiveBench<'a> {
    world: &'a SimpleCommunicator,
    collective: BenchCollective,
    block: usize,
    check: bool,
    /// How long this rank sleeps before each call.
    late: Option<Duration>,
    /// Every other row of calls goes here.
    own: Option<LibraryRoutines>,
    /// Calls that are timed as one.
    row: u64,
    send: Vec<u8>,
    sent: BlockLayout,
    receive: Vec<u8>,
    received: BlockLayout,
    /// Seconds on this rank of a call, on average over each row of them.
    took: Vec<f64>,
    /// Before the first call.
    machine: MachineCounters,
}

impl<'a> CollectiveBench<'a> {
    fn new(
        world: &'a SimpleCommunicator,
        collective: BenchCollective,
        block: u64,
        args: &Args,
    ) -> CollectiveBench<'a> {
        let (block, ranks, me) = (block as usize, world.size() as usize, world.rank() as usize);
        let lengths = match args.zipf.filter(|_| !collective.goes_to_all()) {
            _ if !collective.is_unequal() => BlockLengths::equal(block, ranks),
            Some(exponent) => BlockLengths::by_zipf(block, ranks, exponent),
            None => BlockLengths::alternating(block, ranks),
        };
        let sent = BlockLayout::sent(&lengths, me, collective.goes_to_all());
        let received = if collective.comes_as_one() {
            BlockLayout::one(&lengths, me)
        } else {
            BlockLayout::received(&lengths, me, collective.goes_to_all())
        };
        CollectiveBench {
            world,
            collective,
            block,
            check: args.check,
            late: args.late.and_then(|late| late.sleep_of(world.rank())),
            own: None,
            row: 1,
            send: vec![0; sent.octets()],
            sent,
            receive: vec![0; received.octets()],
            received,
            took: Vec::new(),
            machine: MachineCounters::now(),
        }
    }

    fn run(&mut self, time: Duration, at_least: u64, until_clear: bool) {
        let began = Instant::now();
        let mut batch = 1;
        loop {
            self.rows(batch);
            let is_over = began.elapsed() >= time && self.took.len() as u64 >= at_least;
            let is_clear = until_clear && sequential_test::is_clear(&self.pairs());
            if !agreed(self.world, !is_over && !is_clear) {
                return;
            }
            // A tenth of the time between two looks at the clock, so that the looks do not count.
            let each = began.elapsed().as_secs_f64() / self.took.len() as f64;
            let mut next = ((time.as_secs_f64() / 10.0 / each) as u64).clamp(1, 1000);
            self.world.process_at_rank(0).broadcast_into(&mut next);
            // The test looks after every two pairs.
            batch = if until_clear { next.min(4) } else { next };
        }
    }

    /// Calls past what is preloaded on this rank, each with its neighbour.
    fn pairs(&self) -> Vec<(f64, f64)> {
        self.took
            .chunks(2)
            .enumerate()
            .filter_map(|(at, two)| match two {
                [first, second] if goes_past(2 * at) => Some((*first, *second)),
                [first, second] => Some((*second, *first)),
                _ => None,
            })
            .collect()
    }

    fn rows(&mut self, number: u64) {
        for _ in 0..number {
            if self.check {
                self.fill();
            }
            self.world.barrier();
            let own = self.own.filter(|_| goes_past(self.took.len()));
            // The others have begun their time, this rank has not.
            self.late.into_iter().for_each(std::thread::sleep);
            let began = Instant::now();
            (0..self.row).for_each(|_| self.call(own));
            let legs = if self.collective == BenchCollective::Pingpong {
                2.0
            } else {
                1.0
            };
            self.took
                .push(began.elapsed().as_secs_f64() / legs / self.row as f64);
            if self.check {
                self.verify();
            }
        }
    }

    fn call(&mut self, own: Option<LibraryRoutines>) {
        match (self.collective, own) {
            (BenchCollective::Alltoall, Some(own)) => {
                own.all_to_all(self.world, &self.send, &mut self.receive)
            }
            (BenchCollective::Allgather, Some(own)) => {
                own.all_gather(self.world, &self.send, &mut self.receive)
            }
            (BenchCollective::Alltoall, None) => self
                .world
                .all_to_all_into(&self.send[..], &mut self.receive[..]),
            (BenchCollective::Allgather, None) => self
                .world
                .all_gather_into(&self.send[..], &mut self.receive[..]),
            (BenchCollective::Alltoallv, _) => {
                let BlockLayout { counts, places } = &self.sent;
                let from = Partition::new(&self.send[..], &counts[..], &places[..]);
                let BlockLayout { counts, places } = &self.received;
                let mut into = PartitionMut::new(&mut self.receive[..], &counts[..], &places[..]);
                self.world.all_to_all_varcount_into(&from, &mut into)
            }
            (BenchCollective::Alltoallw, _) => typed_exchange::all_to_all(
                self.world,
                (&self.send, &self.sent),
                (&mut self.receive, &self.received),
            ),
            (BenchCollective::Allgatherv, _) => {
                let BlockLayout { counts, places } = &self.received;
                let mut into = PartitionMut::new(&mut self.receive[..], &counts[..], &places[..]);
                self.world
                    .all_gather_varcount_into(&self.send[..], &mut into)
            }
            (BenchCollective::Allreduce | BenchCollective::ReduceScatterBlock, _) => self.combine(),
            (BenchCollective::Bcast, _) => self.spread(),
            (BenchCollective::Pingpong, _) => self.there_and_back(),
        }
    }

    /// The others wait at the next barrier.
    fn there_and_back(&mut self) {
        let (first, last) = (0, self.world.size() - 1);
        let block = self.block;
        if self.world.rank() == first && last > first {
            self.world.process_at_rank(last).send(&self.send[..block]);
            self.world
                .process_at_rank(last)
                .receive_into(&mut self.receive[..block]);
        } else if self.world.rank() == last {
            self.world
                .process_at_rank(first)
                .receive_into(&mut self.receive[..block]);
            self.world.process_at_rank(first).send(&self.send[..block]);
        }
    }

    /// The octet rank `from` sends to rank `to` at byte `i` of call `call`.
    fn byte(call: usize, from: usize, to: usize, i: usize) -> u8 {
        (i.wrapping_mul(31)
            ^ (i >> 8)
            ^ from.wrapping_mul(101)
            ^ to.wrapping_mul(57)
            ^ call.wrapping_mul(7)) as u8
    }

    fn fill(&mut self) {
        let (call, me) = (self.took.len(), self.world.rank() as usize);
        let mut octets = self.send.iter_mut();
        for (to, &count) in self.sent.counts.iter().enumerate() {
            octets
                .by_ref()
                .take(count as usize)
                .enumerate()
                .for_each(|(i, byte)| *byte = Self::byte(call, me, to, i));
        }
        self.receive.fill(0xa5);
    }

    fn verify(&self) {
        let (call, me) = (self.took.len() - 1, self.world.rank() as usize);
        let to = if self.collective.goes_to_all() { 0 } else { me };
        for (from, block) in self.received.blocks(&self.receive).enumerate() {
            let expected = |i| {
                if self.collective.comes_as_one() {
                    self.combined_byte(call, me, i)
                } else {
                    Self::byte(call, from, to, i)
                }
            };
            if let Some(i) = (0..block.len()).find(|&i| block[i] != expected(i)) {
                let (name, expected) = (self.collective.name(), expected(i));
                eprintln!(
                    "bench: {name}, call {call}: rank {me} got byte {i} from rank {from} wrong: \
                     {}, expected {expected}",
                    block[i]
                );
                self.world.abort(1);
            }
        }
    }

    /// A call takes as long as it takes its slowest rank.
    fn print(&mut self, args: &Args) {
        let machine = MachineCounters::now();
        let idle = machine.idle_since(&self.machine);
        let mut retransmitted = 0u64; // As what is summed up: MPI writes as much as it reads.
        self.world.all_reduce_into(
            &machine.retransmitted_since(&self.machine),
            &mut retransmitted,
            SystemOperation::sum(),
        );
        let mut processor = 0.0;
        self.world.all_reduce_into(
            &machine.own_since(&self.machine).as_secs_f64(),
            &mut processor,
            SystemOperation::sum(),
        );
        let mut slowest = vec![0.0; self.took.len()];
        self.world
            .all_reduce_into(&self.took[..], &mut slowest[..], SystemOperation::max());
        if self.world.rank() != 0 || slowest.is_empty() {
            return;
        }
        if args.each {
            self.print_each(&slowest);
        } else {
            let state = MachineUse {
                idle,
                retransmitted,
                processor,
            };
            self.print_median(args, slowest, &state);
        }
    }

    /// The octets that all ranks together have received from others.
    fn payload(&self) -> f64 {
        let ranks = f64::from(self.world.size());
        let calls = self.row as f64 * self.took.len() as f64;
        self.block as f64 * calls * ranks * (ranks - 1.0).max(1.0)
    }

    /// The time of every call, in their order.
    fn print_each(&self, slowest: &[f64]) {
        let (name, block) = (self.collective.name(), self.block);
        let of = |past: bool| {
            let calls = slowest
                .iter()
                .enumerate()
                .filter(|(row, _)| (self.own.is_some() && goes_past(*row)) == past);
            calls
                .map(|(_, seconds)| format!("{seconds:e}"))
                .collect::<Vec<_>>()
                .join(",")
        };
        let own = if self.own.is_some() {
            format!(",\"own\":[{}]", of(true))
        } else {
            String::new()
        };
        println!(
            "{{\"collective\":\"{name}\",\"block\":{block},\"seconds\":[{}]{own}}}",
            of(false)
        );
    }

    /// The median of the calls, and the state of the machine meanwhile.
    fn print_median(&self, args: &Args, mut slowest: Vec<f64>, state: &MachineUse) {
        let mean = slowest.iter().sum::<f64>() / slowest.len() as f64;
        slowest.sort_by(f64::total_cmp);
        let median = slowest[slowest.len() / 2];
        let (name, block, ranks, calls) = (
            self.collective.name(),
            self.block,
            self.world.size(),
            slowest.len(),
        );
        let rate = block as f64 * f64::from(ranks - 1) / median / 1e6;
        if args.json {
            println!(
                concat!(
                    "{{\"collective\":\"{}\",\"block\":{},\"ranks\":{},\"calls\":{},",
                    "\"median_seconds\":{:e},\"mean_seconds\":{:e},\"cpu_idle\":{:.3},",
                    "\"cpu_seconds_per_byte\":{:e},\"retransmitted\":{},\"checked\":{}}}"
                ),
                name,
                block,
                ranks,
                calls,
                median,
                mean,
                state.idle,
                state.processor / self.payload(),
                state.retransmitted,
                args.check
            );
        } else {
            let checked = if args.check {
                ", every byte checked"
            } else {
                ""
            };
            println!(
                "{name} {block} B x {ranks} ranks: {:.3} ms median of {calls} call{}, {rate:.2} \
                 MB/s per rank{checked}",
                median * 1e3,
                if calls == 1 { "" } else { "s" }
            );
        }
    }
}
