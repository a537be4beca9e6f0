//! `HEDDLE_TRACE`: the steps of this rank's calls, kept in memory and written when the communicator
//! goes.
//!
//! A call only adds to memory: the file is written by `heddle-helper`, for the folder may lie on a
//! file system that stops answering. The memory is bounded; the oldest steps give way.
//!
//! | module | one idea |
//! |---|---|
//! | [`recorder`] | the steps of a process set's calls |
//! | `carrier` | a carrier that notes what it is asked and what it reports |
//! | [`clock`] | how far the clocks of hosts are apart |
mod carrier;
pub mod clock;
pub mod recorder;

pub(crate) use carrier::TracedCarrier;
use recorder::TraceRecorder;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use trace::step::RankStep;

thread_local! {
    /// The recorder of the call that this thread is in. It is never dropped, and so is there also in
    /// calls from functions that run at the program's exit, after thread-local values are dropped.
    static OF_THIS_CALL: RefCell<ManuallyDrop<Option<Box<TraceRecorder>>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Carries out a call whose steps go into this recorder.
pub fn during<T>(recorder: &mut Option<Box<TraceRecorder>>, call: impl FnOnce() -> T) -> T {
    if recorder.is_none() {
        return call();
    }
    OF_THIS_CALL.set(ManuallyDrop::new(recorder.take()));
    let result = call();
    *recorder = ManuallyDrop::into_inner(OF_THIS_CALL.replace(ManuallyDrop::new(None)));
    result
}

/// True if the steps of this call are recorded.
pub(crate) fn is_on() -> bool {
    OF_THIS_CALL.with_borrow(|recorder| recorder.is_some())
}

/// Notes a step of this call, if its steps are recorded.
fn note(step: RankStep) {
    OF_THIS_CALL.with_borrow_mut(|recorder| {
        if let Some(recorder) = &mut **recorder {
            recorder.note(step);
        }
    });
}

/// Notes what each connection had sent again by the end of a call; `None`: nobody asked.
fn sent_again(so_far: Option<Vec<(u32, u32)>>) {
    OF_THIS_CALL.with_borrow_mut(|recorder| {
        if let Some(recorder) = &mut **recorder {
            recorder.sent_again(so_far);
        }
    });
}
