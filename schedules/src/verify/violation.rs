//! The first fault of a schedule, by names that an operator knows.
use std::fmt;

/// A message by the names of its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedMessage {
    /// The sending host.
    pub src: Box<str>,
    /// The receiving host.
    pub dst: Box<str>,
}

impl fmt::Display for NamedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.src, self.dst)
    }
}

/// A directed edge by the names of its ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedEdge {
    /// The node at which frames enter it.
    pub from: Box<str>,
    /// The node at which they leave it.
    pub to: Box<str>,
}

impl fmt::Display for NamedEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.from, self.to)
    }
}

/// The phase of a message, if it is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledPlace(Option<u32>);

impl From<Option<usize>> for ScheduledPlace {
    fn from(phase: Option<usize>) -> ScheduledPlace {
        // There are at most as many phases as messages, and message numbers have 32 bits.
        ScheduledPlace(phase.map(|phase| phase as u32))
    }
}

impl fmt::Display for ScheduledPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(phase) => write!(f, "phase {phase}"),
            None => f.write_str("not scheduled"),
        }
    }
}

/// The first fault of a schedule. Phases count from 0, as in the papers and the JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleViolation {
    /// The schedule is for other hosts, or numbers them differently.
    #[error("hosts: the schedule's are not those of the topology in its order: {0}")]
    Hosts(String),
    /// A number that no host has.
    #[error("phase {phase}: host number {host} does not exist")]
    NoSuchHost { phase: usize, host: u32 },
    /// A host sends to itself.
    #[error("phase {phase}: message {message} does not leave its host")]
    ToItself { phase: usize, message: NamedMessage },
    /// A message comes twice.
    #[error("message {message}: sent in phase {first} and again in phase {second}")]
    Twice {
        message: NamedMessage,
        /// The first phase.
        first: usize,
        /// The second phase.
        second: usize,
    },
    /// A message never comes.
    #[error("message {0}: sent in no phase")]
    Missing(NamedMessage),
    /// More messages of a phase use an edge than it carries at once.
    #[error("edge {edge}, phase {phase}: {first} and {second} collide{}", beyond(*width))]
    Contention {
        edge: NamedEdge,
        phase: usize,
        /// The number of messages that the edge carries at once.
        width: u64,
        first: NamedMessage,
        /// The other message.
        second: NamedMessage,
    },
    /// A message has no path over the cables that lie side by side.
    #[error(
        "phase {phase}: message {message} has no path: it enters a box and leaves another, or takes a cable that is not there"
    )]
    Path { phase: usize, message: NamedMessage },
    /// The schedule is free of collisions but too long.
    #[error("{phases} phases: the load of the bottleneck edge {edge} asks for {bound}")]
    Phases {
        /// The number of phases in the schedule.
        phases: usize,
        /// The number of phases that the bottleneck edge needs.
        bound: u64,
        /// The bottleneck edge.
        edge: NamedEdge,
    },
    /// The schedule's certificate is wrong.
    #[error(
        "bound: says {phases} phases by load {load}, capacity {capacity} of edge {edge}; {truth}"
    )]
    Bound {
        /// The stated number of phases.
        phases: u64,
        /// The stated load.
        load: u64,
        /// The stated capacity.
        capacity: u64,
        /// The stated edge.
        edge: NamedEdge,
        /// The correct value.
        truth: String,
    },
    /// A synchronization that cannot be carried out.
    #[error("synchronization {after} ({after_phase}) before {before} ({before_phase}): {problem}")]
    Sync {
        /// The earlier message.
        after: NamedMessage,
        /// The phase of the earlier message.
        after_phase: ScheduledPlace,
        /// The message that waits.
        before: NamedMessage,
        /// The phase of the waiting message.
        before_phase: ScheduledPlace,
        /// The reason.
        problem: String,
    },
    /// More messages at once than any planner makes. The check of their order would take gigabytes.
    #[error(
        "hosts send {slots} messages at once in their busiest phases; synchronizations are \
         checked for up to {most}"
    )]
    AtOnce {
        /// The sum over all hosts, each in its busiest phase.
        slots: usize,
        /// The limit.
        most: usize,
    },
    /// A phase without messages.
    #[error("phase {0}: it has no message")]
    Empty(usize),
    /// Two users of an edge in different phases that may be under way together.
    #[error(
        "edge {edge}: {first} (phase {first_phase}) and {second} (phase {second_phase}) are \
         ordered by no synchronization"
    )]
    Unordered {
        edge: NamedEdge,
        /// The earlier message.
        first: NamedMessage,
        /// The phase of the earlier message.
        first_phase: usize,
        /// The later message.
        second: NamedMessage,
        /// The phase of the later message.
        second_phase: usize,
    },
    /// More users of an edge, in different phases, than it carries at once may be under way
    /// together.
    #[error(
        "edge {edge}: {first} (phase {first_phase}) may still be under way when {second} (phase \
         {second_phase}) starts, with more others than its width of {width} leaves room for; no \
         synchronization orders them"
    )]
    Crowded {
        edge: NamedEdge,
        /// The number of messages that it carries at once; there are more.
        width: u32,
        /// The earliest message that may still be under way.
        first: NamedMessage,
        /// The phase of that message.
        first_phase: usize,
        /// The message that starts.
        second: NamedMessage,
        /// The phase of that message.
        second_phase: usize,
    },
    /// More octets may be under way over a switch port than its queue is counted on to hold.
    #[error("edge {edge}: {octets} octets may be under way, its queue holds {queue}")]
    Overflow {
        /// The edge, from the switch with that port.
        edge: NamedEdge,
        /// The most octets under way.
        octets: u64,
        /// The octets that the queue holds.
        queue: u64,
    },
    /// The ring does not hold every host once.
    #[error("ring: host {0}")]
    Ring(String),
    /// Two of the ring's messages use one edge.
    #[error("edge {edge}: {first} and {second} collide in the ring")]
    RingContention {
        edge: NamedEdge,
        first: NamedMessage,
        /// The other message.
        second: NamedMessage,
    },
    /// A statement of the ring about itself is wrong.
    #[error("ring: says {stated}; {truth}")]
    RingClaim {
        /// The statement.
        stated: String,
        /// The correct value.
        truth: String,
    },
    /// A fault of an all-to-all by LG.
    #[error(transparent)]
    Lg(#[from] super::LgViolation),
    /// A fault of an allgather along several rings.
    #[error(transparent)]
    Rings(#[from] super::RingsViolation),
}

fn beyond(width: u64) -> String {
    if width == 1 {
        String::new()
    } else {
        format!(" beyond the {width} messages it carries at once")
    }
}
