//! Work in steps, of which each takes what the one before makes, batch by batch.
use std::num::NonZeroUsize;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Messages of a batch.
pub(crate) const BATCH: usize = if cfg!(test) { 8 } else { 1 << 12 };

/// Fewer messages are not worth a thread.
const WORTH_A_THREAD: usize = if cfg!(test) { 32 } else { 1 << 19 };

/// Batches that are made before they are taken.
const AHEAD: usize = 4;

/// Takes every batch that `make` gives. It makes them on a thread of its own if the messages are worth it.
pub(crate) fn handed_on<T: Send>(
    messages: usize,
    make: impl FnOnce(&mut dyn FnMut(T)) + Send,
    mut take: impl FnMut(T),
) {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if threads == 1 || messages < WORTH_A_THREAD {
        return make(&mut take);
    }
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(AHEAD);
        // Sending fails only if this thread has panicked, and then the batch is needless.
        scope.spawn(move || make(&mut |batch| drop(sender.send(batch))));
        receiver.into_iter().for_each(take);
    });
}
