//! How long this thread stood in line for a processor: the second number of `schedstat`.
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The file of this thread, and what it said last.
#[derive(Default)]
struct RunQueueTime {
    file: Option<File>,
    seen: u64,
}

thread_local! {
    static TIME: RefCell<RunQueueTime> = RefCell::new({
        // A kernel without it: nothing is known of lines.
        let file = File::open("/proc/thread-self/schedstat").ok();
        let mut time = RunQueueTime { file, seen: 0 };
        time.seen = time.read().unwrap_or(0);
        time
    });
}

impl RunQueueTime {
    fn read(&self) -> Option<u64> {
        let mut text = [0; 64];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split(' ').nth(1)?.parse().ok()
    }
}

/// The time in line since the last question.
pub(super) fn since_last_look() -> Duration {
    // At the program's exit its file may be closed already.
    TIME.try_with(|time| {
        let mut time = time.borrow_mut();
        let now = time.read().unwrap_or(time.seen);
        let since = now.saturating_sub(time.seen);
        time.seen = now;
        Duration::from_nanos(since)
    })
    .unwrap_or_default()
}
