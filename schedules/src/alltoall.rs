//! The all-to-all schedule as planned, verified, published and printed.
use crate::bound::{PhaseBound, bound};
use crate::capacities::EdgeCapacities;
use crate::message::{Message, Synchronization};
use crate::stages::{self, MessagePaths, PathNumber};
use crate::synchronization::SyncReduction;
use crate::synchronization::credit::LaneCredit;
use crate::synchronization::scheme::{SyncMechanism, SyncScheme};
use crate::{aapc, capacity, phase_order};
use inventory::{Bytes, Tree};
use std::fmt;
use std::str::FromStr;

/// Up to this many hosts [`plan`] reduces synchronizations to the minimal set. At that size the
/// reduction takes about two tenths of a second, twice as long as the rest of the plan. Its time
/// grows with the third power of the hosts.
pub const MINIMAL_HOSTS: u32 = 1024;

/// The credit of the schedules that [`plan`] makes for this tree.
pub fn lane_credit(tree: &Tree) -> LaneCredit {
    let capacities = AlltoallAlgorithm::faster_for(tree).capacities(tree);
    LaneCredit::on_tree(tree, &capacities)
}

/// Plans the all-to-all among the tree's hosts: phases by the algorithm that fits, in runs
/// ([`aapc::in_runs`]) where that is possible, except for a window; synchronizations by
/// [`crate::synchronization`]. Up to [`MINIMAL_HOSTS`] hosts the synchronizations are the minimal
/// set, above that the chain.
pub fn plan(tree: &Tree, sync: impl Into<SyncScheme>) -> AlltoallSchedule {
    let reduction = if tree.hosts() <= MINIMAL_HOSTS {
        SyncReduction::Minimal
    } else {
        SyncReduction::Chain
    };
    plan_reduced(tree, sync, reduction)
}

/// [`plan`] with a given reduction of the synchronizations.
pub fn plan_reduced(
    tree: &Tree,
    sync: impl Into<SyncScheme>,
    reduction: SyncReduction,
) -> AlltoallSchedule {
    let (algorithm, scheme) = (AlltoallAlgorithm::faster_for(tree), sync.into());
    // Runs need fewer tokens. In a window there are none, and AAPC's order keeps more links busy.
    let may_run = algorithm == AlltoallAlgorithm::Aapc && scheme != SyncScheme::WINDOW;
    let in_runs = may_run.then(|| aapc::in_runs::phases(tree)).flatten();
    let phases = in_runs.unwrap_or_else(|| algorithm.phases(tree));
    with_syncs(tree, algorithm, phases, scheme, reduction)
}

/// [`plan`] with a given algorithm and a given reduction of the synchronizations.
pub fn plan_as(
    tree: &Tree,
    algorithm: AlltoallAlgorithm,
    scheme: impl Into<SyncScheme>,
    reduction: SyncReduction,
) -> AlltoallSchedule {
    let phases = algorithm.phases(tree);
    with_syncs(tree, algorithm, phases, scheme.into(), reduction)
}

fn with_syncs(
    tree: &Tree,
    algorithm: AlltoallAlgorithm,
    phases: Vec<Vec<Message>>,
    scheme: SyncScheme,
    reduction: SyncReduction,
) -> AlltoallSchedule {
    let capacities = algorithm.capacities(tree);
    let bound = bound(tree, &capacities);
    // The verifier allows as many where edges are wider than a message.
    let (mut phases, most) = match algorithm {
        AlltoallAlgorithm::Capacity => (stages::in_turn(tree, phases), 2 * bound.phases),
        AlltoallAlgorithm::Aapc => (phases, bound.phases),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let paths = stages::choose(tree, &capacities, &mut phases, most);
    let on_links = MessagePaths::new(tree, &paths);
    let syncs = scheme.syncs_on(&on_links, &capacities, &phases, reduction);
    AlltoallSchedule {
        paths,
        algorithm,
        hosts: tree.host_names().to_vec(),
        bound,
        phases,
        scheme,
        syncs,
    }
}

/// The algorithms that find the phases of an all-to-all.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum AlltoallAlgorithm {
    /// [`crate::aapc`]: every edge carries one message at once.
    Aapc,
    /// [`crate::capacity`]: edges carry as many messages at once as their rates allow.
    Capacity,
}

impl AlltoallAlgorithm {
    /// The algorithm whose phases take less time at the bound; [`AlltoallAlgorithm::Aapc`] if both
    /// take the same.
    pub fn faster_for(tree: &Tree) -> AlltoallAlgorithm {
        let algorithms = [AlltoallAlgorithm::Aapc, AlltoallAlgorithm::Capacity];
        let [(unit_phases, unit_rate), (phases, rate)] = algorithms.map(|algorithm| {
            let capacities = algorithm.capacities(tree);
            (
                u128::from(bound(tree, &capacities).phases),
                u128::from(capacities.rate().0),
            )
        });
        if unit_phases * rate <= phases * unit_rate {
            AlltoallAlgorithm::Aapc
        } else {
            AlltoallAlgorithm::Capacity
        }
    }

    /// The capacities of the edges of `tree` that this algorithm assumes.
    pub fn capacities(self, tree: &Tree) -> EdgeCapacities {
        match self {
            AlltoallAlgorithm::Aapc => EdgeCapacities::unit(tree),
            AlltoallAlgorithm::Capacity => EdgeCapacities::from_tree(tree),
        }
    }

    fn phases(self, tree: &Tree) -> Vec<Vec<Message>> {
        match self {
            AlltoallAlgorithm::Aapc => aapc::phases(tree),
            AlltoallAlgorithm::Capacity => capacity::phases(tree, &self.capacities(tree)),
        }
    }

    /// Its name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            AlltoallAlgorithm::Aapc => "aapc",
            AlltoallAlgorithm::Capacity => "capacity",
        }
    }
}

impl fmt::Display for AlltoallAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for AlltoallAlgorithm {
    type Err = UnknownAlltoallAlgorithm;

    fn from_str(text: &str) -> Result<Self, UnknownAlltoallAlgorithm> {
        [AlltoallAlgorithm::Aapc, AlltoallAlgorithm::Capacity]
            .into_iter()
            .find(|algorithm| algorithm.name() == text)
            .ok_or_else(|| UnknownAlltoallAlgorithm(text.to_owned()))
    }
}

/// A text that does not name an [`AlltoallAlgorithm`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("algorithm \"{0}\": expected aapc or capacity")]
pub struct UnknownAlltoallAlgorithm(pub String);

/// A whole all-to-all among `hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlltoallSchedule {
    /// The algorithm that planned it.
    pub algorithm: AlltoallAlgorithm,
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// The reason why it cannot be shorter.
    pub bound: PhaseBound,
    /// The messages of each phase; no two of one phase share a directed edge.
    pub phases: Vec<Vec<Message>>,
    /// The scheme that keeps phases apart.
    pub scheme: SyncScheme,
    /// The tokens of the scheme.
    pub syncs: Vec<Synchronization>,
    /// By message, in the order of phases: the cables that it takes where several lie side by side.
    /// Empty if the network has none such, or flows cannot be made to take one.
    pub paths: Vec<PathNumber>,
}

impl AlltoallSchedule {
    /// The all-to-all among no hosts. There is no tree without hosts, yet a call with nothing to do
    /// is not an error.
    pub fn empty(scheme: impl Into<SyncScheme>) -> AlltoallSchedule {
        let bound = PhaseBound {
            phases: 0,
            edge: (String::new(), String::new()),
            load: 0,
            capacity: 1,
        };
        AlltoallSchedule {
            algorithm: AlltoallAlgorithm::Aapc,
            hosts: Vec::new(),
            bound,
            phases: Vec::new(),
            scheme: scheme.into(),
            syncs: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// The same schedule with its phases in the order that needs fewer tokens
    /// ([`crate::phase_order`]). It is unchanged where the scheme has blocks of phases or no
    /// tokens.
    pub fn reordered(self, tree: &Tree, reduction: SyncReduction) -> AlltoallSchedule {
        let is_fixed = self.syncs.is_empty() || !self.paths.is_empty();
        if self.scheme != self.scheme.tokens().into() || is_fixed {
            return self;
        }
        let capacities = self.algorithm.capacities(tree);
        let (phases, syncs) = phase_order::with_fewer_syncs(
            tree,
            &capacities,
            self.phases,
            self.scheme.tokens(),
            reduction,
        );
        AlltoallSchedule {
            phases,
            syncs,
            ..self
        }
    }

    /// The octets of a message that are still to come when its receiver gives tokens; `None` if tokens are
    /// not by credit.
    pub fn lead(&self, tree: &Tree) -> Option<Bytes> {
        let is_by_credit = self.scheme.mechanism() == SyncMechanism::Credit;
        let capacities = is_by_credit.then(|| self.algorithm.capacities(tree))?;
        Some(LaneCredit::on_tree(tree, &capacities).lead(tree))
    }

    /// Number of messages.
    pub fn messages(&self) -> usize {
        self.phases.iter().map(Vec::len).sum()
    }
}
