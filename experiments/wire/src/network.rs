//! The shell around crate `wire` in ns-3: ranks step when the simulated network wakes them.
#![allow(unsafe_code, reason = "ns-3 is C++")]
use crate::fabric::{FabricLink, SimulatedFabric};
use crate::library::{CountedOctets, LibraryCall};
use crate::reductions::SteppedCall;
use clap::ValueEnum;
use schedules::relay::PartTreatment;
use schedules::transfers::part::SyncToken;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::time::Duration;
use wire::call::{WireCall, WireEvent};
use wire::links::PeerLinks;
use wire::relay::{RelayCall, RelayShell};
use wire::shell::{IncomingPlace, OutgoingOctets, WireShell};

/// A block counts as sent when so many octets of it, or fewer, wait.
const GONE: usize = 8 * 1024;
/// The kernel wakes a rank for so many octets at the latest.
const MOST_AWAITED: usize = 128 * 1024;
/// A rank whose window is full looks again after so long: the kernel's clock of epoll.
const LOOK_AGAIN_US: f64 = 1000.0;

#[repr(C)]
struct NetworkSetting {
    hosts: u32,
    ranks: u32,
    switches: u32,
    links: u32,
    host_of: *const u32,
    link: *const FabricLink,
    route: *const u32,
    link_of: *const u32,
    port: *const u16,
    queue: u32,
    shared_buffer: u32,
    least_rto_ms: f64,
    control: u32,
    step_cost_us: f64,
    copied_per_s: f64,
    context: *mut c_void,
    wake: extern "C" fn(*mut c_void, u32),
}

#[repr(C)]
#[derive(Default)]
struct NetworkEvent {
    kind: u32,
    peer: u32,
    id: u32,
}

/// `enum CongestionControl` of network.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CongestionControl {
    Cubic,
    Dctcp,
}

/// The counters of the switches and senders.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NetworkCounts {
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) timers: u64,
    pub(crate) longest_queue: u64,
}

const EVENT_BEGUN: u32 = 0;
const EVENT_IDLE: u32 = 4;

unsafe extern "C" {
    fn network_new(setting: *const NetworkSetting) -> *mut c_void;
    fn network_free(network: *mut c_void);
    fn network_now_ns(network: *mut c_void) -> u64;
    fn network_run(network: *mut c_void, seconds: f64) -> c_int;
    fn network_stop(network: *mut c_void);
    fn network_later(network: *mut c_void, rank: u32, kind: u32, us: f64);
    fn network_event(network: *mut c_void, rank: u32, event: *mut NetworkEvent) -> c_int;
    fn network_send(network: *mut c_void, from: u32, to: u32, octets: u32) -> u32;
    fn network_receive(network: *mut c_void, from: u32, to: u32, octets: u32) -> u32;
    fn network_compute(network: *mut c_void, rank: u32, seconds: f64);
    fn network_free_at_ns(network: *mut c_void, rank: u32) -> u64;
    fn network_under_way(network: *mut c_void, from: u32, to: u32) -> u32;
    fn network_await_few(network: *mut c_void, from: u32, to: u32, octets: u32);
    fn network_wake_at(network: *mut c_void, from: u32, to: u32, octets: u32);
    fn network_give(network: *mut c_void, from: u32, to: u32, id: u32);
    fn network_counts(network: *mut c_void) -> NetworkCounts;
}

/// How the network treats packets and ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketRules {
    pub(crate) queue: u32,
    pub(crate) shared_buffer: u32,
    pub(crate) least_rto_ms: f64,
    pub(crate) control: CongestionControl,
    pub(crate) step_cost_us: f64,
    /// 0: any number, here and below.
    pub(crate) copied_per_s: f64,
    pub(crate) combined_per_s: f64,
}

/// The work of a rank.
#[derive(Debug)]
pub(crate) enum RankProgram<'p> {
    /// Its part of heddle's schedule.
    Scheduled(Box<WireCall<'p>>),
    /// Its share of a reduction along heddle's ring.
    Relayed(RelayCall<'p>),
    /// A library's pattern.
    Library(LibraryCall),
    /// A library's pattern of a reduction.
    Stepped(SteppedCall),
}

impl RankProgram<'_> {
    fn is_over(&self) -> bool {
        match self {
            RankProgram::Scheduled(call) => call.is_over(),
            RankProgram::Relayed(call) => call.is_over(),
            RankProgram::Stepped(call) => call.is_over(),
            RankProgram::Library(call) => call.is_over(),
        }
    }
}

/// A call of all ranks.
#[derive(Debug)]
pub(crate) struct SimulatedCall {
    pub(crate) seconds: f64,
    pub(crate) counts: NetworkCounts,
    /// The waits of ranks that did not end.
    pub(crate) stuck: Vec<String>,
}

/// The network, and the call under way on it. It stays where it is: ns-3 has its address.
pub(crate) struct SimulatedNetwork<'p> {
    network: *mut c_void,
    /// By rank, by peer.
    links: Vec<Vec<PeerLinks>>,
    combined_per_s: f64,
    programs: Vec<RankProgram<'p>>,
    over: Vec<bool>,
    left: usize,
    ended_ns: u64,
    failure: Option<String>,
}

/// Lets a rank take its next step. `context` is a [`SimulatedNetwork`].
extern "C" fn wake(context: *mut c_void, rank: u32) {
    // SAFETY: `new` gives the address of the box that it returns; it is not used elsewhere while
    // `network_run` calls this, and no step wakes another rank at once.
    let simulation = unsafe { &mut *context.cast::<SimulatedNetwork>() };
    simulation.step(rank);
}

impl<'p> SimulatedNetwork<'p> {
    pub(crate) fn new(
        fabric: &SimulatedFabric,
        (host_of, ports): (&[u32], &[u16]),
        links: Vec<Vec<PeerLinks>>,
        rules: PacketRules,
    ) -> Box<SimulatedNetwork<'p>> {
        let mut simulation = Box::new(SimulatedNetwork {
            network: std::ptr::null_mut(),
            links,
            combined_per_s: rules.combined_per_s,
            programs: Vec::new(),
            over: Vec::new(),
            left: 0,
            ended_ns: 0,
            failure: None,
        });
        let setting = NetworkSetting {
            hosts: fabric.hosts,
            ranks: host_of.len() as u32,
            host_of: host_of.as_ptr(),
            switches: fabric.switches,
            links: fabric.links.len() as u32,
            link: fabric.links.as_ptr(),
            route: fabric.routes.as_ptr(),
            link_of: fabric.link_of.as_ptr(),
            port: ports.as_ptr(),
            queue: rules.queue,
            shared_buffer: rules.shared_buffer,
            least_rto_ms: rules.least_rto_ms,
            control: rules.control as u32,
            step_cost_us: rules.step_cost_us,
            copied_per_s: rules.copied_per_s,
            context: (&raw mut *simulation).cast(),
            wake,
        };
        // SAFETY: the arrays live as long as the call, which copies them.
        simulation.network = unsafe { network_new(&raw const setting) };
        simulation
    }

    /// Lets all ranks carry out their programs, for so many seconds at most.
    pub(crate) fn call(&mut self, programs: Vec<RankProgram<'p>>, limit: f64) -> SimulatedCall {
        self.left = programs.len();
        self.over = vec![false; programs.len()];
        self.programs = programs;
        let this: *mut SimulatedNetwork = self;
        // SAFETY: the network lives as long as its owner. While it runs, `wake` alone uses the owner.
        let (began, ran_ns) = unsafe {
            let network = (*this).network;
            let began = network_now_ns(network);
            for rank in 0..(*this).programs.len() as u32 {
                network_later(network, rank, EVENT_BEGUN, 0.0);
            }
            network_run(network, limit);
            (began, network_now_ns(network))
        };
        let is_whole = self.left == 0;
        let ended = if is_whole { self.ended_ns } else { ran_ns };
        let failure = self.failure.take().into_iter();
        let stuck = self.programs.iter().filter(|program| !program.is_over());
        SimulatedCall {
            seconds: (ended - began) as f64 * 1e-9,
            // SAFETY: as above.
            counts: unsafe { network_counts(self.network) },
            stuck: failure
                .chain(stuck.map(|program| match program {
                    RankProgram::Scheduled(call) => call.waits_for(),
                    RankProgram::Relayed(call) => call.waits_for(&"the call"),
                    RankProgram::Stepped(call) => format!("{call:?}"),
                    RankProgram::Library(call) => format!("{call:?}"),
                }))
                .collect(),
        }
    }

    fn step(&mut self, me: u32) {
        let network = self.network;
        let links = &self.links[me as usize];
        let mut shell = RankShell {
            network,
            me,
            links,
            combined_per_s: self.combined_per_s,
        };
        let events = happened(network, me);
        // SAFETY: the network is alive.
        let now_ns = unsafe { network_now_ns(network) };
        let Some(program) = self.programs.get_mut(me as usize) else {
            return;
        };
        match program {
            RankProgram::Scheduled(call) => {
                let now = Duration::from_nanos(now_ns);
                if let Err(failure) = call.handle(now, events, &mut shell) {
                    self.failure.get_or_insert(format!("rank {me}: {failure}"));
                }
                if call.is_window_full() {
                    // SAFETY: the network is alive.
                    unsafe { network_later(network, me, EVENT_IDLE, LOOK_AGAIN_US) };
                }
            }
            RankProgram::Relayed(call) => {
                if let Err(failure) = call.handle(&mut shell) {
                    self.failure.get_or_insert(format!("rank {me}: {failure}"));
                }
            }
            RankProgram::Library(call) => events
                .into_iter()
                .for_each(|event| call.handle(event, &mut shell)),
            RankProgram::Stepped(call) => events
                .into_iter()
                .for_each(|event| call.handle(event, &mut shell)),
        }
        if program.is_over() && !std::mem::replace(&mut self.over[me as usize], true) {
            self.left -= 1;
            // SAFETY: the network is alive.
            let free_at_ns = unsafe { network_free_at_ns(network, me) };
            self.ended_ns = self.ended_ns.max(free_at_ns);
        }
        if self.left == 0 || self.failure.is_some() {
            // SAFETY: the network is alive.
            unsafe { network_stop(network) };
        }
    }
}

/// The events that a rank has not taken.
fn happened(network: *mut c_void, me: u32) -> Vec<WireEvent> {
    let mut event = NetworkEvent::default();
    let mut events = Vec::new();
    // SAFETY: the network is alive, and there is a place for the event.
    while unsafe { network_event(network, me, &raw mut event) } != 0 {
        events.push(match event.kind {
            EVENT_BEGUN => WireEvent::Begun,
            1 => WireEvent::Readable(event.peer),
            2 => WireEvent::Writable(event.peer),
            3 => WireEvent::Token(SyncToken {
                peer: event.peer,
                id: event.id,
            }),
            _ => WireEvent::Idle,
        });
    }
    events
}

impl Drop for SimulatedNetwork<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards.
        unsafe { network_free(self.network) };
    }
}

/// One rank's sockets.
struct RankShell<'a> {
    network: *mut c_void,
    me: u32,
    links: &'a [PeerLinks],
    combined_per_s: f64,
}

impl CountedOctets for RankShell<'_> {
    fn send(&mut self, to: u32, octets: u32) -> u32 {
        // SAFETY: the network is alive, here and below.
        unsafe { network_send(self.network, self.me, to, octets) }
    }

    fn receive(&mut self, from: u32, octets: u32) -> u32 {
        // SAFETY: as above.
        unsafe { network_receive(self.network, from, self.me, octets) }
    }

    fn combine(&mut self, octets: u32) {
        if self.combined_per_s > 0.0 {
            let seconds = f64::from(octets) / self.combined_per_s;
            // SAFETY: as above.
            unsafe { network_compute(self.network, self.me, seconds) };
        }
    }
}

impl RelayShell for RankShell<'_> {
    type Failure = String;

    fn read(
        &mut self,
        rank: u32,
        chunk: &Range<usize>,
        after: usize,
        _: PartTreatment,
    ) -> Result<usize, String> {
        Ok(self.receive(rank, (chunk.len() - after) as u32) as usize)
    }

    fn wake_at(&mut self, rank: u32, octets: usize) -> Result<(), String> {
        WireShell::wake_at(self, rank, octets)
    }

    fn combine(&mut self, chunk: Range<usize>) {
        CountedOctets::combine(self, chunk.len() as u32);
    }

    fn write(&mut self, rank: u32, octets: Range<usize>, _: bool) -> Result<usize, String> {
        Ok(self.send(rank, octets.len() as u32) as usize)
    }
}

impl WireShell for RankShell<'_> {
    type Failure = String;

    fn read(&mut self, rank: u32, place: IncomingPlace<'_>) -> Result<usize, String> {
        let room = match place {
            IncomingPlace::Block { from, to, .. } => to - from,
            IncomingPlace::Header(_) => return Err("blocks have no headers here".to_owned()),
            IncomingPlace::Nowhere(octets) => octets,
        };
        Ok(self.receive(rank, room as u32) as usize)
    }

    fn write(&mut self, rank: u32, octets: OutgoingOctets) -> Result<usize, String> {
        Ok(self.send(rank, (octets.there - octets.after) as u32) as usize)
    }

    fn has_mostly_gone(&mut self, rank: u32) -> Result<bool, String> {
        let pace = self.links[rank as usize].pace;
        let few = pace.map_or(GONE, |pace| pace.few(GONE));
        let has = self.under_way(rank)? <= few;
        if !has {
            // SAFETY: as above.
            unsafe { network_await_few(self.network, self.me, rank, few as u32) };
        }
        Ok(has)
    }

    fn under_way(&mut self, rank: u32) -> Result<usize, String> {
        // SAFETY: as above.
        Ok(unsafe { network_under_way(self.network, self.me, rank) } as usize)
    }

    fn wake_at(&mut self, rank: u32, octets: usize) -> Result<(), String> {
        let octets = octets.clamp(1, MOST_AWAITED) as u32;
        // SAFETY: as above.
        unsafe { network_wake_at(self.network, rank, self.me, octets) };
        Ok(())
    }

    fn give(&mut self, token: SyncToken) -> Result<(), String> {
        // SAFETY: as above.
        unsafe { network_give(self.network, self.me, token.peer, token.id) };
        Ok(())
    }

    fn nonsense(&self, rank: u32, problem: &'static str) -> String {
        format!("rank {rank}: {problem}")
    }
}
