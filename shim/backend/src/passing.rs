//! The calls that the front passes to the library without a call of the backend. A call within a
//! host takes less than a microsecond, and one between hosts some ten; what the front compares is a
//! few words.
//!
//! All calls on the last communicator that is known to pass through for good do. Of the process set
//! that served a call last, calls of a kind do, as long as nothing can become of them but a call of
//! the library: until the next agreement is due, the next timed call of a row, or the next one that
//! rank 0 times. Passed calls are counted when the process set is asked again.
use crate::abi::MPI_Comm;
use crate::call::CollectiveCall;
use crate::datatype;
use crate::mpi::threads_call_at_once;
use passes::{CallWords, PassTable, PassedCollective};
use policy::decision_table::Collective;
use policy::learning::CallClass;
use runtime::watchdog;

/// The table that the front reads.
#[unsafe(no_mangle)]
static HEDDLE_PASSING: PassTable =
    PassTable::new(usize::MAX >> (8 * (size_of::<usize>() - size_of::<MPI_Comm>())));

/// Calls on this communicator pass through for as long as it lives.
pub(crate) fn pass(comm: MPI_Comm) {
    HEDDLE_PASSING.pass_all(comm.0 as usize);
}

/// A communicator is freed: its handle may come to mean another one. True if calls of some kind pass on it.
pub(crate) fn forget(comm: MPI_Comm) -> bool {
    HEDDLE_PASSING.forget_all();
    HEDDLE_PASSING.has_kind_on(comm.0 as usize)
}

/// Threads that call at once could not count alike on all ranks, and a watchdog wants to see every
/// call.
pub(crate) fn kinds_may_pass() -> bool {
    !threads_call_at_once() && !watchdog::is_on()
}

/// Calls of one kind: all pass that the front is allowed to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassingKind {
    pub(crate) collective: Collective,
    pub(crate) block: u64,
    /// The work that each call counts towards the next agreement.
    pub(crate) work: u64,
    /// Where something is learned of them.
    pub(crate) class: Option<CallClass>,
}

/// The kinds of a process set's calls that pass, one of each collective.
#[derive(Debug, Default)]
pub(crate) struct PassingKinds {
    kinds: [Option<PassingKind>; PassedCollective::ALL.len()],
    /// The block of the last call of each: a program whose calls differ gains nothing here.
    last: [Option<u64>; PassedCollective::ALL.len()],
}

impl PassingKinds {
    /// The calls that have passed since the last question.
    pub(crate) fn passed(&self) -> impl Iterator<Item = (PassingKind, u32)> + use<> {
        let both = self.kinds.into_iter().zip(PassedCollective::ALL);
        both.filter_map(|(kind, collective)| {
            let calls = kind.map(|_| HEDDLE_PASSING.take_passed(collective))?;
            kind.filter(|_| calls > 0).map(|kind| (kind, calls))
        })
    }

    /// So many calls like this one pass, if the front can tell them.
    pub(crate) fn allow(&mut self, call: &CollectiveCall, kind: PassingKind, calls: u32) {
        let Some(collective) = passed_collective(kind.collective) else {
            return;
        };
        let last = self.last[collective as usize].replace(kind.block);
        if last != Some(kind.block) || calls == 0 || !kinds_may_pass() {
            return;
        }
        if let Some(words) = words(call) {
            self.kinds[collective as usize] = Some(kind);
            HEDDLE_PASSING.allow(collective, words, calls, kind.work);
        }
    }

    /// All kinds together pass with so much work.
    pub(crate) fn allow_work(&self, work: u64) {
        if self.kinds.iter().any(Option::is_some) {
            HEDDLE_PASSING.allow_work(work);
        }
    }

    /// No call of this collective passes.
    pub(crate) fn refuse(&mut self, collective: Collective) {
        if let Some(collective) = passed_collective(collective)
            && self.kinds[collective as usize].take().is_some()
        {
            HEDDLE_PASSING.refuse(collective);
        }
    }

    /// No call passes.
    pub(crate) fn refuse_all(&mut self) {
        for collective in [Collective::Alltoall, Collective::Allgather] {
            self.refuse(collective);
        }
    }
}

fn passed_collective(collective: Collective) -> Option<PassedCollective> {
    match collective {
        Collective::Alltoall => Some(PassedCollective::Alltoall),
        Collective::Allgather => Some(PassedCollective::Allgather),
        _ => None,
    }
}

/// The arguments by which the front knows calls of a kind; `None` where they could come to mean
/// another one: a datatype of the application's own may be freed, and its handle given to another.
fn words(call: &CollectiveCall) -> Option<CallWords> {
    let sides = [call.send, call.receive];
    let count = |elements: u64| i32::try_from(elements).ok().map(|count| count as usize);
    let stays = |datatype| datatype::is_predefined(datatype);
    if !stays(call.receive.datatype()) || !(call.in_place() || stays(call.send.datatype())) {
        return None;
    }
    Some(CallWords {
        counts: [count(sides[0].elements())?, count(sides[1].elements())?],
        types: sides.map(|side| side.datatype().0 as usize),
        comm: call.comm.0 as usize,
    })
}
