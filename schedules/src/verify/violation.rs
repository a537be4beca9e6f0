//! The first thing found wrong with a schedule, by names an operator knows.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEdge {
    /// Where frames enter it.
    pub from: Box<str>,
    /// Where they leave it.
    pub to: Box<str>,
}

impl fmt::Display for NamedEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.from, self.to)
    }
}

/// Where a message is scheduled, if it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledPlace(Option<u32>);

impl From<Option<usize>> for ScheduledPlace {
    fn from(phase: Option<usize>) -> ScheduledPlace {
        // Phases are counted by messages, and these by less than 32 bits.
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

/// The first thing found wrong. Phases count from 0, as in the papers and the JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleViolation {
    /// It is for other hosts, or numbers them otherwise.
    #[error("hosts: the schedule's are not those of the topology in its order: {0}")]
    Hosts(String),
    /// A number beyond the hosts.
    #[error("phase {phase}: host number {host} does not exist")]
    NoSuchHost {
        /// Where.
        phase: usize,
        /// The number.
        host: u32,
    },
    /// A host sends to itself.
    #[error("phase {phase}: message {message} does not leave its host")]
    ToItself {
        /// Where.
        phase: usize,
        /// The message.
        message: NamedMessage,
    },
    /// A message comes twice.
    #[error("message {message}: sent in phase {first} and again in phase {second}")]
    Twice {
        /// The message.
        message: NamedMessage,
        /// Where first.
        first: usize,
        /// Where again.
        second: usize,
    },
    /// A message never comes.
    #[error("message {0}: sent in no phase")]
    Missing(NamedMessage),
    /// More messages of a phase use an edge than it carries at once.
    #[error("edge {edge}, phase {phase}: {first} and {second} collide{}", beyond(*width))]
    Contention {
        /// The edge.
        edge: NamedEdge,
        /// Where.
        phase: usize,
        /// Messages the edge carries at once.
        width: u64,
        /// One message.
        first: NamedMessage,
        /// The other one.
        second: NamedMessage,
    },
    /// It is free of collisions but too long.
    #[error("{phases} phases: the load of the bottleneck edge {edge} asks for {bound}")]
    Phases {
        /// As scheduled.
        phases: usize,
        /// As many as the bottleneck edge needs.
        bound: u64,
        /// That edge.
        edge: NamedEdge,
    },
    /// The certificate it carries is wrong.
    #[error(
        "bound: says {phases} phases by load {load}, capacity {capacity} of edge {edge}; {truth}"
    )]
    Bound {
        /// As stated.
        phases: u64,
        /// As stated.
        load: u64,
        /// As stated.
        capacity: u64,
        /// As stated.
        edge: NamedEdge,
        /// What is right.
        truth: String,
    },
    /// A synchronization that cannot be carried out.
    #[error("synchronization {after} ({after_phase}) before {before} ({before_phase}): {problem}")]
    Sync {
        /// The earlier message.
        after: NamedMessage,
        /// Where.
        after_phase: ScheduledPlace,
        /// The message that waits.
        before: NamedMessage,
        /// Where.
        before_phase: ScheduledPlace,
        /// What is wrong.
        problem: String,
    },
    /// So many messages at once that nobody plans so, and keeping their order in view would take
    /// gigabytes.
    #[error(
        "hosts send {slots} messages at once in their busiest phases; synchronizations are \
         checked for up to {most}"
    )]
    AtOnce {
        /// Of all hosts, each in its busiest phase.
        slots: usize,
        /// The limit.
        most: usize,
    },
    /// A phase in which nothing is sent.
    #[error("phase {0}: it has no message")]
    Empty(usize),
    /// Two users of an edge in different phases that nothing keeps apart.
    #[error(
        "edge {edge}: {first} (phase {first_phase}) and {second} (phase {second_phase}) are \
         ordered by no synchronization"
    )]
    Unordered {
        /// The edge.
        edge: NamedEdge,
        /// The earlier message.
        first: NamedMessage,
        /// Where.
        first_phase: usize,
        /// The later message.
        second: NamedMessage,
        /// Where.
        second_phase: usize,
    },
    /// More users of an edge in different phases than it carries at once, and nothing that keeps
    /// them apart.
    #[error(
        "edge {edge}: {first} (phase {first_phase}) may still be under way when {second} (phase \
         {second_phase}) starts, with more others than its width of {width} leaves room for; no \
         synchronization orders them"
    )]
    Crowded {
        /// The edge.
        edge: NamedEdge,
        /// Messages it carries at once; fewer than there are.
        width: u32,
        /// The earliest message that may still be under way.
        first: NamedMessage,
        /// Where.
        first_phase: usize,
        /// The message that starts.
        second: NamedMessage,
        /// Where.
        second_phase: usize,
    },
    /// The ring does not hold every host once.
    #[error("ring: host {0}")]
    Ring(String),
    /// Two of the ring's messages use one edge.
    #[error("edge {edge}: {first} and {second} collide in the ring")]
    RingContention {
        /// The edge.
        edge: NamedEdge,
        /// One message.
        first: NamedMessage,
        /// The other one.
        second: NamedMessage,
    },
    /// What the ring says of itself is wrong.
    #[error("ring: says {stated}; {truth}")]
    RingClaim {
        /// As stated.
        stated: String,
        /// What is right.
        truth: String,
    },
    /// Something in an allgather by circles of groups.
    #[error("lanes: {0}")]
    Lanes(String),
    /// Something in an all-to-all by LG.
    #[error(transparent)]
    Lg(#[from] super::LgViolation),
}

fn beyond(width: u64) -> String {
    if width == 1 {
        String::new()
    } else {
        format!(" beyond the {width} messages it carries at once")
    }
}
